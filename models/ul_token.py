"""UL-token: tokens that have already occurred are made less likely.

The functions are in `bench.models.functional.unlikelihood`.

Shapes: n positions of a slice, U distinct tokens of a row, B batch rows, T positions of a row.
"""

from dataclasses import replace
from typing import Literal

from torch import Tensor

from bench.base.options import Amount
from bench.errors import UsageError
from bench.models.backbones.backbone import Backbone
from bench.models.core.continuations import special_tokens
from bench.models.core.cpu_copy import CpuTokens
from bench.models.core.entry import Compatibility
from bench.models.core.head import Head
from bench.models.core.objective import Objective
from bench.models.core.sliced_loss import LossSum
from bench.models.core.states import States, TokenSlice
from bench.models.core.target_lookup import earlier_targets
from bench.models.functional.unlikelihood import unlikelihood, with_token

FLOOR = 1e-5
"""Smallest 1 - p of a candidate, as in the released code."""


class ULToken(Objective):
    """-log p(x_t) - alpha * sum over c in C_t of log(1 - p(c)), with C_t the earlier targets of the row but x_t.

    Source: Welleck et al. 2020, section 5.1, the token-level objective with previous-context candidates; alpha = 1. The
    source of a conditional task holds no candidates. A candidate counts once, however often it has occurred.

    Variants. In all, the value of a candidate's term is bounded where 1 - p falls below 1e-5.

    - `paper` keeps its gradient there.
    - `released` has no gradient there, and padding is a candidate at every position, where the model has a token for it
      that is no end token; `losses.loss_of("ul_token.released", ...)` knows none. The authors ran it on one row at a
      time; on several rows their code would take the tokens of earlier rows for candidates.
    - `f2_code` is F2-Softmax's baseline, which does so: its candidates are all targets of the micro-batch before a
      position, row after row; otherwise it is `released`.

    Both released codes divide by target tokens, as here.

    Args:
        backbone: any; `f2_code` needs one that does not copy.
        alpha: weight of the unlikelihood, at least 0.
        variant: which candidates.

    Raises:
        UsageError: for `f2_code` on a backbone that copies.
    """

    name = "ul_token"
    equations = (
        r"\ell_t = -\log p(x_t) - \alpha \sum_{c \in C_t} \log(1 - p(c))",
        r"C_t = \{x_1, \dots, x_{t-1}\} \setminus \{x_t\}",
    )

    def __init__(
        self,
        backbone: Backbone,
        *,
        alpha: Amount = 1.0,
        variant: Literal["paper", "released", "f2_code"] = "paper",
    ) -> None:
        super().__init__(backbone)
        if variant == "f2_code" and backbone.copies:
            raise UsageError(
                "variant=f2_code joins the rows of a batch, which a copying backbone cannot; use paper or released"
            )
        self.alpha, self.variant = alpha, variant
        self.batch_invariant = variant != "f2_code"

    @classmethod
    def why_not(cls, fit: Compatibility) -> str | None:
        """Return why the method does not fit a backbone and a task, or None."""
        if fit.copies and fit.options.get("variant") == "f2_code":
            return "joins the rows of a batch with variant=f2_code, which a copying backbone cannot"
        return super().why_not(fit)

    def head_loss(self, tokens: TokenSlice, head: Head) -> tuple[Tensor, dict[str, Tensor]]:
        """-log p of the target and the unlikelihood of its candidates, [n]."""
        return token_losses(self, tokens, head, self.alpha, released=self.variant != "paper")

    def loss(self, states: States) -> LossSum:
        """Sum over target tokens."""
        if self.variant == "f2_code":
            states = joined(states)
        return super().loss(states)


def token_losses(
    objective: Objective, tokens: TokenSlice, head: Head, alpha: float, *, released: bool = False
) -> tuple[Tensor, dict[str, Tensor]]:
    """The token-level objective of each position, [n], and the sums of its two parts.

    Args:
        objective: whose backbone has the padding token.
        tokens: a slice.
        head: its softmax head.
        alpha: weight of the unlikelihood.
        released: whether padding is a candidate everywhere, and no gradient comes from where 1 - p is below the floor.
    """
    ids, is_earlier = earlier_targets(tokens)  # [n, U]
    left_out = ~is_earlier | (ids == tokens.targets[:, None])
    if released:
        for token in special_tokens(objective.backbone, "pad"):
            ids, left_out = with_token(ids, left_out, tokens.targets, token)
    at_target, at_tokens = head.at(tokens.targets), head.at(ids)  # [n], [n, U]
    nll = head.lse - at_target
    penalty = unlikelihood(at_tokens, head.lse, FLOOR, left_out, clamped=released).sum(1)
    return nll + alpha * penalty, {"mle": nll, "unlikelihood": penalty}


def joined(states: States) -> States:
    """Return a batch as a single row of B * T positions, its rows one behind the other, without a memory."""
    targets, known = states.targets.flatten()[None], states.on_cpu()
    cpu = CpuTokens(
        targets,
        known.targets.reshape(1, -1),
        lambda: known.memory_tokens[:1, :0],
        lambda: known.readable[..., :0].reshape(1, -1, 0),
    )
    return replace(
        states,
        hidden=states.hidden.flatten(0, 1)[None],
        targets=targets,
        memory=states.memory[:1, :0],
        memory_tokens=states.memory_tokens[:1, :0],
        readable=states.readable[..., :0].flatten(0, 1)[None],
        labelled=states.labelled[:1, :0],
        history=None,
        cpu=cpu,
    )
