"""Contract: the list of checks, and one report for one method."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import torch

from bench.base.entries import all_names
from bench.base.options import options_of
from bench.config.config import parse_sets
from bench.config.resolve import NAME, Method, check_overrides
from bench.config.second import checkable, second_of
from bench.models import METHODS
from bench.models.backbones import backbone_factory
from bench.models.core.objective import Objective
from bench.tasks.logicnlg import LogicNLG
from bench.testing.checks import Check, module_file, run_check
from bench.testing.distributions import (
    cached_decoding,
    decoding_sums_to_one,
    sees_no_future,
    source_is_not_written,
    sums_to_one,
)
from bench.testing.learning import certain, gradients, overfit, reload
from bench.testing.method_of import method_of
from bench.testing.ranks import ranks
from bench.testing.report import Failed, NotApplicable, Report, Result
from bench.testing.subject import Subject
from bench.testing.sums import batches, bf16, fast_form, padding

BACKBONES = ("small-causal", "small-encdec")
"""Where a method without a backbone of its own is checked."""


def names(subject: Subject) -> str:
    """The class has a name of its own, a paper, a docstring, and options that --set can reach."""
    kind = subject.method.kind
    built_in = ":" not in str(subject.method.code["class"])
    name, paper = getattr(kind, "name", None), getattr(kind, "paper", None)
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise Failed(
            "a class attribute `name` of letters, digits, '.', '_' and '-', starting with a lower-case letter or digit",
            repr(name),
            "name the class",
        )
    if not built_in and name in all_names(METHODS):
        raise Failed("a name no built-in method has", f"'{name}'", "choose another")
    if not isinstance(paper, str) or not paper.strip():
        raise Failed('a class attribute `paper`, e.g. "Lin et al. 2017"', repr(paper), "say where it comes from")
    if not (vars(kind).get("__doc__") or "").strip():
        raise Failed("a docstring of its own", "none", "say what it computes, with section and equation")
    own = {f"method.{option}" for option in options_of(kind)}
    unknown = [name for name in getattr(kind, "space", {}) if name.startswith("method.") and name not in own]
    if unknown:
        raise Failed("a `space` of settings it has", ", ".join(unknown), "name options of its constructor: method.NAME")
    if options := ", ".join(options_of(kind)):
        return f"{name}, {paper}; options: {options}"
    return f"{name}, {paper}"


def builds(subject: Subject) -> str:
    """It fits the backbone, and its constructor and `prepare` take what the program gives them."""
    if reason := subject.why_not():
        raise NotApplicable(reason)
    return f"{sum(p.numel() for p in subject.objective().parameters()):,} parameters"


NAMES = Check("names", "names itself and its paper, and says what it does", names)
"""Looks at the class alone; the others look at it on a backbone."""

CHECKS = (
    Check("builds", "can be made with its default options", builds),
    Check("sums-to-one", "log-probabilities sum to one", sums_to_one),
    Check("decoding", "so do those that decoding sees", decoding_sums_to_one),
    Check("no-future", "only earlier tokens are used", sees_no_future),
    Check("source", "tokens of the source do not count as written", source_is_not_written),
    Check("gradients", "loss is finite and gradients reach every parameter", gradients),
    Check("certain", "so they are where the model is certain", certain),
    Check("padding", "padding and neighbours change nothing", padding),
    Check("batches", "order and micro-batches change nothing", batches),
    Check("fast-form", "the trained form of the loss is the plain one", fast_form),
    Check("bf16", "bf16 autocast stays near float32", bf16),
    Check("cache", "decoding with a cache equals full forward passes", cached_decoding),
    Check("reload", "training goes on from a checkpoint", reload),
    Check("overfit", "two rows can be learned by heart", overfit),
    Check("ranks", "two processes equal one", ranks, slow=True),
)


def check_objective(
    what: type[Objective] | str,
    *,
    backbones: Sequence[str] = BACKBONES,
    seed: int = 0,
    quick: bool = False,
    sets: Sequence[str] = (),
    on_result: Callable[[Result], None] = lambda result: None,
) -> Report:
    """Check a method on small models in float64, with rows of the built-in sample.

    Args:
        what: a class, or as typed after --method: `histalign.released`, `package.module:Class`.
        backbones: where; a method with a backbone of its own is checked on that one.
        seed: of weights.
        quick: leave out what starts other processes.
        sets: options as typed after --set, e.g. `method.gamma=1`.
        on_result: told each result as soon as it is there.

    Raises:
        UsageError: when there is no such method, class or backbone.
    """
    method, results = method_of(what), list[Result]()
    chosen = [method.own_backbone] if method.own_backbone else list(dict.fromkeys(backbones))
    for name in chosen:
        backbone_factory(name)
    if sets:
        methods = [method, *filter(None, [second_of(method)])]
        check_overrides(checkable(parse_sets(sets), methods), [LogicNLG], methods, chosen)
        for name in chosen:
            _ = Subject(method, name, seed, tuple(sets)).config  # refuses a value that an option does not take
    with torch.random.fork_rng(devices=[]), silent():
        for result in results_of(method, chosen, seed, quick, tuple(sets)):
            results.append(result)
            on_result(result)
    return Report(method.name, tuple(results))


@contextmanager
def silent() -> Iterator[None]:
    """Let the library give no advice, such as on models that write padding."""
    from transformers.utils import logging

    before = logging.get_verbosity()
    logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(before)


def results_of(
    method: Method, backbones: Sequence[str], seed: int, quick: bool, sets: tuple[str, ...]
) -> Iterator[Result]:
    """Yield the results of all checks; a class without a name cannot be asked for anything else."""
    yield result_of(NAMES, Subject(method, "", seed, sets))
    if not hasattr(method.kind, "name"):
        return
    fits = False
    for backbone in backbones:
        for result in on_backbone(Subject(method, backbone, seed, sets), quick):
            fits = fits or result.state in ("passed", "failed")
            yield result
    if not fits:
        came = f"none among {', '.join(backbones)}"
        yield Result("fits", "fits a backbone", "", "failed", f"expected one it works on; got {came}; choose another")


def on_backbone(subject: Subject, quick: bool) -> Iterator[Result]:
    """Yield the results on one backbone; where it cannot be made or does not fit, nothing else is run."""
    first, *rest = CHECKS
    made = result_of(first, subject)
    yield made
    for check in rest:
        if made.state == "not applicable":
            yield replace(made, check=check.name, says=check.says)
        elif made.state == "failed":
            yield Result(check.name, check.says, subject.backbone, "not run", "it cannot be made")
        elif quick and check.slow:
            yield Result(check.name, check.says, subject.backbone, "not run", "quick")
        else:
            yield result_of(check, subject)


def result_of(check: Check, subject: Subject) -> Result:
    """Run one check of a method on a backbone."""
    return run_check(check, subject, subject.backbone, module_file(subject.method.kind))
