"""models/functional/ranking.py and ranks.py against golden vectors and plain loops."""

from typing import Literal

import pytest
import torch
from torch import Tensor

from bench.models.functional.ranking import ranked_hinge, released_ranking
from tests.models.golden_cases import hinge_of
from tools.benchmarks import histalign_ranking as benchmark
from tools.benchmarks.histalign_ranking import cosine_ranks

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


def value_and_gradient(losses: Tensor, similarity: Tensor) -> tuple[Tensor, Tensor]:
    """Losses, and the gradient of their sum weighted unevenly (so that rows cannot be mixed up unseen)."""
    weights = torch.arange(1, losses.numel() + 1, dtype=losses.dtype).view(losses.shape)
    return losses.detach(), torch.autograd.grad((losses * weights).sum(), similarity)[0]


class TestPairByPair:
    @pytest.mark.parametrize("reduction", ["sum", "pair_mean"])
    @pytest.mark.parametrize("scope", SCOPES)
    @pytest.mark.parametrize("seed", SEEDS)
    def test_ranked_hinge(self, seed: int, scope: str, reduction: Literal["sum", "pair_mean"]) -> None:
        rows = Rows(seed)
        similarity = rows.similarity.requires_grad_()
        actual = value_and_gradient(hinge_of(similarity, *rows.rest(scope), reduction), similarity)
        plain = plain_hinge(similarity, *rows.rest(scope)) + 0.0 * similarity.sum()
        if reduction == "pair_mean":
            plain = plain / (rows.positive.sum(1) * (rows.readable & ~rows.positive).sum(1)).clamp_min(1)
        torch.testing.assert_close(actual, value_and_gradient(plain, similarity), rtol=1e-12, atol=1e-12)

    @pytest.mark.parametrize("over_offsets", ["mean", "sum"])
    @pytest.mark.parametrize("scope", SCOPES)
    @pytest.mark.parametrize("seed", SEEDS)
    def test_released_ranking(self, seed: int, scope: str, over_offsets: Literal["mean", "sum"]) -> None:
        rows = Rows(seed)
        similarity = rows.similarity.requires_grad_()
        actual = value_and_gradient(released_ranking(similarity, *rows.rest(scope), over_offsets), similarity)
        plain = plain_released(similarity, *rows.rest(scope), over_offsets) + 0.0 * similarity.sum()
        torch.testing.assert_close(actual, value_and_gradient(plain, similarity), rtol=1e-12, atol=1e-12)

    @pytest.mark.parametrize("seed", SEEDS)
    def test_only_the_entries_of_a_target_are_looked_at(self, seed: int) -> None:
        """As a training step asks: some entries of each row, rows with most of them first, filling behind them."""
        rows = Rows(seed, n=40)
        n_positive = rows.positive.sum(1)
        falling = n_positive.argsort(descending=True)
        positive, readable = rows.positive[falling], rows.readable[falling]
        ranks, stops = rows.ranks("cache")[falling], n_positive[falling].tolist()
        entries = (~positive).int().argsort(dim=1, stable=True)[:, : stops[0]]  # positives, then others
        similarity = rows.similarity[falling].requires_grad_()
        few = ranked_hinge(similarity, ranks, entries, positive.gather(1, entries), readable, rows.margin, stops=stops)
        all_of_them = hinge_of(similarity, ranks, positive, readable, rows.margin)
        expected = value_and_gradient(all_of_them, similarity)
        torch.testing.assert_close(value_and_gradient(few, similarity), expected, rtol=1e-12, atol=1e-12)


class TestNumbers:
    @pytest.mark.parametrize("name", ["ranked_hinge", "released_ranking"])
    def test_gradcheck(self, name: str) -> None:
        rows = Rows(8)  # continuous similarities: no kink within the step
        loss = hinge_of if name == "ranked_hinge" else released_ranking
        assert torch.autograd.gradcheck(lambda s: loss(s, *rows.rest("cache")), rows.similarity.requires_grad_())

    @pytest.mark.parametrize("rows_kept", [slice(None), slice(0, 0)])
    @pytest.mark.parametrize("entries_kept", [slice(None), slice(0, 0)])
    def test_no_positive_gives_a_live_zero(self, rows_kept: slice, entries_kept: slice) -> None:
        """Where the authors' decoder-only code raises and their encoder-decoder code gives nan; no rows, no entries."""
        rows = Rows(8)
        keep = (rows_kept, entries_kept)
        tokens, readable = rows.tokens[keep], rows.readable[keep]
        ranks = cosine_ranks(rows.targets[rows_kept], tokens, readable, rows.embedding)
        similarity = rows.similarity[keep].masked_fill(~readable, -torch.inf).requires_grad_()
        nothing = torch.zeros_like(readable)
        hinges = hinge_of(similarity, ranks, nothing, readable, 0.1, "pair_mean")
        total = released_ranking(similarity, ranks, nothing, readable, 0.1)
        assert hinges.shape == similarity.shape[:1]
        for loss in (hinges.sum(), total):
            assert loss.item() == 0.0
            (gradient,) = torch.autograd.grad(loss, similarity)
            assert gradient.shape == similarity.shape
            assert not gradient.any()

    @pytest.mark.parametrize("filling", [torch.inf, -torch.inf, torch.nan])
    def test_values_outside_the_candidates_do_not_matter(self, filling: float) -> None:
        rows = Rows(8)
        dirty = rows.similarity.masked_fill(~rows.readable, filling).requires_grad_()
        clean = rows.similarity.requires_grad_()
        for loss in (hinge_of, released_ranking):
            ranks, _, readable, margin = rows.rest("cache")
            unmasked = rows.tokens == rows.targets[:, None]
            actual = value_and_gradient(loss(dirty, ranks, unmasked, readable, margin), dirty)
            assert all(map(torch.equal, actual, value_and_gradient(loss(clean, *rows.rest("cache")), clean)))

    def test_a_large_common_part_drowns_no_margin(self) -> None:
        """Similarities near 300 in fp32: added to them as they are, 0.001 per rank would keep two digits."""
        rows = Rows(8)
        similarity = (rows.similarity + 300.0).float()
        ranks, positive, readable, _ = rows.rest("cache")
        for loss in (hinge_of, released_ranking):
            exact = loss(similarity.double(), ranks, positive, readable, 0.001)
            torch.testing.assert_close(
                loss(similarity, ranks, positive, readable, 0.001).double(), exact, rtol=1e-6, atol=0
            )


class TestCost:
    @pytest.mark.parametrize("reduction", ["sum", "pair_mean", "authors"])
    def test_nothing_of_size_t_cubed_is_kept(self, reduction: Literal["sum", "pair_mean", "authors"]) -> None:
        """What autograd keeps for the backward pass is a few [n, M] tensors, at any length."""
        run = benchmark.make_batch(1, 128, 16).in_training(reduction)
        kept = {}

        def keep(tensor: Tensor) -> Tensor:
            kept[tensor.data_ptr()] = tensor.nbytes
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
            run()
        assert sum(kept.values()) < 8 * 4 * 128**2
