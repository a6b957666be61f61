"""KLD, JSD, Uniq and frequency groups as torchmetrics classes: counts over a vocabulary of known size."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

import torch
from torch import Tensor
from torchmetrics import Metric

from bench.metrics.diversity.divergence import jsd_from_counts, kld_from_counts
from bench.metrics.diversity.frequency_groups import GROUPS, group_of_tokens
from bench.metrics.diversity.ngrams import Texts, flatten

__all__ = ["FrequencyGroups", "TokenDivergence", "Uniq"]

MEASURES = {"kld": kld_from_counts, "jsd": jsd_from_counts}


class TokenDivergence(Metric):
    """How far the frequencies of generated tokens are from those of true tokens, in nats.

    The states are integers, so that the result is `kld` or `jsd` of all texts together to the last bit.

    >>> metric = TokenDivergence(vocabulary=3)
    >>> metric.update([[0, 0, 1]], [[0, 1, 1]])
    >>> round(metric.compute().item(), 6)
    0.231049
    """

    full_state_update = False
    is_differentiable = False
    higher_is_better = False

    generated: Tensor
    true: Tensor

    def __init__(self, vocabulary: int, measure: Literal["kld", "jsd"] = "kld", **kwargs: Any) -> None:
        """Start from nothing.

        Args:
            vocabulary: number of token ids there are.
            measure: `kld` for KL(true || generated), `jsd` for the Jensen-Shannon divergence.
            **kwargs: passed on to `torchmetrics.Metric`.
        """
        super().__init__(**kwargs)
        if measure not in MEASURES:
            raise ValueError(f"measure {measure!r} is unknown; there are: {', '.join(MEASURES)}")
        self.measure = measure
        for state in ("generated", "true"):
            self.add_state(state, torch.zeros(vocabulary, dtype=torch.int64), dist_reduce_fx="sum")

    def update(self, texts: Texts, references: Texts) -> None:
        """Add token ids of generated and of true texts; there need not be equally many."""
        self.generated += _counts(texts, self.generated)
        self.true += _counts(references, self.true)

    def compute(self) -> Tensor:
        """Return the divergence in float64; not a number before the first token of either side."""
        value = MEASURES[self.measure](self.generated.cpu().numpy(), self.true.cpu().numpy())
        return torch.tensor(math.nan if value is None else value, dtype=torch.float64, device=self.device)


class Uniq(Metric):
    """How many different tokens all texts together have, exactly.

    >>> metric = Uniq(vocabulary=4)
    >>> metric.update([[1, 2, 1], [2, 3]])
    >>> metric.compute().item()
    3
    """

    full_state_update = False
    is_differentiable = False
    higher_is_better = True

    counts: Tensor

    def __init__(self, vocabulary: int, **kwargs: Any) -> None:
        """Start from nothing.

        Args:
            vocabulary: number of token ids there are.
            **kwargs: passed on to `torchmetrics.Metric`.
        """
        super().__init__(**kwargs)
        self.add_state("counts", torch.zeros(vocabulary, dtype=torch.int64), dist_reduce_fx="sum")

    def update(self, texts: Texts) -> None:
        """Add token ids of texts, possibly none."""
        self.counts += _counts(texts, self.counts)

    def compute(self) -> Tensor:
        """Return a number of tokens; 0 before the first."""
        return self.counts.count_nonzero()


class FrequencyGroups(Metric):
    """Percentages of frequent, medium, rare and very rare tokens, equal to `frequency_groups` of all texts.

    >>> metric = FrequencyGroups(train_counts=[40, 30, 20, 10])
    >>> metric.update([[0, 0, 1, 3]])
    >>> metric.compute().tolist()
    [50.0, 25.0, 0.0, 25.0]
    """

    full_state_update = False
    is_differentiable = False
    higher_is_better = None

    groups: Tensor
    found: Tensor

    def __init__(self, train_counts: Sequence[float], **kwargs: Any) -> None:
        """Start from nothing.

        Args:
            train_counts: `[V]` how often each token id is in the training text.
            **kwargs: passed on to `torchmetrics.Metric`.
        """
        super().__init__(**kwargs)
        self.register_buffer("groups", torch.from_numpy(group_of_tokens(train_counts)), persistent=False)
        self.add_state("found", torch.zeros(len(GROUPS), dtype=torch.int64), dist_reduce_fx="sum")

    def update(self, texts: Texts) -> None:
        """Add token ids of texts, possibly none."""
        self.found.index_add_(0, self.groups, _counts(texts, self.groups))

    def compute(self) -> Tensor:
        """Return percentages `[4]` in float64; not a number before the first token."""
        return 100.0 * self.found.double() / self.found.sum()


def _counts(texts: Texts, like: Tensor) -> Tensor:
    """Return how often each token of a vocabulary as large as `like` is in the texts, `[V]`."""
    tokens, vocabulary = torch.from_numpy(flatten(texts)[0]), len(like)
    if len(tokens) and int(tokens.max()) >= vocabulary:
        raise ValueError(f"expected token ids below {vocabulary}, the size of the vocabulary, got {int(tokens.max())}")
    return torch.bincount(tokens, minlength=vocabulary).to(like.device)
