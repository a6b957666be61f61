"""HistAlign: a cache language model whose states are taught to point at the right memories.

Its distribution is in `bench.models.functional.cache`, its ranking term in `bench.models.functional.ranking`. On
encoder-decoders the cache is that of section 4.3: the tokens of the input with the encoder's states, with which the
decoder's state is compared.

Shapes: n positions of a slice, k of them with a pair, K distinct targets of its batch rows, V vocabulary, M memory
entries.
"""

from collections.abc import Mapping
from typing import Any, Literal

from torch import Tensor

from bench.base.options import Amount
from bench.models.backbones.backbone import Backbone
from bench.models.core.head import Head
from bench.models.core.objective import Objective
from bench.models.core.sliced_loss import LossSum, memory_slice_size, summed
from bench.models.core.states import States, TokenSlice, slices
from bench.models.core.target_lookup import Paired, paired
from bench.models.functional.cache import cache_log_probs, cache_nll_of
from bench.models.functional.ranking import (
    cosine_order,
    ranked_hinge,
    ranks_among,
    ranks_of,
    released_ranking,
)
from bench.models.trime import cache_terms

DEFAULTS = {
    "paper": {"base": "mle", "reduction": "sum", "rank_scope": "cache"},
    "released": {"base": "trime", "reduction": "authors", "rank_scope": "sequence"},
    "mean": {"base": "mle", "reduction": "pair_mean", "rank_scope": "cache"},
}
"""Options of each variant, where they are not set."""


