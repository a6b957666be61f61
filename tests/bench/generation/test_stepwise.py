"""Each step of a decoding is a forward pass over the whole text of its row, in every beam."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from torch import Tensor

from bench.decodings.core.decoding import Decoding
from bench.generation.continuation import Continuation
from bench.models.core.objective import Objective
from tests.bench.generation.decoded import counted, one, run
from tests.bench.generation.decoding_oracle import next_token
from tests.bench.generation.tiny_decoders import END, KINDS, CacheLM, backbone, texts
from tests.drawn import in_turn


class Stepwise:
    """Compare what decoding has just been told with a forward pass over each row's whole text.

    Args:
        full: the number of a row and its new tokens -> log-probabilities of the next one, by a full pass.
        start: column of the first new token.
        width: texts of a row that grow at once.
    """

    def __init__(self, full: Callable[[int, list[int]], Tensor], start: int, width: int) -> None:
        self.full, self.start, self.width = full, start, width
        self.worst, self.compared = 0.0, 0

    def compare(self, input_ids: Tensor, answered: Tensor) -> None:
        assert not answered.isnan().any()
        for row, (text, log_probs) in enumerate(zip(input_ids[:, self.start :].tolist(), answered, strict=True)):
            if END in text:
                continue  # finished: what follows is overwritten with padding
            expected = self.full(row // self.width, text)
            self.worst = max(self.worst, float(difference(log_probs.double(), expected)))
            self.compared += 1


def difference(first: Tensor, second: Tensor) -> Tensor:
    """Largest difference; infinite where only one is -inf."""
    return torch.where(first == second, 0.0, first - second).abs().max()


@contextmanager
def compared(objective: Objective, check: Stepwise) -> Iterator[None]:
    """Compare each answer that decoding gets, before it is rounded to float32."""
    ask, log_probs = objective.decode_log_probs, Continuation.log_probs
    written: list[Tensor] = []

    def answer(rows: Any, decoding: Decoding) -> Tensor:
        answered = ask(rows, decoding)
        check.compare(written.pop(), answered)
        return answered

    def next_token(texts: Continuation) -> Tensor:
        written.append(texts.ids)
        return log_probs(texts)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(objective, "decode_log_probs", answer)
        patch.setattr(Continuation, "log_probs", next_token)
        yield


def worst_step(objective: Objective, given: list[list[int]], decoding: str, limit: int = 6) -> float:
    """The largest difference, over all steps and rows, between decoding and a full forward pass."""
    objective.eval()
    full = type(objective)(objective.backbone).eval()
    full.setup_run(objective.run_context)
    start = max(map(len, given)) if objective.backbone.architecture == "decoder-only" else 1
    settings = one(decoding)
    check = Stepwise(
        lambda row, text: next_token(full, given[row], settings)(text), start, getattr(settings, "beams", 1)
    )
    with compared(objective, check):
        run(objective, given, decoding, limit, seeds=range(len(given)))
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
