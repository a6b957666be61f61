"""The decoding of F2-Softmax's released code: its probabilities worked out by hand, and rows that are their own."""

import pytest
import torch
from torch import Tensor

from bench.config.decoding import parse
from bench.decodings.core.released_classes import draw_as_released
from bench.generation.generation import generate
from bench.models.core.run_context import RunContext
from bench.models.mle import MLE
from tests.bench.generation import tiny_decoders as tiny
from tests.models.test_f2softmax import counts, made

CLASSES = torch.tensor([0, 1, 1, 2, 2, 2])
PROBS = torch.tensor([0.5, 0.2, 0.1, 0.1, 0.06, 0.04])
"""Classes of 0.5, 0.3 and 0.2: the first two are within a mass of 0.9, and the third would exceed it."""
PLACES = 100_000


def shares(probs: Tensor, classes: Tensor, k: int) -> Tensor:
    """The share of all places in [0, 1) at which each token is drawn, [V]."""
    uniform = (torch.arange(PLACES, dtype=torch.float64) + 0.5) / PLACES
    tokens = draw_as_released(probs.log().expand(PLACES, -1), classes, k, uniform)
    return tokens.bincount(minlength=len(probs)) / PLACES


@pytest.mark.parametrize(
    ("probs", "classes", "k", "wanted"),
    [
        # The class of token 0 is drawn with 0.5 / 0.8, and has too few tokens: of it and of the second class the tokens
        # 0 and 1 are kept. The second class is drawn with 0.3 / 0.8, and keeps both of its tokens.
        (PROBS, CLASSES, 2, [5 / 8 * 5 / 7, 5 / 8 * 2 / 7 + 3 / 8 * 2 / 3, 3 / 8 * 1 / 3, 0, 0, 0]),
        # What the code calls greedy: the class is drawn, and its most probable token is taken.
        (PROBS, CLASSES, 1, [5 / 8, 3 / 8, 0, 0, 0, 0]),
        # Two classes of three tokens in all are too few for k = 4: the third is drawn too, with its weight of 1e-6.
        (PROBS, CLASSES, 4, [5 / 9, 2 / 9, 1 / 9, 1 / 9, 0, 0]),
        # Only the first class is kept, and the other fills it up all the same.
        (torch.tensor([0.85, 0.1, 0.05]), torch.tensor([0, 1, 1]), 2, [0.85 / 0.95, 0.1 / 0.95, 0]),
        # The most probable class is kept although it alone exceeds 0.9.
        (torch.tensor([0.5, 0.45, 0.05]), torch.tensor([0, 0, 1]), 1, [1, 0, 0]),
        # Fewer tokens than k: the whole distribution.
        (PROBS, CLASSES, 9, PROBS.tolist()),
    ],
)
def test_worked_out_by_hand(probs: Tensor, classes: Tensor, k: int, wanted: list[float]) -> None:
    torch.testing.assert_close(shares(probs, classes, k), torch.tensor(wanted).float(), rtol=0, atol=5e-5)


@pytest.mark.parametrize("method", ["f2softmax", "mle"])
def test_texts_of_a_model(method: str) -> None:
    """F2-Softmax has classes of its own; any other model has those of Algorithm 1."""
    objective = made("gpt2", torch.float32)
    if method == "mle":
        objective = MLE(tiny.backbone("gpt2")).eval()  # type: ignore[assignment]
        objective.setup_run(RunContext(token_counts=counts))
    given, seeds = tiny.texts(4), [3, 4, 5, 6]

    def written(rows: list[int], decoding: str) -> list[list[int]]:
        batch = tiny.collate(objective.backbone, [given[row] for row in rows])
        return generate(objective, batch, parse(decoding)[0], 8, [seeds[row] for row in rows])

    together = written([0, 1, 2, 3], "f2_released:topk=3")
    assert together == [written([row], "f2_released:topk=3")[0] for row in range(4)]
    assert together != written([0, 1, 2, 3], "decoupled:topk=3")
    assert together != written([0, 1, 2, 3], "posterior:topk=3")
