"""Batches: one permutation an epoch, shares that add up to the step, evaluation batches that nobody's order changes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.tasks.encode.batches import Epoch, EvaluationEpoch, MicroBatches, Order, chosen, evaluation_batches
from bench.tasks.encode.codec import Encoded
from bench.tasks.encode.token_store import TokenStore

ROWS = [Encoded(f"row{i}", tuple(range(1 + i % 4)), tuple(range(1 + (7 * i) % 5))) for i in range(23)]
WORLDS = [(world, accumulate) for world in (1, 2, 3, 4) for accumulate in (1, 2, 3)]


def collate(rows, numbers):
    picked = [rows[at] for at in numbers.tolist()]
    return {"ids": [row.id for row in picked], "tokens": sum(len(row.target) for row in picked)}


# Training ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("rows", "batch"), [(10, 3), (10, 10), (7, 20), (1, 4), (12, 4)])
def test_every_epoch_is_a_permutation_and_epochs_join_without_a_gap(rows, batch):
    order = Order(rows, batch, seed=5)
    steps = -(-4 * rows // batch)
    flat = [row for step in range(steps) for row in order.step(step).tolist()]
    epochs = [flat[start : start + rows] for start in range(0, 4 * rows, rows)]
    assert all(sorted(epoch) == list(range(rows)) for epoch in epochs)
    assert all(len(order.step(step).tolist()) == batch for step in range(steps))
    assert rows < 4 or len({tuple(epoch) for epoch in epochs}) == 4


@given(st.integers(1, 90), st.integers(1, 7), st.integers(0, 5))
def test_epochs_with_lengths_are_permutations_too_and_batches_stay_whole(rows, batch, seed):
    lengths = np.random.default_rng(seed).integers(1, 50, rows)
    order = Order(rows, batch, seed, lengths)
    flat = [row for step in range(-(-4 * rows // batch)) for row in order.step(step).tolist()]
    assert all(sorted(flat[at : at + rows]) == list(range(rows)) for at in range(0, 4 * rows, rows))
    assert Order(rows, batch, seed, lengths).step(2).tolist() == order.step(2).tolist()


def test_rows_of_about_one_length_meet():
    lengths = np.random.default_rng(0).integers(1, 500, 5003)
    plain, sorted_ = Order(5003, 16, 0), Order(5003, 16, 0, lengths)

    def padding(order):  # share of a batch that is no token, over two epochs; 5,003 is no multiple of 16
        steps = [lengths[order.step(step).tolist()] for step in range(625)]
        return 1 - sum(of.sum() for of in steps) / sum(of.max() * len(of) for of in steps)

    assert padding(plain) > 0.4
    assert padding(sorted_) < 0.05
    other = Order(5003, 16, 1, lengths)
    assert [sorted_.step(step).tolist() for step in range(9)] != [other.step(step).tolist() for step in range(9)]
    longest = [lengths[sorted_.step(step).tolist()].max() for step in range(300)]
    assert longest != sorted(longest)  # batches of a pool are shuffled


def test_a_step_is_a_function_of_seed_and_number_alone():
    right = [Order(50, 8, 1).step(step).tolist() for step in range(40)]
    assert [Order(50, 8, 1).step(step).tolist() for step in reversed(range(40))][::-1] == right
    assert [Order(50, 8, 2).step(step).tolist() for step in range(40)] != right


def test_the_order_stays_what_it_was():
    assert Order(10, 5, 0).step(0).tolist() == [5, 4, 8, 3, 7]


def micro_batches(world, accumulate, batch=13):
    order = Order(len(ROWS), batch, seed=3)
    how = {"world": world, "accumulate": accumulate}
    return [MicroBatches(TokenStore.of(ROWS), order, collate, rank=rank, **how) for rank in range(world)]


@pytest.mark.parametrize(("world", "accumulate"), WORLDS)
def test_micro_batches_of_all_ranks_are_the_step_and_know_it(world, accumulate):
    """Each row is in one of them. Whatever draws by step draws the same on every rank and in every micro-batch."""
    ranks, order = micro_batches(world, accumulate), Order(len(ROWS), 13, seed=3)
    for step in range(5):
        items = [ranks[rank][step * accumulate + micro] for micro in range(accumulate) for rank in range(world)]
        assert all(item["ids"] for item in items)
        assert [name for item in items for name in item["ids"]] == [ROWS[i].id for i in order.step(step).tolist()]
        assert {item["step_tokens"] for item in items} == {sum(item["tokens"] for item in items)}
        assert {(item["step"], item["step_rows"]) for item in items} == {(step, 13)}
    for rank in ranks:
        assert [item["item"] for item in Epoch(rank, 5, lambda: 0)] == list(range(5 * accumulate))


@pytest.mark.parametrize("accumulate", [1, 2])
@pytest.mark.parametrize(("reached", "steps"), [(0, [0, 1, 2, 3]), (3, [3]), (4, [4, 5, 6, 7]), (6, [6, 7])])
def test_an_epoch_goes_on_where_the_training_is(accumulate, reached, steps):
    """To the end of the epoch it is in: epochs of four steps."""
    (batches,) = micro_batches(1, accumulate)
    items = list(Epoch(batches, 4, lambda: reached))
    assert [item["step"] for item in items] == [step for step in steps for _ in range(accumulate)]


# Evaluation -------------------------------------------------------------------------------------------------------


@given(st.randoms(use_true_random=False), st.integers(1, 30))
def test_evaluation_batches_do_not_depend_on_the_order_of_rows(shuffler, size):
    mixed = list(ROWS)
    shuffler.shuffle(mixed)
    assert evaluation_batches(mixed, size) == evaluation_batches(ROWS, size)


@pytest.mark.parametrize("world", [1, 2, 3, 40])
def test_every_rank_has_as_many_turns_and_every_row_is_in_one(world):
    ranks = [EvaluationEpoch(ROWS, 4, list, rank=rank, world=world) for rank in range(world)]
    turns = [list(rank) for rank in ranks]
    assert {len(turn) for turn in turns} == {len(ranks[0])}
    rows = [row.id for turn in turns for batch in turn if batch is not None for row in batch]
    assert sorted(rows) == sorted(row.id for row in ROWS)


# Subsets ----------------------------------------------------------------------------------------------------------

IDS = [f"test/{i}" for i in range(200)]


def test_a_subset_stays_what_it_was():
    assert chosen([str(i) for i in range(12)], 4) == ["2", "4", "10", "11"]


@given(st.randoms(use_true_random=False), st.integers(1, 200))
def test_a_subset_does_not_depend_on_the_order_and_keeps_it(shuffler, n):
    mixed = list(IDS)
    shuffler.shuffle(mixed)
    found = chosen(mixed, n)
    assert set(found) == set(chosen(IDS, n))
    assert found == [name for name in mixed if name in set(found)]
    assert len(found) == n


def test_a_larger_subset_holds_the_smaller_one():
    assert all(set(chosen(IDS, n)) <= set(chosen(IDS, n + 7)) for n in range(1, 190))
