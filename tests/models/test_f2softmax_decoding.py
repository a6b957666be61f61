"""F2-Softmax decodes by eq. 7: its distribution in every mode, searches against an oracle, samples, what is refused."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from bench.config.decoding import parse
from bench.errors import UsageError
from bench.generation.generation import generate
from bench.models.f2softmax import F2Softmax
from bench.models.functional.decoupled import decoupled_log_probs
from tests.bench.generation import decoding_oracle as oracle
from tests.bench.generation import tiny_decoders as tiny
from tests.models.f2_cases import V, made, rows_of


def first_tokens(objective: F2Softmax, prompt: list[int], mode: str, draws: int) -> Tensor:
    """The first token of so many continuations of one prompt, [draws]."""
    found = generate(objective, tiny.collate(objective.backbone, [prompt] * draws), parse(mode)[0], 1, range(draws))
    return torch.tensor([[*text, tiny.END][0] for text in found])


class TestDecoding:
    @pytest.mark.parametrize(
        ("mode", "cut"),
        [
            ("greedy", {"greedy": True}),
            ("decoupled:greedy", {"greedy": True}),
            ("beam=4+length_penalty=2", {"greedy": True}),
            ("topk=3", {"k": 3}),
            ("decoupled:topk=3", {"k": 3}),
            ("nucleus=0.8", {"p": 0.8}),
            ("sample", {}),
            ("posterior:greedy+no_repeat_ngram=3", {}),
            ("posterior:topk=3+temperature=0.5", {}),
            ("posterior:beam=4", {}),
            ("f2_released:topk=3", {}),  # its cut is made where a token is drawn
        ],
    )
    def test_distributions(self, mode: str, cut: dict[str, Any]) -> None:
        """Its own decoding is eq. 7 over its own classes; without a cut, or asked for, it is the posterior."""
        objective = made("gpt2")
        rows, decoding = rows_of(objective, "gpt2"), parse(mode)[0]
        log_probs = objective.log_probs(rows)
        found = objective.decode_log_probs(rows, decoding)
        torch.testing.assert_close(found, decoupled_log_probs(log_probs, objective.classes, **cut), rtol=0, atol=1e-12)
        torch.testing.assert_close(found.exp().sum(1), torch.ones(len(rows), dtype=torch.float64))
        assert torch.equal(objective.decode_log_probs(rows, objective.resolved(decoding)), found)

    @pytest.mark.parametrize("mode", ["greedy+no_repeat_ngram=3", "topk=3+temperature=0.5", "beam=4+no_repeat_ngram=3"])
    def test_settings_eq_7_does_not_have(self, mode: str) -> None:
        with pytest.raises(UsageError) as error:
            F2Softmax.resolved(parse(mode)[0])
        assert "cannot be combined with decoupled decoding" in str(error.value)
        assert f"posterior:{mode} decodes by the whole distribution" in str(error.value)

    @pytest.mark.parametrize(
        "mode", ["min_p=0.1", "typical=0.9", "contrastive_search=4", "greedy+presence_penalty=1.0"]
    )
    def test_decodings_eq_7_does_not_have(self, mode: str) -> None:
        """By the whole distribution all of them decode; which one is meant must be said."""
        with pytest.raises(UsageError, match="f2softmax: .*eq. 7 cuts within"):
            F2Softmax.resolved(parse(mode)[0])
        objective, decoding = made("gpt2"), parse(f"posterior:{mode}")[0]
        assert F2Softmax.resolved(decoding) is decoding
        rows = rows_of(objective, "gpt2")
        assert torch.equal(objective.decode_log_probs(rows, decoding), objective.log_probs(rows))

    @pytest.mark.parametrize(
        ("kind", "mode"),
        [("gpt2", "greedy"), ("bart", "beam=3"), ("llama", "beam=4+length_penalty=2.0"), ("gpt2", "posterior:beam=3")],
    )
    def test_search(self, kind: str, mode: str) -> None:
        """Against a search that runs every prefix anew; one class holds a single token, so most of a beam is dead."""
        objective, decoding, given = made(kind, torch.float32, classes="released"), parse(mode)[0], tiny.texts(4)
        assert min(objective.sizes) == 1
        found = generate(objective, tiny.collate(objective.backbone, given), decoding, 8)
        assert found == [oracle.decode(objective, text, decoding, 8, tiny.END) for text in given]

    def test_samples_come_from_every_class(self) -> None:
        """Top-1 draws the class and takes its best token; a second cut over all tokens would leave only one."""
        objective, prompt = made("gpt2", torch.float32), tiny.texts(1)[0]
        found = first_tokens(objective, prompt, "topk=1", 400)
        wanted = oracle.next_token(objective, prompt, parse("topk=1")[0])([]).exp()
        assert (wanted > 0).sum() == len(objective.sizes)
        share = found.bincount(minlength=V) / 400
        assert ((share - wanted).abs() < 4 * (wanted * (1 - wanted) / 400).sqrt() + 1e-9).all()
