"""The contract of decodings: the built-in ones keep to it, and each rule is missed by one that breaks it."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import ClassVar

import pytest
import torch
from torch import Tensor

from bench.commands.check import decoding_texts
from bench.config.decoding import parse
from bench.decodings import DECODINGS
from bench.decodings.core.decoding import Decoding, Texts
from bench.decodings.core.sampler import Sampler
from bench.decodings.core.settings import number
from bench.errors import UsageError
from bench.testing.decoding_contract import BACKBONES, check_decoding_on

BUILT_IN = "greedy,beam=3,beam=3+gnmt=1.0,topk=3,nucleus=0.8,sample,min_p=0.1,typical=0.9,eta=0.001,mirostat=3"
BUILT_IN += ",contrastive_search=3,topk=5+repetition_penalty=1.3"


def named(value: Decoding | str) -> str:
    """A decoding or a backbone in the name of a test."""
    if isinstance(value, str):
        return value
    return value.text


@pytest.mark.parametrize(
    ("decoding", "backbone"), list(zip(parse(BUILT_IN), itertools.cycle(BACKBONES), strict=False)), ids=named
)
def test_every_built_in_keeps_to_the_contract(decoding: Decoding, backbone: str) -> None:
    """On one of the small backbones; on both, in `make test-long`."""
    report = check_decoding_on(decoding, [backbone])
    assert report.ok, str(report)


@pytest.mark.slow
@pytest.mark.parametrize("decoding", parse(BUILT_IN), ids=named)
def test_so_it_does_on_both_backbones(decoding: Decoding) -> None:
    report = check_decoding_on(decoding)
    assert report.ok, str(report)


@dataclass(frozen=True, kw_only=True)
class TopA(Sampler):
    """Draw among tokens whose probability is at least a times the square of the largest."""

    name: ClassVar[str] = "top_a"
    a: float = number(above=0, most=1, value=True, example="top_a=0.2")

    def kept(self, scores: Tensor) -> Tensor:
        """Those above the bound."""
        probs = scores.softmax(1)
        return probs >= self.a * probs.amax(1, keepdim=True) ** 2


@dataclass(frozen=True, kw_only=True)
class KeepsNothing(TopA):
    """Asks for more than the most probable token has."""

    name: ClassVar[str] = "keeps_nothing"

    def kept(self, scores: Tensor) -> Tensor:
        """None of a flat distribution."""
        return scores.softmax(1) > 0.5


@dataclass(frozen=True, kw_only=True)
class KeepsRuledOut(TopA):
    """Keeps all."""

    name: ClassVar[str] = "keeps_ruled_out"

    def kept(self, scores: Tensor) -> Tensor:
        """All tokens, those with probability 0 too."""
        return torch.ones_like(scores, dtype=torch.bool)


@dataclass(frozen=True, kw_only=True)
class MixesRows(TopA):
    """Lets the batch decide."""

    name: ClassVar[str] = "mixes_rows"

    def draw(self, scores: Tensor, uniform: Tensor, state: dict[str, Tensor]) -> Tensor:
        """The same place for all rows."""
        return super().draw(scores, uniform[:1].expand_as(uniform).contiguous(), state)


@dataclass(frozen=True, kw_only=True)
class Unseeded(TopA):
    """Draws with a generator of its own."""

    name: ClassVar[str] = "unseeded"

    def draw(self, scores: Tensor, uniform: Tensor, state: dict[str, Tensor]) -> Tensor:
        """Forget the uniform numbers."""
        return torch.multinomial(scores.softmax(1), 1).squeeze(1)


@dataclass(frozen=True, kw_only=True)
class Endless(Decoding):
    """Writes twice as much as it should."""

    name: ClassVar[str] = "endless"

    @property
    def own_loop(self) -> bool:
        """It has one."""
        return True

    def write(self, texts: Texts, limit: int) -> list[list[int]]:
        """The most probable token, again and again."""
        for _ in range(2 * limit):
            texts.append(texts.log_probs().argmax(1))
        new: list[list[int]] = texts.ids[:, texts.start :].tolist()
        return new


def test_all_and_globs_are_the_built_in_ones_with_the_values_of_their_examples() -> None:
    every = [decoding.name for decoding in parse(",".join(decoding_texts(["all"])))]
    assert every == list(DECODINGS)
    assert decoding_texts(["topk=5", "g*", "*_p", "greedy", "a[1].py:TopA"]) == [
        "topk=5", "greedy", "min_p=0.1", "a[1].py:TopA",
    ]  # fmt: skip
    with pytest.raises(UsageError, match=r"no decoding matches 'x\*'"):
        decoding_texts(["x*"])


def test_one_of_our_own_keeps_to_it() -> None:
    report = check_decoding_on(TopA(a=0.2))
    assert report.ok, str(report)


@pytest.mark.parametrize(
    ("decoding", "check", "said"),
    [
        (KeepsNothing(a=0.2), "kept", "expected a token that is kept of each row, plain; got a row without"),
        (KeepsRuledOut(a=0.2), "kept", "expected tokens that are not ruled out, cut"),
        (MixesRows(a=0.2), "rows", "expected the same text of"),
        (Unseeded(a=0.2), "seeds", "expected the same texts of the same seeds; got others"),
        (Endless(), "lengths", "expected at most 1 tokens; got"),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_decodings_that_break_a_rule(decoding: Decoding, check: str, said: str) -> None:
    failed = {result.check: result.detail for result in check_decoding_on(decoding, ["small-causal"]).failed}
    assert check in failed, failed
    assert said in failed[check]
