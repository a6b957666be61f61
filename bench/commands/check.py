"""`bench check`: whether methods keep to the contract, line by line."""

from __future__ import annotations

import argparse
import json

import torch

from bench.base.entries import split_names
from bench.config.resolve import method_names
from bench.models import METHODS
from bench.testing import BACKBONES, Result, check_objective
from bench.testing.report import lines


def check(given: argparse.Namespace) -> int:
    """Check and print; return 1 if anything failed."""
    torch.set_num_threads(1)  # tensors are small
    wanted = split_names(given.methods)
    names = [name for name in method_names(wanted, controls=False) if name in wanted or not is_baseline(name)]
    backbones = split_names(given.backbone) or list(BACKBONES)
    sets = [text for group in given.sets for text in group]
    reports = []
    for name in names:
        show = Show(given.json)
        report = check_objective(name, backbones=backbones, seed=given.seed, quick=given.quick, sets=sets,
                                 on_result=show)  # fmt: skip
        reports.append(report)
        if not given.json:
            print(report.summary)
    if given.json:
        print(json.dumps([report.as_dict() for report in reports], indent=1))
    return 0 if all(report.ok for report in reports) else 1


def is_baseline(name: str) -> bool:
    """Whether a built-in method is not trained."""
    return name in METHODS and METHODS[name].baseline


class Show:
    """Prints each result as soon as it is there, unless all are wanted as JSON."""

    def __init__(self, silent: bool) -> None:
        self.silent = silent
        self.before: Result | None = None

    def __call__(self, result: Result) -> None:
        if not self.silent:
            for line in lines(result, self.before):
                print(line, flush=True)
        self.before = result
