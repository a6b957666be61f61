"""`check_objective`: whether an objective keeps what the suite relies on, as sklearn's check_estimator does."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from bench.base.options import options_of
from bench.cells.make import name_of
from bench.config.config import parse_sets
from bench.config.resolve import check_overrides, find_method
from bench.config.second import checkable, second_of
from bench.errors import UsageError
from bench.models.backbones import backbone_factory
from bench.models.core.objective import Objective
from bench.tasks.logicnlg import LogicNLG
from bench.testing.distributions import cache, no_future, source, sums_to_one
from bench.testing.losses import batches, bf16, certain, fast_form, gradients, no_target, padding
from bench.testing.ranks import ranks
from bench.testing.report import Check, NotApplicable, OnResult, Report, Result, need, run_checks, silent
from bench.testing.subject import Subject
from bench.testing.training import overfit, reload

__all__ = ["BACKBONES", "CHECKS", "check_objective"]

BACKBONES = ("small-causal", "small-encdec")
"""Backbones that a method without one of its own is checked on."""


def builds(subject: Subject) -> str:
    """It fits the backbone, its constructor takes what the program gives it, and its space names its options."""
    if reason := subject.why_not():
        raise NotApplicable(reason)
    options = options_of(subject.plugin)
    wanted = [name.removeprefix("method.") for name in subject.plugin.space if name.startswith("method.")]
    unknown = [name for name in wanted if name not in options]
    need(not unknown, "a `space` of options it has", unknown, "name keyword arguments of its constructor")
    size = sum(parameter.numel() for parameter in subject.objective().parameters())
    return f"{size:,} parameters; options: {', '.join(options) or 'none'}"


DISTRIBUTION: list[Check] = [builds, sums_to_one, no_future, source, padding, bf16, cache]
"""Checks of every method, also of one that is never trained."""
TRAINING: list[Check] = [gradients, certain, no_target, batches, fast_form, reload, overfit, ranks]
CHECKS = DISTRIBUTION + TRAINING


def check_objective(
    what: type[Objective] | str,
    *,
    backbones: Sequence[str] = BACKBONES,
    seed: int = 0,
    quick: bool = False,
    sets: Sequence[str] = (),
    on_result: OnResult = silent,
) -> Report:
    """Check an objective on small models in float64, with rows of the built-in sample.

    Args:
        what: a class at the top level of a file, or as typed after --method: `histalign.released`, `file.py:Class`.
        backbones: where; a method with a backbone of its own is checked on that one.
        seed: of weights.
        quick: leave out `ranks`, which starts other processes.
        sets: options as typed after --set, e.g. `method.gamma=1`.
        on_result: called with each result as soon as it is there.

    Raises:
        UsageError: there is no such method, class, backbone or option.
    """
    method = find_method(name_of(what, "method"))
    if method.is_baseline:
        raise UsageError(f"'{method.name}' is a baseline, which is not trained; there is nothing to check")
    chosen = [method.own_backbone] if method.own_backbone else list(dict.fromkeys(backbones))
    for name in chosen:
        backbone_factory(name)
    methods = [method, *filter(None, [second_of(method)])]
    check_overrides(checkable(parse_sets(sets), methods), [LogicNLG], methods, chosen)
    subjects = [Subject(method, name, seed, tuple(sets)) for name in chosen]
    _ = [subject.config for subject in subjects]  # refuses a value that an option does not take
    results: list[Result] = []
    with torch.random.fork_rng(devices=[]):
        for subject in subjects:
            checks = DISTRIBUTION if method.untrained or method.only_reads else CHECKS
            checks = [check for check in checks if not (quick and check is ranks)]
            results += run_checks(checks, subject, on_result, subject.backbone)
    if all(result.state == "not applicable" for result in results):
        reason = f"expected a backbone it works on; got none among {', '.join(chosen)}; choose another"
        results.append(Result("fits", "", "failed", reason))
        on_result(results[-1])
    return Report(method.name, tuple(results))
