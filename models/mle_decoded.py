"""mle.penalty, mle.min_p, mle.typical: what a decoder alone does for a model that maximum likelihood has trained.

An objective that repeats less, or writes more diverse texts, must do so beside a decoder that costs nothing to train.
The one number of the decoder is chosen on validation text: the one under which the share of different bigrams in what
the model writes is nearest to that of the true texts, cut to the same lengths.

Shapes: n positions, V vocabulary.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar

import torch
from torch import Tensor

from bench.models.core.continuations import Written, write
from bench.models.core.objective import Objective
from bench.models.core.states import IGNORED, Rows

if TYPE_CHECKING:
    from bench.decodings.core.decoding import Decoding
    from bench.models.backbones.backbone import Backbone, Batch

MOST_TEXTS = 200
"""Texts that each number is tried on."""


class Decoded(Objective):
    """A model of another cell behind a decoder of one number, chosen on validation text."""

    parent: ClassVar[str] = "mle"
    training_free: ClassVar[bool] = True
    choices: ClassVar[tuple[float, ...]]
    """The numbers that are tried, the one that changes least first."""
    under: str
    """Decoding under which the number is chosen, as typed after --decode."""

    chosen: Tensor  # [1]

    def __init__(self, backbone: Backbone) -> None:
        super().__init__(backbone)
        self.register_buffer("chosen", torch.tensor([self.choices[0]]))

    @abstractmethod
    def decoded(self, log_probs: Tensor, rows: Rows, chosen: Tensor) -> Tensor:
        """Return the scores that are decoded, [n, V], from log-probabilities; -inf for a token that is ruled out."""

    def decode_log_probs(self, rows: Rows, decoding: Decoding) -> Tensor:
        """Log-probabilities behind the decoder, [n, V]."""
        return self.decoded(super().decode_log_probs(rows, decoding), rows, self.chosen).log_softmax(1)

    def after_training(self, train: Iterable[Batch], valid: Iterable[Batch]) -> dict[str, float]:
        """Choose the number; ties go to the first one."""
        batches, n_texts = [], 0
        for batch in valid:
            batches.append(batch)
            n_texts += len(batch["labels"])
            if n_texts >= MOST_TEXTS:
                break
        shares = {choice: self._shares(batches, choice) for choice in self.choices}
        best = min(self.choices, key=lambda choice: abs(shares[choice][0] - shares[choice][1]))
        self.chosen.fill_(best)
        return {"chosen": best, "texts": n_texts, "distinct_2": shares[best][0], "distinct_2_of_truth": shares[best][1]}

    def _shares(self, batches: Sequence[Batch], choice: float) -> tuple[float, float]:
        """Return the share of different bigrams in what is written under a number, and in the truth of that length."""
        self.chosen.fill_(choice)
        written, true = [], []
        for batch in batches:
            for text in write(self, batch, decoding=self.under):
                written.append(text.tokens)
                true.append(true_continuation(batch, text))
        return distinct_2(written), distinct_2(true)


def true_continuation(batch: Batch, text: Written) -> list[int]:
    """Return the true tokens behind a text's prompt, as many as were written where there are so many."""
    truth = [token for token in batch["labels"][text.row].tolist() if token != IGNORED]
    start = 0
    if text.prompt:  # of running text: a part of what is true
        start = len(text.prompt) + len(truth) - int(batch["attention_mask"][text.row].sum())
    return truth[start : start + len(text.tokens)]


def distinct_2(texts: Sequence[Sequence[int]]) -> float:
    """Return the share of different ones among all bigrams of some texts; 0 where there is none.

    >>> distinct_2([[1, 2, 1, 2], [3]])
    0.6666666666666666
    """
    bigrams = [pair for text in texts for pair in pairwise(text)]
    if not bigrams:
        return 0.0
    return len(set(bigrams)) / len(bigrams)
