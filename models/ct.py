"""CT: the target is to score higher than each of the tokens that stand before it.

Shapes: n positions of a slice, M preceding tokens.
"""

from typing import Annotated, Literal

from torch import Tensor

from bench.base.options import Range
from bench.models.backbones.backbone import Backbone
from bench.models.core.head import Head
from bench.models.core.objective import Objective
from bench.models.core.states import TokenSlice
from bench.models.core.target_lookup import preceding_targets
from bench.models.functional.token_losses import contrastive_token


class CT(Objective):
    """-log p of the target + log(1 + sum of exp(z_c - z_target)) over the preceding tokens c that are not the target.

    Source: Jiang et al. 2022, "A Simple Contrastive Learning Objective for Alleviating Neural Text Degeneration", read
    in the released loss (`ct/functional/ct_loss.py`), not in the paper. The paper's numbers for GPT-2, a window of
    60 tokens on the first 150, are from memory. Only targets are preceding tokens, never a prompt or a source.

    Variants:

    - `paper`: S_t is a set; a token counts once, however often it stands in the window.
    - `released`: a token counts each time.

    The code takes the mean of the contrastive term over its own positions, those up to `length`, and adds it to the
    mean cross-entropy. Here it is that mean in each row, times the row's targets, so that both weigh the same and the
    loss of a row does not depend on its batch. Two things of the code are not here: its exponentials overflow, and with
    its default padding id the real token 0 is neither target nor preceding token.

    Controls: decoders that repeat less without training.

    Args:
        window: M, at least 1.
        length: how many of the first targets of a row have the contrastive term, at least 2.
        variant: what a repeated token counts.
    """

    name = "ct"
    equations = (
        r"\ell_t = -\log p(x_t) + \log\left(1 + \sum_{c \in S_t} e^{z_c - z_{x_t}}\right)",
        r"S_t = \{x_{t-M}, \dots, x_{t-1}\} \setminus \{x_t\}",
    )
    version = 1

    def __init__(
        self,
        backbone: Backbone,
        *,
        window: Annotated[int, Range(1)] = 60,
        length: Annotated[int, Range(2)] = 150,
        variant: Literal["paper", "released"] = "paper",
    ) -> None:
        super().__init__(backbone)
        self.window, self.length, self.variant = window, length, variant

    def head_loss(self, tokens: TokenSlice, head: Head) -> tuple[Tensor, dict[str, Tensor]]:
        """-log p of the target and the contrastive term, [n]."""
        found = preceding_targets(tokens, min(self.window, self.length - 1), distinct=self.variant == "paper")
        at_target, at_tokens = head.at(tokens.targets), head.at(found.tokens)  # [n], [n, M]
        nll = head.lse - at_target
        contrastive = contrastive_token(at_target, at_tokens, found.left_out)
        weight = found.n_targets.to(nll.dtype) / found.n_targets.clamp_max(self.length)
        contrastive = contrastive * weight * (found.number < self.length)
        return nll + contrastive, {"mle": nll, "contrastive": contrastive}
