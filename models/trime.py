"""TRIME: a cache language model trained with its cache.

Its distribution is eq. 3 of HistAlign (Wan et al. 2023), in `bench.models.functional.cache`. `trime.released` is TRIME
as HistAlign's release computes it, not the TRIME authors' code.

Shapes: n positions of a slice, V vocabulary, M memory entries, C of them hold a position's target at the most.
"""

from typing import Literal

from torch import Tensor

from bench.models.backbones.backbone import Backbone
from bench.models.core.head import Head
from bench.models.core.objective import Objective
from bench.models.core.states import TokenSlice
from bench.models.core.target_lookup import target_entries
from bench.models.functional.cache import cache_log_probs, cache_log_sums_, cache_nll_of


class TRIME(Objective):
    """Maximum likelihood of eq. 3: the softmax head and the local memory share one normaliser.

    Source: Zhong et al. 2022; HistAlign (Wan et al. 2023) section 3.2, l_trime.

    Args:
        variant: `paper` compares the target with the tokens in the memory. `released` compares labels with labels, as
            HistAlign's code does (modeling_gpt2.py, calc_loss): where a task masks the labels of its prompt, the
            entries of the prompt never count for a target, they only enter the normaliser. Encoder-decoder models are
            not affected.
    """

    name = "trime"
    equations = (
        r"P(w) \propto e^{z_w} + \sum_{i:\, m_i = w} e^{\mathrm{sim}(h, h_i)}",
        r"\ell_t = -\log P(x_t)",
    )
    reads_cache = True

    def __init__(self, backbone: Backbone, *, variant: Literal["paper", "released"] = "paper") -> None:
        super().__init__(backbone)
        self.variant = variant

    def log_probs(self, tokens: TokenSlice) -> Tensor:
        """Eq. 3, [n, V]."""
        return cache_log_probs(self.logits(tokens), tokens.similarity(), tokens.memory_tokens, tokens.readable)

    def memory_terms(self, tokens: TokenSlice) -> tuple[Tensor, ...]:
        """Log-sums of the exponentials over all readable entries, and over those that hold the target, [n] each."""
        return cache_terms(tokens, released=self.variant == "released")

    def head_loss(self, tokens: TokenSlice, head: Head) -> tuple[Tensor, dict[str, Tensor]]:
        """-log P of the target, [n], without scattering the cache to the vocabulary."""
        at_target = head.at(tokens.targets)
        return cache_nll_of(head.lse, at_target, *tokens.memory_terms), {}


def cache_terms(tokens: TokenSlice, *, released: bool) -> tuple[Tensor, Tensor]:
    """What eq. 3 needs of the memory at each position: its log-sums over readable and over positive entries, [n] each.

    Args:
        tokens: a slice.
        released: whether an entry counts as positive only if its token is itself a target.
    """
    similarity, (entries, positive) = tokens.similarity(), target_entries(tokens)  # [n, M], [n, C] and [n, C]
    if released:
        positive = positive & tokens.labelled.gather(1, entries)
    return cache_log_sums_(similarity, tokens.readable, entries, positive)
