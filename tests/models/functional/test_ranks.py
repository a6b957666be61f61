"""models/functional/ranks.py against a plain sort."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from bench.models.functional.ranks import cosine_ranks
from tests.models.ranked_rows import SCOPES, SEEDS, Rows


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


class TestRanks:
    @pytest.mark.parametrize("scope", SCOPES)
    @pytest.mark.parametrize("seed", SEEDS)
    def test_plain_sort(self, seed: int, scope: str) -> None:
        rows = Rows(seed)
        ranked = rows.readable if scope == "cache" else torch.ones_like(rows.readable)
        expected = plain_ranks(rows.targets, rows.tokens, ranked, rows.embedding)
        assert torch.equal(rows.ranks(scope), expected)

    def test_rows_do_not_depend_on_their_company(self) -> None:
        """One row alone, or among more rows than one slice holds (the table of cosines differs, the ties must not)."""
        draw = torch.Generator().manual_seed(0)
        embedding = torch.randn(300, 24, generator=draw)
        embedding[100:200] = embedding[:100] * torch.rand(100, 1, generator=draw)  # twins up to length
        targets = torch.randint(300, (1030,), generator=draw)
        tokens = torch.randint(300, (1030, 40), generator=draw)
        everything = torch.ones_like(tokens, dtype=torch.bool)
        together = cosine_ranks(targets, tokens, everything, embedding)
        for row in (0, 511, 512, 1029):
            alone = slice(row, row + 1)
            assert torch.equal(
                cosine_ranks(targets[alone], tokens[alone], everything[alone], embedding), together[alone]
            )
