"""EMO: a wrong token costs less the nearer its embedding is to that of the target.

Shapes: n positions of a slice, V vocabulary, D width of a state.
"""

from collections.abc import Iterable
from typing import Literal

import torch
from torch import Tensor
from torch.nn.functional import normalize

from bench.base.seeds import seed_of
from bench.models.backbones.backbone import Backbone, Batch
from bench.models.core.head import Head
from bench.models.core.objective import Objective
from bench.models.core.sliced_loss import Losses
from bench.models.core.states import TokenSlice
from bench.models.functional.token_losses import distances_from, earth_mover

LEAST = 1e-30
"""What a loss is divided by where there is no distance: the quotient is finite in float32."""

RELEASED_EPSILON = 1e-10
"""What the released code adds to the distance in the ratio."""


class EMO(Objective):
    """Half negative log-likelihood, half an upper bound of the earth mover's distance between embeddings.

    Source: Ren et al. 2024 (arXiv 2310.04691), read in the released code (emo_patch.py, gpt2.py); where in the paper
    the equations stand is not known here. The value of the loss is the negative log-likelihood, so a curve of it shows
    nothing: only the gradient differs. With orthogonal embeddings d = 1 - p_y.

    The embedding is a frozen copy of the softmax weight of the model that training starts from. On a random model the
    distances would be noise, so the method starts from `mle` there, and on a pretrained backbone from its weights.
    Where the head is no matrix product, the input embedding is copied. `directions` has it with each row at length 1.

    Variants: `paper` divides by d; `released` by d + 1e-10, so that the second half has no weight where the model is
    certain. The 1e-15 by which the released code smooths the one-hot target is below float32 and left out.

    Controls: `mle.continued`, the same steps of maximum likelihood after `mle`, and `emo.shuffled`, where each token
    has the embedding of another one: a gain that remains there is not due to the meaning of tokens.

    Args:
        variant: how the ratio is computed.
        embedding: `own`, or `shuffled` over tokens, drawn by the seed of the run.
    """

    name = "emo"
    equations = (
        r"\ell_t = \frac{1}{2} \left(-\log p(x_t) + r\, d\right)",
        r"d = \sum_i p(i) \left(1 - \cos(e_i, e_{x_t})\right)",
        r"r = \mathrm{sg}\left(\frac{-\log p(x_t)}{d}\right)",
    )
    version = 1
    parent = "mle"
    starts_pretrained = True

    directions: Tensor  # [V, D] embedding of each token at length 1; stored in checkpoints, never trained

    def __init__(
        self,
        backbone: Backbone,
        *,
        variant: Literal["paper", "released"] = "paper",
        embedding: Literal["own", "shuffled"] = "own",
    ) -> None:
        super().__init__(backbone)
        self.variant, self.embedding = variant, embedding
        self.register_buffer("directions", self._directions())

    def warm_start(self, batches: Iterable[Batch]) -> None:
        """Copy the embedding of the model that training starts from."""
        self.directions.copy_(self._directions())

    def head_loss(self, tokens: TokenSlice, head: Head) -> Losses:
        """Mean of negative log-likelihood and scaled distance, [n]."""
        at_target = head.at(tokens.targets)
        distance = head.expected_of(distances_from(tokens.targets, self.directions.to(at_target.dtype)))
        nll = head.nll(at_target)  # the ratio below is of two numbers that may both be near 0
        divisor = distance.clamp_min(LEAST)
        if self.variant == "released":
            divisor = distance + RELEASED_EPSILON
        return earth_mover(nll, distance, divisor), {}

    def _directions(self) -> Tensor:
        """The embedding of the backbone as it is now, each token's at length 1, [V, D]."""
        head = self.backbone.linear_head()
        weight = self.backbone.embedding() if head is None else head.weight
        weight = weight.detach()
        if weight.element_size() < 4:  # in bf16 the lengths would not be 1
            weight = weight.float()
        directions = normalize(weight, dim=1)
        if self.embedding == "shuffled":
            generator = torch.Generator().manual_seed(seed_of(self.run_seed, "shuffled embedding"))
            order = torch.randperm(len(directions), generator=generator)
            directions = directions[order.to(directions.device)]
        return directions
