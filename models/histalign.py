"""HistAlign: a cache language model whose states are taught to point at the right memories."""

from __future__ import annotations

from typing import ClassVar, Literal

import torch
from torch import Tensor

from bench.errors import UsageError
from bench.models.backbones.backbone import Backbone
from bench.models.core.chunks import LossSum
from bench.models.core.head import Head
from bench.models.core.objective import Objective
from bench.models.core.states import Rows, States, blocks, rows_of
from bench.models.functional.cache import cache_log_probs, cache_nll_of
from bench.models.functional.ranking import cosine_ranks, ranked_hinge, released_ranking

DEFAULTS = {
    "paper": {"base": "mle", "reduction": "pair_mean", "rank_scope": "cache"},
    "released": {"base": "trime", "reduction": "authors", "rank_scope": "sequence"},
}


class HistAlign(Objective):
    """l_histalign = l_base + alpha * l_cont: memories are ranked by how similar their token is to the target.

    Source: Wan et al. 2023, eq. 3 (distribution), eq. 5 (l_cont) and eq. 6 (sum). At test time eq. 3 is used.

    Where paper and released code differ, `variant` chooses and the three options below may override it:

    ========== ====================================== ===================================================
    option     `paper`                                `released`
    ========== ====================================== ===================================================
    base       `mle`: l_xe of eq. 6                   `trime`: with the released comparison of labels
    reduction  `pair_mean`, see below                 `authors`: mean over the pairs of each rank offset,
                                                      then mean (decoder-only) or sum (encoder-decoder)
    rank_scope `cache`: ranks over readable entries   `sequence`: ranks also count unreadable positions
    ========== ====================================== ===================================================

    `reduction="sum"` is eq. 5 to the letter; it was measured at 20 to 500,000 times the cross-entropy, so that no alpha
    or margin of the paper can have been meant for it. `pair_mean` takes the mean over a position's pairs instead.

    Args:
        backbone: any.
        alpha: weight of the ranking term; 1.0, and 0.5 on LogicNLG (paper, A and A.4).
        margin: lambda of eq. 5, the margin per rank; 0.001 (paper, A).

    Raises:
        UsageError: for a negative alpha or margin.
    """

    name: ClassVar[str] = "histalign"
    paper: ClassVar[str] = "Wan et al. 2023"

    def __init__(
        self,
        backbone: Backbone,
        *,
        variant: Literal["paper", "released"] = "paper",
        base: Literal["mle", "trime"] | None = None,
        reduction: Literal["sum", "pair_mean", "authors"] | None = None,
        rank_scope: Literal["cache", "sequence"] | None = None,
        alpha: float = 1.0,
        margin: float = 0.001,
    ) -> None:
        super().__init__(backbone)
        for name, value in (("alpha", alpha), ("margin", margin)):
            if value < 0:
                raise UsageError(f"{name} of HistAlign is at least 0, not {value}: it would reward wrong memories")
        defaults = DEFAULTS[variant]
        self.variant, self.alpha, self.margin = variant, alpha, margin
        self.base = base or defaults["base"]
        self.reduction = reduction or defaults["reduction"]
        self.rank_scope = rank_scope or defaults["rank_scope"]
        self.batch_invariant = self.reduction != "authors" and self.rank_scope == "cache"  # a sequence has its padding

    def log_probs(self, rows: Rows) -> Tensor:
        """Eq. 3, [n, V]."""
        return cache_log_probs(self.logits(rows), rows.similarity(), rows.memory_tokens, rows.readable)

    def head_loss(self, rows: Rows, head: Head) -> tuple[Tensor, dict[str, Tensor]]:
        """Eq. 6 at each position, with the ranking term summed or averaged over its own pairs."""
        nll = self._base_nll(rows, head)
        if self.reduction == "authors":
            return nll, {self.base: nll.sum()}
        paired = rows.positive.any(1).nonzero().squeeze(1)  # a position without a positive has no pair
        reduction: Literal["sum", "pair_mean"] = "sum" if self.reduction == "sum" else "pair_mean"
        some = rows.take(paired)
        hinge = ranked_hinge(some.similarity(), self._ranks(some), some.positive, some.readable, self.margin, reduction)
        ranking = nll.new_zeros(len(rows), dtype=hinge.dtype).index_add(0, paired, hinge)
        return nll + self.alpha * ranking, {self.base: nll.sum(), "ranking": ranking.sum()}

    def loss(self, states: States) -> LossSum:
        """Eq. 6 summed over target tokens; the authors' reduction needs all pairs of the micro-batch at once."""
        found = super().loss(states)
        if self.reduction != "authors":
            return found
        ranking = self._authors(states) * found.n_target_tokens
        terms = {**found.terms, "ranking": ranking.detach()}
        return LossSum(found.total + self.alpha * ranking, found.n_target_tokens, terms)

    def _base_nll(self, rows: Rows, head: Head) -> Tensor:
        at_target = head.at(rows.targets)
        if self.base == "mle":
            return head.lse - at_target
        comparable = rows.labelled if self.variant == "released" else None
        return cache_nll_of(
            head.lse, at_target, rows.targets, rows.similarity(), rows.memory_tokens, rows.readable, comparable
        )

    def _ranks(self, rows: Rows) -> Tensor:
        ranked = torch.ones_like(rows.readable) if self.rank_scope == "sequence" else rows.readable
        return cosine_ranks(rows.targets, rows.memory_tokens, ranked, self.backbone.embedding())

    def _authors(self, states: States) -> Tensor:
        """The released reduction over a whole micro-batch, a scalar; a finite 0 where no pair exists."""
        every = list(blocks(states.targets, limit=states.targets.numel()))
        if not every:
            return states.hidden.sum() * 0.0
        rows = rows_of(states, every[0])
        some = rows.take(rows.positive.any(1).nonzero().squeeze(1))
        over: Literal["mean", "sum"] = "mean" if self.backbone.architecture == "decoder-only" else "sum"
        return released_ranking(some.similarity(), self._ranks(some), some.positive, some.readable, self.margin, over)
