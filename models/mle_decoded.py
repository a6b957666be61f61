"""mle.penalty, mle.min_p, mle.typical: what a decoder alone does for a model that maximum likelihood has trained.

An objective that repeats less, or writes more diverse texts, has to be better than a decoder that costs no training.
Each decoder has one number, which is chosen on validation text: the one under which the share of different bigrams in
what the model writes is nearest to that of the true texts, cut to the same lengths.

Shapes: n positions, V vocabulary, W tokens written before.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import Tensor

from bench.decodings.samplers import MinP, Typical
from bench.models.core.continuations import Written, write
from bench.models.core.entry import Compatibility
from bench.models.core.objective import Objective
from bench.models.core.states import IGNORED, TokenSlice

if TYPE_CHECKING:
    from bench.decodings.core.decoding import Decoding
    from bench.models.backbones.backbone import Backbone, Batch


MOST_TEXTS = 200
"""Texts that each number is tried on."""


class Decoded(Objective):
    """A trained model behind a decoder of one number, chosen on validation text."""

    parent = "mle"
    training_free = True
    choices: ClassVar[tuple[float, ...]]
    """The numbers that are tried, the one that changes least first."""
    under: str
    """Decoding under which the number is chosen, as typed after --decode."""

    chosen: Tensor  # [1]

    def __init__(self, backbone: Backbone) -> None:
        super().__init__(backbone)
        self.register_buffer("chosen", torch.tensor([self.choices[0]]))

    @abstractmethod
    def decoded(self, log_probs: Tensor, tokens: TokenSlice, chosen: float) -> Tensor:
        """Return the scores that are decoded, [n, V], from log-probabilities; -inf for a token that is ruled out."""

    def decode_log_probs(self, tokens: TokenSlice, decoding: Decoding) -> Tensor:
        """Log-probabilities behind the decoder, [n, V]."""
        return self.decoded(super().decode_log_probs(tokens, decoding), tokens, float(self.chosen)).log_softmax(1)

    def after_training(self, train: Sequence[Batch], valid: Sequence[Batch]) -> dict[str, float]:
        """Choose the number; ties go to the first one.

        Returns:
            The number, `at_edge` (whether it is the last that was tried, so that the best may lie beyond), how many
            texts it was tried on, and both shares of different bigrams.
        """
        n_batches = n_texts = 0
        while n_batches < len(valid) and n_texts < MOST_TEXTS:
            n_texts += len(valid[n_batches]["labels"])
            n_batches += 1
        shares = {choice: self._shares(valid, n_batches, choice) for choice in self.choices}
        best = min(self.choices, key=lambda choice: abs(shares[choice][0] - shares[choice][1]))
        self.chosen.fill_(best)
        return {
            "chosen": best,
            "at_edge": best == self.choices[-1],
            "texts": n_texts,
            "distinct_2": shares[best][0],
            "distinct_2_of_truth": shares[best][1],
        }

    def _shares(self, valid: Sequence[Batch], n_batches: int, choice: float) -> tuple[float, float]:
        """Return the share of different bigrams in what is written under a number, and in the truth of that length.

        Batches are made only when they are read, and so again for each number.
        """
        self.chosen.fill_(choice)
        written, true = [], []
        for number in range(n_batches):
            batch = valid[number]
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


class MLEPenalty(Decoded):
    """Tokens that were written before count as less likely; `chosen` is the penalty.

    Source: Keskar et al. 2019, section 4.1. Control of unlikelihood and of all that claims to repeat less.

    Args:
        under: the decoding under which the penalty is chosen; give that of the run where it is another one.
    """

    name = "mle.penalty"
    equations = (
        r"\mathrm{score}(w) = \theta \log p(w) \text{ for a token that was written before}",
        r"\mathrm{score}(w) = \log p(w) \text{ for any other}",
    )
    version = 1
    choices = (1.0, 1.05, 1.1, 1.2, 1.35, 1.5)

    def __init__(self, backbone: Backbone, *, under: str = "greedy") -> None:
        super().__init__(backbone)
        self.under = under

    def remarks(self) -> list[str]:
        """Say so where the numbers are those of the model alone."""
        return ["validation text chose 1, no penalty: the numbers are those of mle"] if float(self.chosen) == 1 else []

    def decoded(self, log_probs: Tensor, tokens: TokenSlice, chosen: float) -> Tensor:
        """Log-probabilities times the penalty where a token was written before, [n, V]."""
        was_written = torch.zeros_like(log_probs)
        was_written.scatter_add_(1, tokens.written.clamp_min(0), (tokens.written >= 0).to(log_probs))
        return torch.where(was_written > 0, log_probs * chosen, log_probs)


class Sampled(Decoded):
    """Draws from what a sampler of `bench.decodings` keeps, whatever a run decodes with; `chosen` is its number."""

    own_decoding = "sample"
    under: str = "sample"
    sampler: ClassVar[type[Any]]

    @classmethod
    def why_not(cls, fit: Compatibility) -> str | None:
        """Return why it does not fit a task, or None: a text with a source is not drawn."""
        if not fit.open_ended:
            return "samples its texts, and rows with a source are decoded without chance"
        return super().why_not(fit)

    def decoded(self, log_probs: Tensor, tokens: TokenSlice, chosen: float) -> Tensor:
        """Log-probabilities, -inf where the sampler would not draw, [n, V]."""
        sampler = self.sampler(**{self.sampler.main_option: chosen})
        return log_probs.masked_fill(~sampler.kept(log_probs), -math.inf)


class MLEMinP(Sampled):
    """Min-p sampling, Nguyen et al. 2024."""

    name = "mle.min_p"
    version = 1
    choices = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3)
    sampler = MinP


class MLETypical(Sampled):
    """Locally typical sampling, Meister et al. 2023."""

    name = "mle.typical"
    version = 1
    choices = (0.99, 0.95, 0.9, 0.7, 0.5, 0.2)
    sampler = Typical
