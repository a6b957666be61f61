"""Penalties: what is counted, how much it costs, and that no token of a source or a prompt is hit."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from transformers import RepetitionPenaltyLogitsProcessor

from bench.config.decoding import parse
from bench.decodings.core.penalties import WrittenPenalty
from tests.bench.decodings.test_samplers import scores_of
from tests.bench.generation.decoding_oracle import next_token
from tests.bench.generation.test_generation import run
from tests.bench.generation.tiny_decoders import END, KINDS, CacheLM, backbone, texts

PENALISED = "repetition_penalty=1.7+frequency_penalty=0.4+presence_penalty=0.3"


def tokens(rows: int, length: int) -> Tensor:
    return torch.randint(0, 40, (rows, length), generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("start", [0, 1, 5])
@pytest.mark.parametrize("penalty", [0.5, 1.0, 1.2, 3.0])
def test_repetition_is_the_librarys_behind_the_prompt(start: int, penalty: float) -> None:
    ids, scores = tokens(32, 12), scores_of(32, 40, 2.0)
    theirs = RepetitionPenaltyLogitsProcessor(penalty, prompt_ignore_length=start)(ids, scores.clone())
    torch.testing.assert_close(WrittenPenalty(start, repetition=penalty)(ids, scores), theirs)


def test_frequency_and_presence_by_hand() -> None:
    ids, scores = torch.tensor([[3, 3, 1, 2, 2, 2]]), torch.tensor([[-1.0, -2.0, -3.0, -4.0]])
    assert WrittenPenalty(0, frequency=0.5)(ids, scores).tolist() == [[-1.0, -2.5, -4.5, -5.0]]
    assert WrittenPenalty(0, presence=0.5)(ids, scores).tolist() == [[-1.0, -2.5, -3.5, -4.5]]
    assert WrittenPenalty(2, 2.0, 0.5, 1.0)(ids, scores).tolist() == [[-1.0, -5.5, -8.5, -4.0]]


@pytest.mark.parametrize("kind", KINDS)
def test_only_what_was_written_counts(kind: str) -> None:
    """Against a loop without cache, batch or tensors of counts."""
    objective, given, settings = CacheLM(backbone(kind)).eval(), texts(4, 3), parse(f"greedy+{PENALISED}")[0]
    expected = []
    for text in given:
        predict, new = next_token(objective, text, settings), list[int]()
        while len(new) < 8 and END not in new:
            scores = predict(new).float()
            for token in set(new):
                scores[token] = scores[token] * 1.7 - 0.4 * new.count(token) - 0.3
            new.append(int(scores.argmax()))
        expected.append(new[: new.index(END)] if END in new else new)
    assert run(objective, given, f"greedy+{PENALISED}", 8) == expected
    assert run(objective, given, "greedy", 8) != expected
