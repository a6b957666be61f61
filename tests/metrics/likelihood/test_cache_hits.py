"""Cache hit rate: what rows count, the rate over them, and rows that cannot be scored."""

import pytest
import torch

from bench.cells.evaluation import hits
from bench.metrics.likelihood.cache_hits import cache_hit_scores
from bench.models.core.states import IGNORED, States, slices


def states(hidden, memory, tokens, targets, readable):
    batch = len(hidden)
    return States(
        hidden=torch.tensor(hidden, dtype=torch.float32), targets=torch.tensor(targets),
        memory=torch.tensor(memory, dtype=torch.float32), memory_tokens=torch.tensor(tokens),
        readable=torch.tensor(readable, dtype=torch.bool), labelled=torch.ones(batch, len(tokens[0]), dtype=torch.bool),
    )  # fmt: skip


def test_a_hit_is_the_most_similar_readable_entry():
    memory = [[[1.0, 0.0], [0.0, 1.0], [2.0, 0.0]]]
    hidden = [[[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 0.0]]]
    readable = [[[1, 1, 1], [1, 1, 1], [1, 1, 0], [0, 0, 0]]]
    (rows,) = slices(states(hidden, memory, [[5, 6, 7]], [[7, 7, 5, 5]], readable))
    assert hits(rows).tolist() == [True, False, True, False]
    assert rows.positive.any(1).tolist() == [True, True, True, False]


def test_of_equal_entries_the_last_counts_and_an_empty_memory_has_none():
    memory = [[[1.0, 0.0], [1.0, 0.0]]]
    (rows,) = slices(states([[[1.0, 0.0]]], memory, [[5, 6]], [[6]], [[[1, 1]]]))
    assert hits(rows).tolist() == [True]
    (rows,) = slices(states([[[1.0, 0.0]]], memory, [[6, 5]], [[6]], [[[1, 1]]]))
    assert hits(rows).tolist() == [False]
    empty = States(torch.zeros(1, 1, 2), torch.tensor([[3]]), torch.zeros(1, 0, 2), torch.zeros(1, 0, dtype=torch.long),
                   torch.zeros(1, 1, 0, dtype=torch.bool), torch.zeros(1, 0, dtype=torch.bool))  # fmt: skip
    (rows,) = slices(empty)
    assert hits(rows).tolist() == [False]
    assert rows.positive.any(1).tolist() == [False]
    assert IGNORED not in rows.targets


def counted(*counts):
    rows = [{"id": str(i), "n_tokens": n, "n_cached": cached, "n_cache_hits": hit}
            for i, (n, cached, hit) in enumerate(counts)]  # fmt: skip
    return rows, {row["id"]: {} for row in rows}


def test_rates_are_over_all_tokens():
    rate, coverage = cache_hit_scores(*counted((10, 4, 1), (30, 0, 0), (10, 6, 4)))
    assert (rate.name, rate.value, rate.n, rate.higher_is_better) == ("cache-hit@1", 50.0, 3, None)
    assert (coverage.name, coverage.value) == ("cache-coverage", 20.0)
    assert (rate.sums.value, coverage.sums.value) == (50.0, 20.0)


def test_nothing_to_hit_is_no_number():
    rate, coverage = cache_hit_scores(*counted((10, 0, 0)))
    assert (rate.value, coverage.value) == (None, 0.0)
    assert rate.signature.endswith("not applicable: no target token stands in the memory")
    rate, coverage = cache_hit_scores(*counted((0, 0, 0)))
    assert (rate.value, coverage.value) == (None, None)
    assert coverage.signature.endswith("not applicable: no target tokens")


def test_rows_of_an_older_version_are_refused():
    rows, gold = counted((10, 4, 1), (1, 1, 1))
    del rows[1]["n_cached"]
    with pytest.raises(ValueError, match="1 rows have none; evaluate again"):
        cache_hit_scores(rows, gold)
    with pytest.raises(ValueError, match=r"0 <= n_cache_hits <= n_cached <= n_tokens, 1 rows differ: \['0'\]"):
        cache_hit_scores(*counted((3, 1, 2), (3, 2, 1)))
