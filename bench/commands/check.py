"""`bench check`: whether a method, task, metric, backbone or decoding keeps to its contract, line by line."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.base.entries import all_names, installed, split_names
from bench.cli_options import data_dir_of, data_dir_option, json_option, positive, set_option, set_texts, whole
from bench.decodings import DECODINGS
from bench.errors import UsageError, nearest
from bench.metrics import METRICS, MetricEntry
from bench.models import ALIASES, GROUPS, METHODS
from bench.models.backbones import BACKBONES, BackboneEntry
from bench.tasks import TASKS

if TYPE_CHECKING:
    from bench.testing import Report, Result

TABLES: dict[str, Any] = {
    "method": METHODS,
    "task": TASKS,
    "metric": METRICS,
    "backbone": BACKBONES,
    "decoding": DECODINGS,
}
"""What can be checked, by kind."""


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `bench check`."""
    parser.add_argument(
        "names", nargs="+", metavar="NAME", help="of a kind; 'all' or globs of one; module:Name or file.py:Name"
    )
    parser.add_argument("--kind", choices=list(TABLES), help="of globs, and of a name that several kinds have")
    parser.add_argument("--backbone", action="append", metavar="NAMES", help="of methods: small-causal,small-encdec")
    parser.add_argument("--seed", type=whole, default=0, metavar="N", help="of weights; default 0")
    set_option(parser, "e.g. method.alpha=0.5, task.path=my.jsonl")
    parser.add_argument("--quick", action="store_true", help="leave out what starts other processes")
    parser.add_argument("--limit", type=positive, metavar="N", help="of claims with known answers; default all")
    data_dir_option(parser)
    json_option(parser)


def run(given: argparse.Namespace) -> int:
    """Check and print; return 1 if anything failed."""
    import torch

    torch.set_num_threads(1)  # tensors are small
    checks: dict[str, Callable[..., list[Report]]] = {
        "method": check_methods,
        "task": check_tasks,
        "metric": check_metrics,
        "backbone": check_backbones,
        "decoding": check_decodings,
    }
    by_kind: dict[str, list[str]] = {}
    for name in split_names(given.names):
        by_kind.setdefault(given.kind or kind_of(name), []).append(name)
    reports = []
    for kind, names in by_kind.items():
        reports += checks[kind](names, given)
    if given.json:
        print(json.dumps([report.as_dict() for report in reports], indent=1))
    return int(not all(report.ok for report in reports))


# Of which kind ------------------------------------------------------------------------------------------------------


def kind_of(name: str) -> str:
    """Return what a name is of: `all`, groups and globs are methods, as they are in `bench run`.

    Raises:
        UsageError: it is of no kind, or of several.
    """
    if name in ("all", *GROUPS, *ALIASES) or any(character in name for character in "*?["):
        return "method"
    target = name.partition("=")[0].partition("+")[0]  # topk=3+temperature=0.7
    kinds = [kind for kind, table in TABLES.items() if target in all_names(table)]
    if not kinds and ":" in name:
        kinds = [kind_of_value(target)]
    if not kinds:
        kinds = [kind for kind, table in TABLES.items() if name in installed(kind, table)]
    if not kinds and ("/" in name or Path(name).is_dir()):
        kinds = ["backbone"]
    if not kinds:
        every = [known for table in TABLES.values() for known in all_names(table)]
        near = "; bench list has the names"
        if meant := nearest(name, every):
            near = f"; did you mean '{meant}'?"
        raise UsageError(
            f"no method, task, metric, backbone or decoding '{name}'{near}; module:Name or file.py:Name works too"
        )
    if len(kinds) > 1:
        raise UsageError(f"'{name}' is the name of a {' and of a '.join(kinds)}; say which with --kind")
    return kinds[0]


def kind_of_value(asked: str) -> str:
    """Return what kind `module:Name` or `file.py:Name` is of.

    Raises:
        UsageError: it is nothing that can be checked.
    """
    from bench.base.own_code import load
    from bench.decodings.core.decoding import Decoding
    from bench.models.core.objective import Objective
    from bench.tasks.core.task import Task

    value = load(asked)
    if isinstance(value, MetricEntry):
        return "metric"
    if isinstance(value, BackboneEntry):
        return "backbone"
    if isinstance(value, type) and issubclass(value, Task):
        return "task"
    if isinstance(value, type) and issubclass(value, Objective):
        return "method"
    if isinstance(value, type) and issubclass(value, Decoding):
        return "decoding"
    if callable(value) and not isinstance(value, type):
        return "backbone"
    raise UsageError(
        f"'{asked}' is neither a subclass of Objective, Task or Decoding, nor a MetricEntry, nor makes a backbone"
    )


