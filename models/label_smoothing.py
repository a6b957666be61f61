"""Label smoothing: a share eps of the target's probability is spread over the vocabulary.

Shapes: n positions of a slice, V vocabulary.
"""

from typing import Annotated, Literal

from torch import Tensor

from bench.base.options import Range
from bench.models.backbones.backbone import Backbone
from bench.models.core.head import Head
from bench.models.core.objective import Objective
from bench.models.core.states import TokenSlice
from bench.models.functional.head_losses import label_smoothing


class LabelSmoothing(Objective):
    """(1 - eps) * -log p(target) + eps * the cross-entropy of a fixed distribution u.

    Source: Szegedy et al. 2016, section 7, as PyTorch's `cross_entropy` documents it (secondary; the paper itself was
    not read). The loss is the same number as PyTorch's with `label_smoothing=eps`.

    Variants, by `distribution`:

    - `uniform`, the default: u is uniform over all V tokens, the target too; so in PyTorch and in old fairseq.
    - `others`: eps is spread over the V - 1 other tokens. It is `uniform` with eps V / (V - 1).
    - `unigram`: u is how often each token is a training target.

    It is meant to make a model less confident; a temperature chosen on validation text does that without training, and
    so is the control, `mle.calibrated`.

    Args:
        eps: share that is spread; 0 is maximum likelihood.
        distribution: u.
    """

    name = "label_smoothing"
    equations = (
        r"\ell_t = -\sum_w q(w) \log p(w)",
        r"q(w) = (1 - \varepsilon)\, [w = x_t] + \varepsilon\, u(w)",
    )
    version = 2

    counts: Tensor  # [V] of each token as a target, of `distribution=unigram` alone

    def __init__(
        self,
        backbone: Backbone,
        *,
        eps: Annotated[float, Range(0, below=1)] = 0.1,
        distribution: Literal["uniform", "others", "unigram"] = "uniform",
    ) -> None:
        super().__init__(backbone)
        self.eps, self.distribution = eps, distribution
        self.uses_token_counts = distribution == "unigram"

    def prepare(self, counts: Tensor) -> None:
        """Take over how often each token is a target, [V]."""
        self.register_buffer("counts", counts)

    def head_loss(self, tokens: TokenSlice, head: Head) -> tuple[Tensor, dict[str, Tensor]]:
        """Cross-entropy with the smoothed target, [n], and its two parts."""
        eps, weights = self.eps, None
        if self.distribution == "unigram":
            counts = self.counts.double()  # whole numbers would be divided in float32
            weights = counts / counts.sum()
        if self.distribution == "others":
            vocabulary = self.backbone.vocabulary_size
            eps = eps * vocabulary / (vocabulary - 1)
        nll, smoothing = label_smoothing(head, tokens.targets, eps, weights)
        return nll + smoothing, {"mle": nll, "smoothing": smoothing}
