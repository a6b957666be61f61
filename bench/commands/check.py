"""`bench check`: the tests that every objective, task, metric, backbone and decoding must pass."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from bench.base.registry import all_names, load, split_names, unknown
from bench.cli_options import add_options
from bench.commands.list import KINDS
from bench.errors import UsageError
from bench.metrics import METRICS, MetricEntry
from bench.models import ALIASES, GROUPS, METHODS

if TYPE_CHECKING:
    from bench.testing import Result


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `bench check`."""
    names = "names with commas, of any kind; module:Name or file.py:Name; 'all' and globs select methods"
    parser.add_argument("names", nargs="+", metavar="NAME", help=names)
    parser.add_argument("--backbone", action="append", metavar="NAMES", help="for methods and decodings")
    add_options(parser, "--set", help="e.g. method.alpha=0.5, task.path=my.jsonl")
    parser.add_argument("--quick", action="store_true", help="leave out the check that starts two processes")
    add_options(parser, "--data-dir")


def run(given: argparse.Namespace) -> int:
    """Check and print; return 1 if anything failed."""
    import torch

    from bench.config.resolve import method_names

    torch.set_num_threads(1)  # tensors are small
    baselines, wanted = {name for name, entry in METHODS.items() if entry.baseline}, []
    for typed in split_names(given.names):
        kind, names = kind_of(typed), [typed]
        if kind == "methods":
            names = [name for name in method_names(names, controls=False) if name == typed or name not in baselines]
        wanted += [(kind, name) for name in names]
    if not wanted:
        raise UsageError("expected a name, got none; bench list has the names")
    failed = False
    for kind, name in wanted:
        states: Counter[str] = Counter()
        printed: set[str] = set()
        for result in checks_of(kind, name, given):  # one fault fails many checks
            repeated = not result.ok and result.detail in printed
            print(replace(result, detail="as above") if repeated else result, flush=True)
            printed |= set() if result.ok else {result.detail}
            states[result.state] += 1
            failed = failed or not result.ok
        print(f"{name}: {', '.join(f'{number} {state}' for state, number in states.items())}")
    return int(failed)


def checks_of(kind: str, name: str, given: argparse.Namespace) -> Iterator[Result]:
    """Return the results of the checks of one plug-in, each as soon as it is there."""
    from bench import testing
    from bench.config.config import parse_sets, section_values
    from bench.config.decoding import parse
    from bench.metrics import find_metric
    from bench.models.backbones import find_backbone
    from bench.tasks import find_task
    from bench.tasks.fetch.sources import resolve

    backbones, sets = split_names(given.backbone) or testing.BACKBONES, given.sets
    if kind == "methods":
        return testing.check_objective(name, backbones=backbones, quick=given.quick, sets=sets)
    if kind == "tasks":
        task = find_task(name).value
        source = resolve(task.name, given.data_dir, task.info.folders)
        return testing.check_task(task, source, section_values(parse_sets(sets), "task", {task.name}))
    if kind == "metrics":
        return testing.check_metric(find_metric(name).value)
    if kind == "backbones":
        return testing.check_backbone(find_backbone(name), sets, given.quick)
    (decoding,) = parse(name)
    return testing.check_decoding(decoding, backbones)


def kind_of(name: str) -> str:
    """Return the kind of plug-in that a name has; `all`, groups and globs are methods, as they are in `bench run`.

    Raises:
        UsageError: nothing that can be checked has this name.
    """
    from bench.decodings.core.decoding import DISTRIBUTIONS, Decoding
    from bench.models.core.objective import Objective
    from bench.tasks.core.task import Task

    if name.endswith("]") and name.partition("[")[0] in METRICS:  # of another model, as in mauve[NAME]
        return "metrics"
    if name in ("all", *GROUPS, *ALIASES) or any(character in name for character in "*?["):
        return "methods"
    target = name.partition("=")[0].partition("+")[0]  # topk=3+temperature=0.7
    names = {kind: all_names(table) for kind, table in KINDS.items()}
    for kind, known in names.items():
        if target in known:
            return kind
    if target.partition(":")[0] in DISTRIBUTIONS:  # decoupled:nucleus=0.9
        return "decodings"
    if ":" not in name and "/" in name:
        return "backbones"
    if ":" not in name:
        kinds = "method, task, metric, backbone or decoding"
        raise unknown(name, [one for known in names.values() for one in known], kinds)
    value = load(target)
    if not isinstance(value, type):
        return "metrics" if isinstance(value, MetricEntry) else "backbones"  # a function makes a backbone
    for kind, parent in (("methods", Objective), ("tasks", Task), ("decodings", Decoding)):
        if issubclass(value, parent):
            return kind
    raise UsageError(f"'{target}' is no subclass of bench.Objective, bench.Task or bench.Decoding")
