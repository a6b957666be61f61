"""Interpolated: a trained model mixed with what it reads from remembered states. Nothing is trained.

    P(w) = (1 - lam) p(w) + lam q(w),    q(w) ~ sum over the entries i that hold w of exp(sharpness * score_i)

What a trained cache must beat: the same model with a memory that nothing was trained for. The two numbers, lam and
sharpness, are the best of a grid on validation text; lam = 0, the model alone, is on the grid.

Shapes: n positions of a slice, V vocabulary, M entries.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import torch
from torch import Tensor

from bench.models.core.continuations import MOST_TARGETS, rows_from_everywhere
from bench.models.core.objective import Objective
from bench.models.core.states import TokenSlice
from bench.models.functional.interpolation import interpolated, shares_of, spread

if TYPE_CHECKING:
    from bench.models.backbones.backbone import Backbone, Batch

Entries = tuple[Tensor, Tensor, Tensor]
"""Scores, tokens and whether they may be read, [n, M] each."""

WEIGHTS = (0.0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
"""lam that is tried."""


class Interpolated(Objective):
    """A model of another cell, mixed with what `entries` remembers."""

    parent: ClassVar[str] = "mle"
    training_free: ClassVar[bool] = True
    sharpnesses: ClassVar[tuple[float, ...]]

    chosen: Tensor  # [2]: lam and sharpness; lam is 0 until `after_training` has chosen

    def __init__(self, backbone: Backbone) -> None:
        super().__init__(backbone)
        self.register_buffer("chosen", torch.tensor([0.0, 1.0]))

    @abstractmethod
    def entries(self, tokens: TokenSlice) -> Entries:
        """Return what each position may read."""

    def log_probs(self, tokens: TokenSlice) -> Tensor:
        """Logarithm of P, [n, V]."""
        return self._mixed(tokens)[2]

    def components(self, tokens: TokenSlice) -> dict[str, Tensor]:
        """Logarithms of (1 - lam) p, lam q and their sum, [n, V] each; with lam = 0 nothing is remembered."""
        of_model, of_entries, mixed = self._mixed(tokens)
        weights = (of_entries.sum(1, keepdim=True) > 0) * self.chosen[0].to(of_model)
        return {"head": (1 - weights).log() + of_model, "cache": weights.log() + of_entries.log(), "full": mixed}

    def _mixed(self, tokens: TokenSlice) -> tuple[Tensor, Tensor, Tensor]:
        """Return log p, q and log P, [n, V] each; q is 0 where nothing may be read."""
        of_model = super().log_probs(tokens)
        scores, ids, readable = self.entries(tokens)
        weight, sharpness = self.chosen.to(of_model)
        shares = shares_of(scores.to(of_model), readable, sharpness)
        of_entries = spread(shares, ids, of_model.shape[1])
        return of_model, of_entries, interpolated(of_model, of_entries, weight, readable.any(1))

    def after_training(self, train: Sequence[Batch], valid: Sequence[Batch]) -> dict[str, float]:
        """Choose lam and sharpness by the likelihood of validation text; ties go to the smaller ones.

        Where there is more than `MOST_TARGETS`, batches from everywhere in it are read.

        Returns:
            Both numbers, `at_edge` (whether one of them is the last that was tried, so that the best may lie beyond),
            the targets that were read, and their nats with and without what is remembered.
        """
        sums = torch.zeros(len(self.sharpnesses), len(WEIGHTS), dtype=torch.float64, device=self.chosen.device)
        n_targets = 0
        for tokens in rows_from_everywhere(self, valid, MOST_TARGETS):
            sums += self._log_likelihoods(tokens)
            n_targets += len(tokens)
        sums = sums.cpu()
        best = int(sums.argmax())
        weight, sharpness = WEIGHTS[best % len(WEIGHTS)], self.sharpnesses[best // len(WEIGHTS)]
        self.chosen.copy_(torch.tensor([weight, sharpness]))
        is_last = weight == WEIGHTS[-1] or sharpness in (self.sharpnesses[0], self.sharpnesses[-1])
        found: dict[str, float] = {"weight": weight, "sharpness": sharpness, "at_edge": weight > 0 and is_last}
        if n_targets:
            alone = sums[0, WEIGHTS.index(0.0)]
            found |= {"nll_alone": -float(alone) / n_targets, "nll": -float(sums.flatten()[best]) / n_targets}
        return {**found, "targets": n_targets}

    def _log_likelihoods(self, tokens: TokenSlice) -> Tensor:
        """Return the log-likelihood of a slice's targets for every setting of the grid, summed, float64."""
        of_model = super().log_probs(tokens).gather(1, tokens.targets[:, None]).squeeze(1)  # [n]
        scores, ids, readable = self.entries(tokens)
        has_entries, holds_target = readable.any(1), ids == tokens.targets[:, None]
        sums = []
        for sharpness in self.sharpnesses:
            shares = shares_of(scores.to(of_model), readable, sharpness)
            of_entries = (shares * holds_target).sum(1)
            for weight in WEIGHTS:
                sums.append(interpolated(of_model, of_entries, weight, has_entries).double().sum())
        return torch.stack(sums).view(len(self.sharpnesses), len(WEIGHTS))
