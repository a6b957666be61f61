"""The ranking terms of HistAlign pair by pair, in plain loops, and random rows to compare them on."""

from __future__ import annotations

import torch
from torch import Tensor

from bench.models.functional.ranking import cosine_ranks


def plain_hinge(similarity: Tensor, ranks: Tensor, positive: Tensor, candidates: Tensor, margin: float) -> Tensor:
    """Eq. 5, pair by pair."""
    losses = []
    for row in range(len(similarity)):
        loss = similarity.new_zeros(())
        for i in positive[row].nonzero().flatten().tolist():
            for j in (candidates[row] & ~positive[row]).nonzero().flatten().tolist():
                if ranks[row, j] > ranks[row, i]:
                    gap = similarity[row, j] - similarity[row, i] + int(ranks[row, j] - ranks[row, i]) * margin
                    loss = loss + torch.relu(gap)
        losses.append(loss)
    return torch.stack(losses)


def plain_released(
    similarity: Tensor, ranks: Tensor, positive: Tensor, candidates: Tensor, margin: float, over_offsets: str
) -> Tensor:
    """The released reduction, pair by pair."""
    by_offset: dict[int, list[Tensor]] = {}
    for row in range(len(similarity)):
        for i in positive[row].nonzero().flatten().tolist():
            for j in (candidates[row] & ~positive[row]).nonzero().flatten().tolist():
                offset = int(ranks[row, j] - ranks[row, i])
                if offset > 0:
                    gap = similarity[row, j] - similarity[row, i] + offset * margin
                    by_offset.setdefault(offset, []).append(torch.relu(gap))
    means = [torch.stack(pairs).mean() for pairs in by_offset.values()]
    if not means:
        return similarity.new_zeros(())
    return torch.stack(means).mean() if over_offsets == "mean" else torch.stack(means).sum()


def plain_ranks(targets: Tensor, tokens: Tensor, ranked: Tensor, embedding: Tensor) -> Tensor:
    """Sort each row by (not the target, cosine descending, position); what is not ranked goes last."""
    unit = embedding.double() / embedding.double().norm(dim=1, keepdim=True)
    ranks = torch.empty_like(tokens)
    for row, target in enumerate(targets.tolist()):

        def key(entry: int, row: int = row, target: int = target) -> tuple[bool, bool, float, int]:
            token = int(tokens[row, entry])
            cosine = (unit[target] @ unit[token]).float().item()
            if not ranked[row, entry]:
                return True, True, 0.0, entry
            return False, token != target, 0.0 if token == target else -cosine, entry

        for rank, entry in enumerate(sorted(range(tokens.shape[1]), key=key)):
            ranks[row, entry] = rank
    return ranks


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
