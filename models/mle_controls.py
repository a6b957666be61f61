"""mle.calibrated, mle.tempered and mle.contrastive: a model of maximum likelihood, evaluated or decoded in another way.

Each is the control of a training that could win by the same change: nothing is trained here.

Shapes: n positions of a slice, V vocabulary.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import torch
from torch import Tensor

from bench.base.options import Range
from bench.models.core.continuations import MOST_TARGETS, rows_from_everywhere
from bench.models.core.objective import Objective
from bench.models.core.states import TokenSlice

if TYPE_CHECKING:
    from bench.models.backbones.backbone import Backbone, Batch


TEMPERATURES = (0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 1.0, 1.05, 1.1, 1.15, 1.2, 1.3, 1.4, 1.6, 2.0)
"""T that is tried."""


class MLECalibrated(Objective):
    """softmax(z / T) of a trained model: control of what is trained to be less certain.

    Source: Guo et al. 2017, temperature scaling, as it is known (secondary); there T is the minimum itself, here the
    best of a grid. T = 1, the model alone, is on the grid. Likelihoods and texts are all of softmax(z / T); what is
    greedy stays as it was.
    """

    name = "mle.calibrated"
    equations = (r"P = \mathrm{softmax}(z / T)",)
    version = 1
    parent = "mle"
    training_free = True

    chosen: Tensor  # [1] T; 1 until `after_training` has chosen

    def __init__(self, backbone: Backbone) -> None:
        super().__init__(backbone)
        self.register_buffer("chosen", torch.ones(1))

    def logits(self, tokens: TokenSlice) -> Tensor:
        """Scores of the next token, [n, V], not normalised."""
        scores = super().logits(tokens)
        return scores / self.chosen.to(scores)

    def after_training(self, train: Sequence[Batch], valid: Sequence[Batch]) -> dict[str, float]:
        """Choose T by the likelihood of validation text; ties go to the one nearest to 1.

        Where there are more than `MOST_TARGETS` targets, batches from everywhere in it are read.

        Returns:
            T, `at_edge` (whether it is the first or last that was tried, so that the best may lie beyond), the targets
            that were read, and their nats at T and at 1.
        """
        sums = torch.zeros(len(TEMPERATURES), dtype=torch.float64, device=self.chosen.device)
        n_targets = 0
        for tokens in rows_from_everywhere(self, valid, MOST_TARGETS):
            logits = super().logits(tokens)
            at_target = logits.gather(1, tokens.targets[:, None]).squeeze(1)  # [n]
            for number, temperature in enumerate(TEMPERATURES):
                nll = (logits / temperature).logsumexp(1) - at_target / temperature
                sums[number] += nll.double().sum()
            n_targets += len(tokens)
        nats = dict(zip(TEMPERATURES, sums.tolist(), strict=True))
        best = min(TEMPERATURES, key=lambda temperature: (nats[temperature], abs(math.log(temperature))))
        self.chosen.fill_(best)
        found = {"temperature": best, "at_edge": best in (TEMPERATURES[0], TEMPERATURES[-1]), "targets": n_targets}
        if n_targets:
            found |= {"nll_alone": nats[1.0] / n_targets, "nll": nats[best] / n_targets}
        return found


class MLETempered(Objective):
    """softmax(beta z) of a trained model: control of GEM.

    GEM with h linear has the gradient of maximum likelihood under logits z / beta, and is evaluated at z. With y = z /
    beta a model of logits y is trained by maximum likelihood and evaluated at beta y, which is this model. Likelihoods
    and texts are all of softmax(beta z); what is greedy stays as it was.

    Args:
        beta: of GEM.
    """

    name = "mle.tempered"
    equations = (r"P = \mathrm{softmax}(\beta z)",)
    version = 1
    parent = "mle"
    training_free = True

    def __init__(self, backbone: Backbone, *, beta: Annotated[float, Range(0.05, 1)] = 0.7) -> None:
        super().__init__(backbone)
        self.beta = beta

    def logits(self, tokens: TokenSlice) -> Tensor:
        """Scores of the next token, [n, V], not normalised."""
        return self.beta * super().logits(tokens)


class MLEContrastive(Objective):
    """The weights of `mle`, decoded by contrastive search with k = 5 and alpha = 0.6; nothing is chosen.

    Su et al. 2022 decode SimCTG so; a training must be better than it. Whatever a run decodes with, this does so.
    """

    name = "mle.contrastive"
    version = 1
    parent = "mle"
    training_free = True
    own_decoding = "contrastive_search=5+alpha=0.6"
