"""Each step of a decoding is a forward pass over the whole text of its row, in every beam."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from torch import Tensor
from transformers import LogitsProcessor

from bench.decodings.core.decoding import Decoding
from bench.models.core.objective import Objective
from tests.bench.generation.decoded import counted, one, run
from tests.bench.generation.decoding_oracle import next_token
from tests.bench.generation.tiny_decoders import END, KINDS, CacheLM, backbone, texts
from tests.drawn import in_turn


class Stepwise(LogitsProcessor):
    """Compare what decoding has just been told with a forward pass over each row's whole text.

    Args:
        full: the number of a row and its new tokens -> log-probabilities of the next one, by a full pass.
        start: column of the first new token.
        width: texts of a row that grow at once.
    """

    def __init__(self, full: Callable[[int, list[int]], Tensor], start: int, width: int) -> None:
        self.full, self.start, self.width = full, start, width
        self.answered: list[Tensor] = []
        self.worst, self.compared = 0.0, 0

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        answered = self.answered.pop()
        assert not answered.isnan().any()
        for row, (text, log_probs) in enumerate(zip(input_ids[:, self.start :].tolist(), answered, strict=True)):
            if END in text:
                continue  # finished: what follows is overwritten with padding
            expected = self.full(row // self.width, text)
            self.worst = max(self.worst, float(difference(log_probs.double(), expected)))
            self.compared += 1
        return scores


def difference(first: Tensor, second: Tensor) -> Tensor:
    """Largest difference; infinite where only one is -inf."""
    return torch.where(first == second, 0.0, first - second).abs().max()


@contextmanager
def recorded(objective: Objective, into: list[Tensor]) -> Iterator[None]:
    """Keep what decoding is told, before the library rounds it to float32."""
    ask = objective.decode_log_probs

    def answer(rows: Any, decoding: Decoding) -> Tensor:
        into.append(ask(rows, decoding))
        return into[-1]

    objective.decode_log_probs = answer  # type: ignore[method-assign]
    yield
    del objective.decode_log_probs


def worst_step(objective: Objective, given: list[list[int]], decoding: str, limit: int = 6) -> float:
    """The largest difference, over all steps and rows, between decoding and a full forward pass."""
    objective.eval()
    full = type(objective)(objective.backbone).eval()
    full.setup_run(objective.run_context)
    start = max(map(len, given)) if objective.backbone.architecture == "decoder-only" else 1
    settings = one(decoding)
    check = Stepwise(lambda row, text: next_token(full, given[row], settings)(text), start, settings.width)
    with recorded(objective, check.answered):
        run(objective, given, decoding, limit, processors=[check], seeds=range(len(given)))
    assert check.compared > limit * len(given) / 2
    return check.worst


class TestStepwise:
    """Every cached step equals a full forward pass; tests/bench/decodings/test_every_decoding.py has each decoding."""

    @pytest.mark.parametrize(
        ("kind", "decoding"), in_turn(KINDS, ["decoupled:topk=2", "decoupled:nucleus=0.8", "decoupled:greedy"])
    )
    def test_decoupled(self, kind: str, decoding: str) -> None:
        objective = counted(CacheLM(backbone(kind, dtype=torch.float64)))
        assert worst_step(objective, texts(4, 3), decoding) < 1e-10

    @pytest.mark.parametrize("kind", KINDS)
    def test_one_token_prompt(self, kind: str) -> None:
        """The first step has nothing to read."""
        assert worst_step(CacheLM(backbone(kind, dtype=torch.float64)), [[7], [9, 8, 7, 9]], "beam=3") < 1e-10
        assert worst_step(CacheLM(backbone(kind, dtype=torch.float64)), [[7], [9]], "greedy") < 1e-10
