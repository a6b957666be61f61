"""unigram and bigram: how often each token is a training target, alone and behind the token before it.

Trivial controls, which a model must beat to count: no weight is trained, and the backbone is used for its tokenizer
alone. The pairs are counted over the batches that every other method is trained on, in a table of `BUCKETS`; pairs that
share a bucket are counted together, and the distribution still sums to one.

Shapes: n positions of a slice, V vocabulary, W tokens of a text.
"""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from bench.models.backbones.backbone import Backbone, Batch
from bench.models.core.objective import Objective
from bench.models.core.sliced_loss import LossSum
from bench.models.core.states import IGNORED, TokenSlice, slices

BUCKETS = 2**21
"""Places for pairs: 8 MB. A run of 300 steps of 2,048 tokens fills less than a third of them."""
FIRST, SECOND = 2_654_435_761, 40_503
"""Odd multipliers: in a vocabulary of at most `BUCKETS` the pairs that begin with one token have different buckets."""


class Unigram(Objective):
    """The distribution of training targets, the same at every position; add-one smoothing (Laplace)."""

    name = "unigram"
    version = 3
    equations = (r"p(w) = \frac{c(w) + 1}{N + V}",)
    uses_token_counts = True
    settings: ClassVar[Mapping[str, Any]] = {"trainer.steps": 0, "trainer.epochs": 0}

    counts: Tensor  # [V] of each token as a training target

    def prepare(self, counts: Tensor) -> None:
        """Keep how often each token is a training target, [V]."""
        self.register_buffer("counts", counts.clone())

    def log_probs(self, tokens: TokenSlice) -> Tensor:
        """The same log-probabilities for every position, [n, V]."""
        return unigram_log_probs(self.counts).expand(len(tokens), -1)

    def components(self, tokens: TokenSlice) -> dict[str, Tensor]:
        """Its own distribution in place of the head, and no memory."""
        log_probs = self.log_probs(tokens)
        return {"head": log_probs, "cache": torch.full_like(log_probs, -torch.inf), "full": log_probs}


class Bigram(Unigram):
    """Counts of pairs of neighbouring tokens, interpolated with the unigram; no weight is trained.

    Source: Witten and Bell 1991, method C.
    """

    name = "bigram"
    version = 3
    equations = (r"p(w \mid v) = \frac{c(v, w) + T(v)\, p(w)}{\sum_u \left(c(v, u) + T(v)\, p(u)\right)}",)
    settings: ClassVar[Mapping[str, Any]] = {}

    pairs: Tensor  # [BUCKETS] of each pair of tokens, of all steps so far
    new_pairs: Tensor  # [BUCKETS] of this rank's micro-batches since the last step

    def __init__(self, backbone: Backbone) -> None:
        super().__init__(backbone)
        for parameter in self.parameters():
            parameter.requires_grad_(False)
        self.anchor = nn.Parameter(torch.zeros(()))  # a trainer wants something to train; no output depends on it
        self.register_buffer("pairs", torch.zeros(BUCKETS))
        self.register_buffer("new_pairs", torch.zeros(BUCKETS), persistent=False)

    @torch.no_grad()
    def step_loss(self, batch: Batch) -> LossSum:
        """Count the pairs of a batch; the loss is their negative log-likelihood before they were counted."""
        states = self.states(batch)
        total = torch.zeros((), device=states.hidden.device)
        n_tokens = 0
        for tokens in slices(states, self.slice_size):
            total += -self.log_probs(tokens).gather(1, tokens.targets[:, None]).sum()
            before = last_token(tokens)
            known = before != IGNORED
            places = bucket_of(before[known], tokens.targets[known])
            self.new_pairs.index_add_(0, places, torch.ones_like(places, dtype=self.new_pairs.dtype))
            n_tokens += len(tokens)
        with torch.enable_grad():
            return LossSum(total + 0 * self.anchor, torch.tensor(n_tokens, device=total.device))

    def end_of_step(self, reduce: Callable[[Tensor], Tensor]) -> None:
        """Add the pairs that all ranks have counted."""
        self.pairs += reduce(self.new_pairs)
        self.new_pairs.zero_()

    def log_probs(self, tokens: TokenSlice) -> Tensor:
        """Log-probabilities after the token that stands before each position, [n, V]."""
        return bigram_log_probs(self.pairs, unigram_log_probs(self.counts), last_token(tokens))


def last_token(tokens: TokenSlice) -> Tensor:
    """Return the token just before each position, IGNORED where there is none, [n].

    The prompt and what was written behind it on a decoder-only backbone; the target alone on an encoder-decoder.
    """
    ids = torch.where(tokens.written == IGNORED, tokens.prompt, tokens.written)  # [n, W]
    if not ids.shape[1]:  # the first step of a text on an encoder-decoder
        return ids.new_full((len(ids),), IGNORED)
    columns = torch.arange(ids.shape[1], device=ids.device)
    last = torch.where(ids == IGNORED, -1, columns).amax(1)  # [n]
    found = ids.gather(1, last.clamp(min=0)[:, None]).squeeze(1)
    return found.masked_fill(last < 0, IGNORED)


def unigram_log_probs(counts: Tensor) -> Tensor:
    """Return log-probabilities of tokens by their counts plus one, log (c(w) + 1) / (N + V), [V] -> [V].

    One is added so that no token is impossible; N is the sum of the counts.

    >>> unigram_log_probs(torch.tensor([3, 0, 0])).exp()
    tensor([0.6667, 0.1667, 0.1667])
    """
    smoothed = counts.double() + 1
    return (smoothed / smoothed.sum()).log().float()


def bigram_log_probs(pairs: Tensor, unigram: Tensor, before: Tensor) -> Tensor:
    """Return log-probabilities of the next token; the unigram if there is no token before, or none ever followed it.

        p(w | v) = (c(v, w) + T(v) p(w)) / sum over w of the same         T(v) kinds of tokens that followed v

    Args:
        pairs: [BUCKETS] counts.
        unigram: [V] log-probabilities.
        before: [n] the token before each position, IGNORED where there is none.

    Returns:
        [n, V], each row sums to one.
    """
    tokens = torch.arange(len(unigram), device=before.device)
    counts = pairs[bucket_of(before.clamp(min=0)[:, None], tokens[None, :])]  # [n, V]
    counts = counts.masked_fill(before[:, None] == IGNORED, 0)
    kinds = (counts > 0).sum(1, keepdim=True).clamp(min=1)  # [n, 1]
    smoothed = counts + kinds * unigram.exp()
    return smoothed.log() - smoothed.sum(1, keepdim=True).log()


def bucket_of(before: Tensor, token: Tensor) -> Tensor:
    """Return the place of pairs of tokens in the table of counts; the two shapes are broadcast."""
    return (before * FIRST + token * SECOND) % BUCKETS
