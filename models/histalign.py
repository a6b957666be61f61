"""HistAlign: a cache language model whose states are taught to point at the right memories.

    eq. 3    P(w) is proportional to  exp(z_w) + sum over entries i of the memory that hold w of exp(sim(h, h_i))
    eq. 5    l_cont = sum over positives i, negatives j ranked after i of
                      relu(sim(h, h_j) - sim(h, h_i) + (rank_j - rank_i) * margin)
    eq. 6    loss   = l_base + alpha * l_cont

A positive is an entry that holds the target itself, a negative any other; entries are ranked by the cosine between
their token's embedding and the target's. Wan et al. 2023, sections 3.2 and 4. The functions are in
`bench.models.functional.cache` and `bench.models.functional.ranking`.

Shapes: n positions of a slice, V vocabulary, M memory entries.
"""

from __future__ import annotations

from typing import ClassVar, Literal

import torch
from torch import Tensor

from bench.base.options import Amount
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
"""Options of each variant, where they are not set."""


class HistAlign(Objective):
    """l_base + alpha * l_cont: memories whose token is more like the target are to be more similar to the state.

    Source: Wan et al. 2023, eq. 3 (distribution), eq. 5 (l_cont) and eq. 6 (sum). At test time eq. 3 is used.

    Where paper and released code differ, `variant` chooses; these three options may override it:

    ========== ====================================== ===================================================
    option     `paper`                                `released`
    ========== ====================================== ===================================================
    base       `mle`: l_xe of eq. 6                   `trime`: with the released comparison of labels
    reduction  `pair_mean`, see below                 `authors`: mean over the pairs of each rank offset,
                                                      then mean (decoder-only) or sum (encoder-decoder)
    rank_scope `cache`: ranks over readable entries   `sequence`: ranks also count unreadable positions
    ========== ====================================== ===================================================

    `reduction="sum"` is eq. 5 to the letter. It was measured at 20 to 500,000 times the cross-entropy, so the alpha and
    margin of the paper cannot have been meant for it. `pair_mean` takes the mean over a position's pairs instead.

    Args:
        backbone: any.
        alpha: weight of the ranking term, at least 0; 1.0, and 0.5 on LogicNLG (paper, A and A.4).
        margin: lambda of eq. 5, the margin per rank, at least 0; 0.001 (paper, A).
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
        alpha: Amount = 1.0,
        margin: Amount = 0.001,
    ) -> None:
        super().__init__(backbone)
        defaults = DEFAULTS[variant]
        self.variant, self.alpha, self.margin = variant, alpha, margin
        self.base = base or defaults["base"]
        self.reduction = reduction or defaults["reduction"]
        self.rank_scope = rank_scope or defaults["rank_scope"]
        # The authors' mean is over a micro-batch, and ranks over a sequence count its padding.
        self.batch_invariant = self.reduction != "authors" and self.rank_scope == "cache"

    def log_probs(self, rows: Rows) -> Tensor:
        """Eq. 3, [n, V]."""
        return cache_log_probs(self.logits(rows), rows.similarity(), rows.memory_tokens, rows.readable)

    def head_loss(self, rows: Rows, head: Head) -> tuple[Tensor, dict[str, Tensor]]:
        """Eq. 6 at each position, [n], with the ranking term summed or averaged over its own pairs."""
        nll = self._base_nll(rows, head)
        if self.reduction == "authors":  # `loss` adds the ranking term
            return nll, {self.base: nll.sum()}
        ranking = self._ranking(rows)
        return nll + self.alpha * ranking, {self.base: nll.sum(), "ranking": ranking.sum()}

    def loss(self, states: States) -> LossSum:
        """Eq. 6 summed over target tokens; the authors' reduction needs all pairs of the micro-batch at once."""
        loss = super().loss(states)
        if self.reduction != "authors":
            return loss
        ranking = self._authors_ranking(states) * loss.n_target_tokens
        terms = {**loss.terms, "ranking": ranking.detach()}
        return LossSum(loss.total + self.alpha * ranking, loss.n_target_tokens, terms)

    def _base_nll(self, rows: Rows, head: Head) -> Tensor:
        """l_base of each position, [n]: cross-entropy, or that of eq. 3."""
        at_target = head.at(rows.targets)
        if self.base == "mle":
            return head.lse - at_target
        comparable = None
        if self.variant == "released":
            comparable = rows.labelled
        return cache_nll_of(
            head.lse, at_target, rows.targets, rows.similarity(), rows.memory_tokens, rows.readable, comparable
        )

    def _ranking(self, rows: Rows) -> Tensor:
        """l_cont of each position, [n]; 0 for a position without a pair."""
        at = rows.positive.any(1).nonzero().squeeze(1)  # positions without a positive have no pair
        paired = rows.take(at)
        reduction: Literal["sum", "pair_mean"] = "sum" if self.reduction == "sum" else "pair_mean"
        hinge = ranked_hinge(
            paired.similarity(), self._ranks(paired), paired.positive, paired.readable, self.margin, reduction
        )
        return rows.hidden.new_zeros(len(rows), dtype=hinge.dtype).index_add(0, at, hinge)

    def _authors_ranking(self, states: States) -> Tensor:
        """l_cont as the released code reduces it over a whole micro-batch, a scalar; 0 where no pair exists."""
        whole = list(blocks(states.targets, limit=states.targets.numel()))  # one slice, or none without targets
        if not whole:
            return states.hidden.sum() * 0.0
        rows = rows_of(states, whole[0])
        paired = rows.take(rows.positive.any(1).nonzero().squeeze(1))
        over: Literal["mean", "sum"] = "mean" if self.backbone.architecture == "decoder-only" else "sum"
        return released_ranking(
            paired.similarity(), self._ranks(paired), paired.positive, paired.readable, self.margin, over
        )

    def _ranks(self, rows: Rows) -> Tensor:
        """Rank of each memory entry by the cosine between its token and the target, [n, M]."""
        ranked = rows.readable
        if self.rank_scope == "sequence":
            ranked = torch.ones_like(ranked)
        return cosine_ranks(rows.targets, rows.memory_tokens, ranked, self.backbone.embedding())
