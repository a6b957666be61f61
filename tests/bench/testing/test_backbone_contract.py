"""The contract of backbones: the small ones keep to it, and each rule is missed by a backbone that breaks it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

from bench.models.backbones import find_backbone
from bench.models.backbones.backbone import Backbone, Batch, Step, TextSource
from bench.models.backbones.causal import Causal
from bench.models.backbones.small import small_causal
from bench.models.core.states import Rows, States
from bench.testing import backbone_contract
from bench.testing.backbone_contract import check_backbone_entry
from bench.testing.report import Report


@pytest.mark.parametrize("name", ["small-causal", "small-encdec", "bilstm", "f2-decoder"])
def test_the_built_in_ones_keep_to_the_contract(name: str) -> None:
    report = check_backbone_entry(find_backbone(name), quick=True)
    assert report.ok, str(report)


def rebuilt(kind: type[Causal], name: str, texts: TextSource, seed: int, **options: Any) -> Backbone:
    """A small backbone of another class."""
    made = small_causal(name, texts, seed, **options)
    return kind(made.model, made.tokenizer)


def good(name: str, texts: TextSource, seed: int, *, width: int = 16, vocabulary: int = 300) -> Backbone:
    """A small one, as a stranger writes it."""
    return small_causal(name, texts, seed, width=width, vocabulary=vocabulary, layers=1, heads=2)


class Doubled(Causal):
    """Its states are twice as long."""

    def states(self, batch: Batch) -> States:
        """Return states before which the head was learned otherwise."""
        states = super().states(batch)
        return replace(states, hidden=2 * states.hidden)


def other_states(name: str, texts: TextSource, seed: int, *, width: int = 16, vocabulary: int = 300) -> Backbone:
    """Whose forward is not the library's."""
    return rebuilt(Doubled, name, texts, seed, width=width, vocabulary=vocabulary, layers=1, heads=2)


class Forgetful(Causal):
    """Reads the last token alone."""

    def extend(self, step: Step) -> Rows:
        """Forget the cache."""
        rows = super().extend(step)
        object.__setattr__(rows, "hidden", torch.zeros_like(rows.hidden))
        return rows


def without_cache(name: str, texts: TextSource, seed: int, *, width: int = 16, vocabulary: int = 300) -> Backbone:
    """Whose generation is not its reading."""
    return rebuilt(Forgetful, name, texts, seed, width=width, vocabulary=vocabulary, layers=1, heads=2)


def unseeded(name: str, texts: TextSource, seed: int, *, width: int = 16, vocabulary: int = 300) -> Backbone:
    """That starts the same with any seed."""
    return good(name, texts, 0, width=width, vocabulary=vocabulary)


def positional(name: str, texts: TextSource, seed: int, width: int = 16) -> Backbone:
    """Whose options --set cannot reach."""
    return good(name, texts, seed, width=width)


def no_padding(name: str, texts: TextSource, seed: int, *, width: int = 16, vocabulary: int = 300) -> Backbone:
    """Whose tokenizer has no padding."""
    made = good(name, texts, seed, width=width, vocabulary=vocabulary)
    made.tokenizer.pad_token = None
    return made


def report_of(name: str, monkeypatch: pytest.MonkeyPatch) -> Report:
    """Its own checks, without those of MLE on it."""
    monkeypatch.setattr(backbone_contract, "check_objective", lambda *names, **options: Report("mle", ()))
    return check_backbone_entry(find_backbone(f"{__name__}:{name}"))


def test_the_good_one_is_good() -> None:
    report = check_backbone_entry(find_backbone(f"{__name__}:good"), quick=True)
    assert report.ok, str(report)


@pytest.mark.parametrize(
    ("name", "check", "said"),
    [
        ("other_states", "forward", "expected the log-probabilities of the model's own forward to 1e-04 nats"),
        ("without_cache", "extend", "expected the same log-probabilities to 1e-04 nats"),
        ("unseeded", "seed", "expected other weights of another seed; got the same"),
        ("positional", "names", "expected (name, texts, seed, *, options); got (name, texts, seed, width)"),
        ("no_padding", "tokens", "expected a pad_token_id; got none"),
    ],
)
def test_factories_that_break_a_rule(name: str, check: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = {result.check: result.detail for result in report_of(name, monkeypatch).failed}
    assert check in found, found
    assert said in found[check]
