"""`bench check`: the tests that every objective, task, metric, backbone and decoding must pass."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from typing import TYPE_CHECKING

from bench.base.registry import all_names, split_names
from bench.cli_options import add_options, data_dir_of, set_texts
from bench.commands.list import KINDS
from bench.errors import UsageError, nearest
from bench.metrics import MetricEntry
from bench.models import ALIASES, GROUPS, METHODS

if TYPE_CHECKING:
    from bench.testing import Report


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `bench check`."""
    names = "names with commas, of any kind; module:Name or file.py:Name; 'all' and globs select methods"
    parser.add_argument("names", nargs="+", metavar="NAME", help=names)
    parser.add_argument("--backbone", action="append", metavar="NAMES", help="for methods and decodings")
    add_options(parser, "--set", help="e.g. method.alpha=0.5, task.path=my.jsonl")
    parser.add_argument("--quick", action="store_true", help="leave out the check that starts two processes")
    add_options(parser, "--data-dir", "--json")


def run(given: argparse.Namespace) -> int:
    """Check and print; return 1 if anything failed."""
    import torch

    from bench.config.resolve import method_names

    torch.set_num_threads(1)  # tensors are small
    wanted = []
    for typed in split_names(given.names):
        kind, names = kind_of(typed), [typed]
        if kind == "method":
            names = [name for name in method_names(names, controls=False) if name == typed or not is_baseline(name)]
        wanted += [(kind, name) for name in names]
    reports = []
    for kind, name in wanted:
        reports.append(checked(kind, name, given))
        if not given.json:
            print(reports[-1].summary)
    if given.json:
        print(json.dumps([{**asdict(report), "ok": report.ok} for report in reports], indent=1))
    return int(not all(report.ok for report in reports))


def is_baseline(name: str) -> bool:
    """Return whether a built-in method is not trained."""
    return name in METHODS and METHODS[name].baseline


def checked(kind: str, name: str, given: argparse.Namespace) -> Report:
    """Check one plug-in; print each result as soon as it is there."""
    from bench import testing
    from bench.config.config import parse_sets
    from bench.config.decoding import parse
    from bench.metrics import find_metric
    from bench.models.backbones import find_backbone
    from bench.tasks import find_task
    from bench.tasks.fetch.sources import resolve

    def show(result: testing.Result) -> None:
        if not given.json:
            print(result, flush=True)

    backbones, sets, quick = split_names(given.backbone) or testing.BACKBONES, tuple(set_texts(given)), given.quick
    if kind == "method":
        return testing.check_objective(name, backbones=backbones, quick=quick, sets=sets, on_result=show)
    if kind == "task":
        task = find_task(name).value
        source = resolve(task.name, data_dir_of(given), task.info.folders)
        task_options = {item.name: item.value for item in parse_sets(sets) if item.section == "task"}
        return testing.check_task(task, source, task_options, show)
    if kind == "metric":
        found = find_metric(name)
        return testing.check_metric(found.name, found.value, show)
    if kind == "backbone":
        return testing.check_backbone(find_backbone(name), sets, quick, show)
    (decoding,) = parse(name)
    return testing.check_decoding(decoding, backbones, show)


def kind_of(name: str) -> str:
    """Return the kind of plug-in that a name has; `all`, groups and globs are methods, as they are in `bench run`.

    Raises:
        UsageError: nothing that can be checked has this name.
    """
    if name in ("all", *GROUPS, *ALIASES) or any(character in name for character in "*?["):
        return "method"
    target = name.partition("=")[0].partition("+")[0]  # topk=3+temperature=0.7
    for title, table in KINDS.items():
        if target in all_names(table):
            return title.removesuffix("s")
    if ":" in name:
        return kind_of_value(target)
    if "/" in name:
        return "backbone"
    near = "bench list has the names"
    if meant := nearest(name, [known for table in KINDS.values() for known in all_names(table)]):
        near = f"did you mean '{meant}'?"
    raise UsageError(f"no method, task, metric, backbone or decoding '{name}'; {near}; file.py:Name works too")


def kind_of_value(target: str) -> str:
    """Return the kind of `module:Name` or `file.py:Name`; a function makes a backbone."""
    from bench.base.registry import load
    from bench.decodings.core.decoding import Decoding
    from bench.models.core.objective import Objective
    from bench.tasks.core.task import Task

    value = load(target)
    if isinstance(value, MetricEntry):
        return "metric"
    for kind, expected in (("method", Objective), ("task", Task), ("decoding", Decoding)):
        if isinstance(value, type) and issubclass(value, expected):
            return kind
    if isinstance(value, type):
        raise UsageError(f"'{target}' is no subclass of bench.Objective, bench.Task or bench.Decoding")
    return "backbone"
