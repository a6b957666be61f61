"""What every decoding must keep to: a name that makes it again, rows that do not mix, seeds, lengths, what is kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from bench.base.seeds import seed_of
from bench.config.decoding import parse
from bench.decodings.core.decoding import Decoding
from bench.decodings.core.sampler import Sampler
from bench.generation.generation import generate
from bench.models.core.objective import Objective
from bench.tasks.encode.codec import Encoded
from bench.testing.checks import Check, OnResult, module_file, run_check
from bench.testing.method_of import method_of
from bench.testing.report import Failed, NotApplicable, Report, Result
from bench.testing.subject import Subject as MethodSubject

__all__ = ["CHECKS", "check_decoding_on"]

BACKBONES = ("small-causal", "small-encdec")
STEPS = 8
"""Tokens of a text."""


@dataclass
class Subject:
    """A decoding, and MLE on one small backbone in float64."""

    decoding: Decoding
    backbone: str

    @cached_property
    def method(self) -> MethodSubject:
        """MLE with rows of the built-in sample."""
        return MethodSubject(method_of("mle"), self.backbone)

    @cached_property
    def objective(self) -> Objective:
        """A model whose distributions differ between positions."""
        return self.method.objective().eval()

    def texts(self, rows: Sequence[Encoded] | None = None, run: int = 0, limit: int = STEPS) -> dict[str, list[int]]:
        """Write texts for rows, by id; seeds come from the row and a number of the run."""
        rows = self.method.rows if rows is None else rows
        batch = self.method.codec.prompt_batch(rows)
        seeds = [seed_of(run, "check", row.id) for row in rows]
        written = generate(self.objective, batch, self.decoding, limit, seeds)  # type: ignore[arg-type]
        return {row.id: text for row, text in zip(rows, written, strict=True)}


def named(subject: Subject) -> str:
    """What it is called makes it again, and it says what it does."""
    decoding = subject.decoding
    if not (vars(type(decoding)).get("__doc__") or "").strip():
        raise Failed("a docstring of its own", "none", "say what it does, with its source")
    (again,) = parse(decoding.asked)
    if again != decoding:
        raise Failed(f"'{decoding.asked}' to make it again", again.text, "make every setting a field of the class")
    return decoding.text


def keeps_something(subject: Subject) -> str:
    """In peaked, flat and cut distributions a token is kept, and never one that is ruled out."""
    decoding = subject.decoding
    if not isinstance(decoding, Sampler) or type(decoding).kept is Sampler.kept:
        raise NotApplicable("it does not say which tokens it keeps")
    for name, scores in distributions().items():
        kept = decoding.kept(scores)
        if kept.shape != scores.shape or kept.dtype != torch.bool:
            came = f"{kept.dtype} of {tuple(kept.shape)}"
            raise Failed(f"a mask of {tuple(scores.shape)} truth values", came, "return [B, V] bool")
        if not kept.any(1).all():
            raise Failed(f"a token that is kept of each row, {name}", "a row without", "keep the most probable one")
        if (kept & scores.isneginf()).any():
            raise Failed(f"tokens that are not ruled out, {name}", "one with probability 0", "leave out -inf")
    return ", ".join(distributions())


def distributions() -> dict[str, Tensor]:
    """Return log-probabilities of several shapes, [B, V]."""
    generator = torch.Generator().manual_seed(0)
    plain = torch.randn(6, 50, generator=generator, dtype=torch.float64).log_softmax(1)
    peaked = (60 * plain).log_softmax(1)
    flat = torch.zeros(2, 50, dtype=torch.float64).log_softmax(1)
    cut = plain.masked_fill(torch.rand(6, 50, generator=generator) < 0.8, -torch.inf)
    cut[:, 7] = 0.0
    return {"plain": plain, "peaked": peaked, "flat": flat, "cut": cut}


def keeps_rows_apart(subject: Subject) -> str:
    """A row's text is the same alone, in a batch, and in another order."""
    rows = subject.method.rows
    together, turned = subject.texts(), subject.texts(rows[::-1])
    alone = {name: text for row in rows for name, text in subject.texts([row]).items()}
    for what, texts in (("alone", alone), ("in another order", turned)):
        differing = [name for name in together if texts[name] != together[name]]
        if differing:
            raise Failed(f"the same text of '{differing[0]}' {what}", "another one", "let no row see another")
    return f"{len(rows)} rows"


def follows_its_seed(subject: Subject) -> str:
    """The same seed draws the same text; another seed draws another one; without draws there are no seeds."""
    first, again, other = subject.texts(), subject.texts(), subject.texts(run=1)
    if first != again:
        raise Failed("the same texts of the same seeds", "others", "draw with the uniform numbers that are given")
    if not subject.decoding.samples and first != other:
        raise Failed("texts that no seed changes", "others", "derive from Sampler where something is drawn")
    return f"{sum(first[name] != other[name] for name in first)} of {len(first)} texts change with the seed"


def keeps_to_lengths(subject: Subject) -> str:
    """No text is longer than asked for, and nothing stands behind its end."""
    end = subject.objective.backbone.model.config.eos_token_id
    for limit in (1, STEPS):
        for name, text in subject.texts(limit=limit).items():
            if len(text) > limit:
                raise Failed(f"at most {limit} tokens", f"{len(text)} in '{name}'", "stop at the limit")
            if end in text:
                raise Failed("no token behind the end", f"some in '{name}'", "stop where a text has ended")
    return f"1 and {STEPS} tokens"


CHECKS = (
    Check("names", "is made again by what it is called", named),
    Check("kept", "keeps a token of every distribution, and none that is ruled out", keeps_something),
    Check("rows", "a row's text depends on no other row", keeps_rows_apart),
    Check("seeds", "its seed, and nothing else, decides what is drawn", follows_its_seed),
    Check("lengths", "keeps to the length that is asked for", keeps_to_lengths),
)


def check_decoding_on(
    decoding: Decoding, backbones: Sequence[str] = BACKBONES, on_result: OnResult = lambda result: None
) -> Report:
    """Check a decoding with MLE on small models.

    Args:
        decoding: with its settings.
        backbones: where.
        on_result: told each result as soon as it is there.
    """
    results = list[Result]()
    with torch.random.fork_rng(devices=[]):
        for backbone in backbones:
            subject = Subject(decoding, backbone)
            for check in CHECKS:
                result = run_check(check, subject, backbone, module_file(type(decoding)))
                results.append(result)
                on_result(result)
    return Report(decoding.text, tuple(results))