# The kinds ----------------------------------------------------------------------------------------------------------


def check_methods(names: list[str], given: argparse.Namespace) -> list[Report]:
    """Check methods on small backbones."""
    from bench.config.resolve import method_names
    from bench.testing import BACKBONES as SMALL
    from bench.testing import check_objective

    reports = []
    for name in method_names(names, controls=False):
        if is_baseline(name) and name not in names:
            continue
        report = check_objective(
            name,
            backbones=split_names(given.backbone) or list(SMALL),
            seed=given.seed,
            quick=given.quick,
            sets=set_texts(given),
            on_result=ResultPrinter(given.json),
        )
        reports.append(said(report, given))
    return reports


def is_baseline(name: str) -> bool:
    """Whether a built-in method is not trained."""
    return name in METHODS and METHODS[name].baseline


def check_tasks(names: list[str], given: argparse.Namespace) -> list[Report]:
    """Check tasks on their data, where it is here, or on their built-in rows."""
    from bench.base.entries import expand
    from bench.config.config import parse_sets
    from bench.tasks import find_task
    from bench.tasks.fetch.sources import resolve
    from bench.testing.task_contract import check_task

    sets = {override.name: override.value for override in parse_sets(set_texts(given)) if override.section == "task"}
    reports = []
    for name in expand(names, TASKS, "task", own=True):
        kind = find_task(name).value
        source = resolve(kind.name, data_dir_of(given), None, kind.info.folders)
        reports.append(said(check_task(kind, source, sets, ResultPrinter(given.json)), given))
    return reports


def check_metrics(names: list[str], given: argparse.Namespace) -> list[Report]:
    """Check metric families on example rows, and verifiers on claims with known answers."""
    from bench.base.entries import expand
    from bench.metrics import find_metric
    from bench.testing.metric_contract import check_family

    reports = []
    for name in expand(names, METRICS, "metric", own=True):
        loaded = find_metric(name)
        printer = ResultPrinter(given.json)
        reports.append(said(check_family(loaded.name, loaded.value, data_dir_of(given), given.limit, printer), given))
    return reports


def check_backbones(names: list[str], given: argparse.Namespace) -> list[Report]:
    """Check backbones, and MLE on them; those from the hub only where they are named."""
    from bench.base.entries import expand
    from bench.models.backbones import find_backbone
    from bench.testing.backbone_contract import check_backbone_entry

    places = [name for name in names if ":" in name or name not in BACKBONES and ("/" in name or Path(name).is_dir())]
    wanted = [name for name in names if name not in places]
    reports = []
    for name in [*expand(wanted, BACKBONES, "backbone", own=True), *places]:
        loaded = find_backbone(name)
        if loaded.value.hub and name not in names:
            continue
        printer = ResultPrinter(given.json)
        reports.append(said(check_backbone_entry(loaded, tuple(set_texts(given)), given.quick, printer), given))
    return reports


def check_decodings(names: list[str], given: argparse.Namespace) -> list[Report]:
    """Check decodings with MLE on small backbones."""
    from bench.config.decoding import parse
    from bench.testing.decoding_contract import BACKBONES as SMALL
    from bench.testing.decoding_contract import check_decoding_on

    backbones = split_names(given.backbone) or list(SMALL)
    reports = []
    for decoding in parse(",".join(decoding_texts(names))):
        reports.append(said(check_decoding_on(decoding, backbones, ResultPrinter(given.json)), given))
    return reports


def decoding_texts(names: list[str]) -> list[str]:
    """Return decodings as typed after --decode: of `all` and globs each built-in one, with its example's value."""
    from bench.base.entries import expand

    texts: dict[str, None] = {}
    for name in names:
        is_glob = ":" not in name and any(character in name for character in "*?[")
        if name != "all" and not is_glob:
            texts[name] = None
            continue
        for known in expand([name], DECODINGS, "decoding"):
            examples = [setting.example for setting in DECODINGS[known].load().settings().values() if setting.value]
            texts[next(iter(examples), known)] = None
    return list(texts)


# How it is shown ----------------------------------------------------------------------------------------------------


def said(report: Report, given: argparse.Namespace) -> Report:
    """Print the summary of a report, unless all are wanted as JSON; return the report."""
    if not given.json:
        print(report.summary)
    return report


class ResultPrinter:
    """Prints each result as soon as it is there, unless all are wanted as JSON."""

    def __init__(self, silent: bool) -> None:
        self.silent = silent
        self.previous: Result | None = None

    def __call__(self, result: Result) -> None:
        from bench.testing.report import lines

        if not self.silent:
            for line in lines(result, self.previous):
                print(line, flush=True)
        self.previous = result
