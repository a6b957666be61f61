"""Random rows of a memory whose entries are ranked."""

from __future__ import annotations

import torch
from torch import Tensor

from bench.models.functional.ranks import cosine_ranks

SEEDS = range(24)
SCOPES = ["cache", "sequence"]


class Rows:
    """Random rows with ties: few tokens, twin embeddings, coarse similarities, unreadable entries, an empty row."""

    def __init__(self, seed: int, n: int = 7) -> None:
        draw = torch.Generator().manual_seed(seed)
        entries, vocabulary = 1 + (seed * 5) % 14, 3 + seed % 4
        self.embedding = torch.randn(vocabulary, 6, generator=draw)
        self.embedding[2] = self.embedding[1]
        self.targets = torch.randint(vocabulary, (n,), generator=draw)
        self.tokens = torch.randint(vocabulary, (n, entries), generator=draw)
        self.readable = torch.rand(n, entries, generator=draw) < 0.7
        self.readable[0] = False
        self.positive = self.readable & (self.tokens == self.targets[:, None])
        self.similarity = torch.randn(n, entries, generator=draw, dtype=torch.float64)
        if seed % 2:
            self.similarity = self.similarity.mul(2).round()
        self.margin = (0.001, 0.5, 0.0)[seed % 3]

    def ranks(self, scope: str) -> Tensor:
        ranked = self.readable if scope == "cache" else torch.ones_like(self.readable)
        return cosine_ranks(self.targets, self.tokens, ranked, self.embedding)

    def rest(self, scope: str) -> tuple[Tensor, Tensor, Tensor, float]:
        return self.ranks(scope), self.positive, self.readable, self.margin
