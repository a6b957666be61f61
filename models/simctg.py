"""SimCTG: cross-entropy, and states of a text that are pushed apart.

Its hinge over pairs of states is `pair_hinges` of `bench.models.functional.token_losses`.

Shapes: B batch rows, T positions of a row, D width of a state.
"""

from typing import Annotated, Literal

from torch import Tensor

from bench.base.options import Range
from bench.models.backbones.backbone import Backbone
from bench.models.core.head import Head
from bench.models.core.objective import Objective
from bench.models.core.states import IGNORED, States, TokenSlice
from bench.models.functional.head_losses import nll_of
from bench.models.functional.token_losses import pair_hinges


class SimCTG(Objective):
    """-log p of the target, and a hinge on the cosines of each text's states, so that they spread over directions.

    Source: Su et al. 2022, "A Contrastive Framework for Neural Text Generation", read in the released loss
    (`simctg/lossfunction.py`), not in the paper; its number for the margin, 0.5, is from memory. Here the states of
    a text are those that predict a target, on both architectures; the released code takes every token that is no
    padding, those of a prompt too. A text of one target has no pair and costs nothing.

    Variants:

    - `paper`: the mean over the pairs of each row. A row counts as much as it has targets, so the loss of a row does
      not depend on its batch.
    - `released`: the mean over the pairs of the whole micro-batch, still of states of one row. Long rows count more.

    Control: the paper decodes with contrastive search. `mle.contrastive` does so with the weights of `mle`. Give the
    run `--decode contrastive_search=5` to see this method under the same search: the difference that remains is due
    to the training.

    Args:
        margin: rho, 0 to 2; with 0 there is no hinge. States with a cosine below 1 - margin are left alone.
        variant: over which pairs the mean is taken.
    """

    name = "simctg"
    equations = (
        r"L = L_{\text{MLE}} + L_{\text{CL}}",
        r"L_{\text{CL}} = \frac{1}{n (n - 1)} \sum_{i \ne j} \max(0, \rho - 1 + \cos(h_i, h_j))",
    )
    version = 1

    def __init__(
        self,
        backbone: Backbone,
        *,
        margin: Annotated[float, Range(0, 2)] = 0.5,
        variant: Literal["paper", "released"] = "paper",
    ) -> None:
        super().__init__(backbone)
        self.margin, self.variant = margin, variant
        self.batch_invariant = variant == "paper"

    def head_loss(self, tokens: TokenSlice, head: Head) -> tuple[Tensor, dict[str, Tensor]]:
        """-log p of the target, [n]."""
        nll = nll_of(head, tokens.targets)
        return nll, {"mle": nll}

    def batch_terms(self, states: States) -> dict[str, Tensor]:
        """The hinge, as a mean over pairs times target tokens."""
        is_target = states.targets != IGNORED  # [B, T]
        hinge, pairs = pair_hinges(states.hidden, is_target, self.margin)
        n_targets = is_target.sum(1)  # [B]
        if self.variant == "released":
            hinge, pairs, n_targets = hinge.sum(), pairs.sum(), n_targets.sum()
        return {"contrastive": (hinge / pairs.clamp_min(1) * n_targets).sum()}