class HistAlign(Objective):
    """l_xe + alpha * l_cont: memory entries are ranked by how similar their token is to the target.

    Source: Wan et al. 2023, eq. 3 (distribution), eq. 5 (l_cont) and eq. 6 (sum). At test time eq. 3 is used. Another
    base than l_xe is an option of this suite.

    `variant` chooses all three of these options, and each of them may be set by itself:

    | option | `paper`: the equations | `released`: the authors' code | `mean`: our own, not published |
    |---|---|---|---|
    | base | `mle`: cross-entropy | `trime`: TRIME's loss, with the code's comparison of labels | `mle` |
    | reduction | `sum` over the pairs of a position | `authors` | `pair_mean`: mean over the pairs of a position |
    | rank_scope | `cache`: ranks among readable entries | `sequence`: unreadable positions count too | `cache` |

    `authors` averages over the pairs of a micro-batch at each distance of ranks, and
    then the mean of these on decoder-only models and their sum on encoder-decoders. With `variant="paper"` and
    `base="trime"` the base is TRIME's loss as its equation says.

    Args:
        alpha: weight of the ranking term, at least 0; 1.0, and 0.5 on LogicNLG (paper, A and A.4).
        margin: lambda of eq. 5, the margin per rank, at least 0; 0.001 (paper, A).
    """

    name = "histalign"
    equations = (
        r"P(w) \propto e^{z_w} + \sum_{i:\, m_i = w} e^{\mathrm{sim}(h, h_i)}",
        r"\ell_{\text{cont}} = \sum_{i \in \mathcal{P}} \sum_{j \notin \mathcal{P},\, r_j > r_i} "
        r"\max\left(0, \mathrm{sim}(h, h_j) - \mathrm{sim}(h, h_i) + (r_j - r_i) \lambda\right)",
        r"\ell = \ell_{\text{base}} + \alpha \ell_{\text{cont}}",
    )
    version = 3
    reads_cache = True

    def __init__(
        self,
        backbone: Backbone,
        *,
        variant: Literal["paper", "released", "mean"] = "paper",
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
        # The authors' means are over a micro-batch, and ranks over a sequence count its padding.
        self.batch_invariant = self.reduction != "authors" and self.rank_scope == "cache"

    @classmethod
    def options_in_effect(cls, options: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return base, reduction and rank_scope as they are used, those of the variant where none is set."""
        defaults = DEFAULTS[options["variant"]]
        return {name: options[name] or default for name, default in defaults.items()}

    def log_probs(self, tokens: TokenSlice) -> Tensor:
        """Eq. 3, [n, V]."""
        return cache_log_probs(self.logits(tokens), tokens.similarity(), tokens.memory_tokens, tokens.readable)

    def memory_terms(self, tokens: TokenSlice) -> tuple[Tensor, ...]:
        """Log-sums over the cache, [n] each, where the base is that of eq. 3."""
        if self.base == "mle":
            return ()
        return cache_terms(tokens, released=self.variant == "released")

    def head_loss(self, tokens: TokenSlice, head: Head) -> tuple[Tensor, dict[str, Tensor]]:
        """l_base of eq. 6 at each position, [n]: cross-entropy, or that of eq. 3."""
        at_target = head.at(tokens.targets)
        if self.base == "mle":
            nll = head.lse - at_target
        else:
            nll = cache_nll_of(head.lse, at_target, *tokens.memory_terms)
        return nll, {self.base: nll}

    def position_loss(self, tokens: TokenSlice) -> tuple[Tensor, dict[str, Tensor]]:
        """Eq. 6 at each position, [n]; without the authors' ranking term, which is no sum over positions."""
        losses, parts = super().position_loss(tokens)
        if self.reduction == "authors":
            return losses, parts
        ranking, named = self.ranking_loss(tokens)
        return losses + self.alpha * ranking, {**parts, **named}

    def loss(self, states: States) -> LossSum:
        """Eq. 6 summed over target tokens: l_base by slices over the vocabulary, l_cont by slices over the memory.

        The authors' reduction needs all pairs of the micro-batch at once.
        """
        loss = super().loss(states)
        if self.reduction != "authors" and self.fused_head(states) is None:
            return loss  # of `position_loss`, which has the ranking term in it
        ranking = self.ranking(states)
        if self.reduction == "authors":
            ranking = ranking * loss.n_target_tokens
        terms = {**loss.terms, "ranking": ranking.detach()}
        return LossSum(loss.total + self.alpha * ranking, loss.n_target_tokens, terms)

    def ranking(self, states: States) -> Tensor:
        """l_cont of a batch, a scalar: summed over its target tokens, or as the authors reduce it."""
        if self.reduction != "authors":
            return summed(states, self.ranking_loss, [], memory_slice_size(states)).total
        whole = list(slices(states, limit=states.targets.numel() or 1))  # one slice, or none without targets
        if not whole:
            return states.hidden.sum() * 0.0
        pairs = paired(whole[0])
        tokens = pairs.of(whole[0])
        ranks = self._ranks(tokens, pairs)
        if self.rank_scope == "cache":  # a permutation: entries without a rank come last, in the order of the memory
            ranks = ranks_of(ranks.masked_fill(~tokens.readable, ranks.shape[1]).argsort(dim=1, stable=True))
        over: Literal["mean", "sum"] = "mean" if self.backbone.architecture == "decoder-only" else "sum"
        similarity, positive, readable = tokens.similarity(), tokens.positive, tokens.readable
        return released_ranking(similarity, ranks, positive, readable, self.margin, over, pairs.stops)

    def ranking_loss(self, tokens: TokenSlice) -> tuple[Tensor, dict[str, Tensor]]:
        """l_cont of each position, [n]; 0 for a position without a pair."""
        pairs = paired(tokens)
        with_pair = pairs.of(tokens)
        reduction: Literal["sum", "pair_mean"] = "sum" if self.reduction == "sum" else "pair_mean"
        hinge = ranked_hinge(
            with_pair.similarity(),
            self._ranks(with_pair, pairs),
            pairs.entries,
            pairs.positive,
            with_pair.readable,
            self.margin,
            reduction,
            pairs.stops,
        )
        ranking = hinge.new_zeros(len(tokens)).index_copy(0, pairs.at, hinge)
        return ranking, {"ranking": ranking}

    def _ranks(self, tokens: TokenSlice, pairs: Paired) -> Tensor:
        """Rank the memory entries of each position by the cosine between their token and the target, [k, M].

        Args:
            tokens: the k positions that have a pair.
            pairs: of the slice that they were taken from.
        """
        order = cosine_order(pairs.targets, pairs.memory, self.backbone.embedding())  # [K, M]
        order = order.index_select(0, pairs.question)
        if self.rank_scope == "sequence":
            return ranks_of(order)
        return ranks_among(order, tokens.readable)
