"""`bench check`: whether methods keep to the contract, line by line."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

from bench.base.entries import split_names
from bench.cli_options import json_option, set_option, set_texts, whole
from bench.models import METHODS

if TYPE_CHECKING:
    from bench.testing import Result


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `bench check`."""
    parser.add_argument("methods", nargs="+", metavar="METHOD", help="names, 'all', globs, or package.module:Class")
    parser.add_argument("--backbone", action="append", metavar="NAMES", help="default small-causal,small-encdec")
    parser.add_argument("--seed", type=whole, default=0, metavar="N", help="of weights; default 0")
    set_option(parser, "e.g. method.alpha=0.5")
    parser.add_argument("--quick", action="store_true", help="leave out what starts other processes")
    json_option(parser)


def run(given: argparse.Namespace) -> int:
    """Check and print; return 1 if anything failed."""
    import torch

    from bench.config.resolve import method_names
    from bench.testing import BACKBONES, check_objective

    torch.set_num_threads(1)  # tensors are small
    wanted = split_names(given.methods)
    names = [name for name in method_names(wanted, controls=False) if name in wanted or not is_baseline(name)]
    backbones = split_names(given.backbone) or list(BACKBONES)
    reports = []
    for name in names:
        report = check_objective(
            name,
            backbones=backbones,
            seed=given.seed,
            quick=given.quick,
            sets=set_texts(given),
            on_result=ResultPrinter(given.json),
        )
        reports.append(report)
        if not given.json:
            print(report.summary)
    if given.json:
        print(json.dumps([report.as_dict() for report in reports], indent=1))
    return int(not all(report.ok for report in reports))


def is_baseline(name: str) -> bool:
    """Whether a built-in method is not trained."""
    return name in METHODS and METHODS[name].baseline


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
