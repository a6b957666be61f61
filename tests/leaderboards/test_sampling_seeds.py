"""Sampling seeds in tables: the mean of a training's samples, an interval over these or over trainings, never both."""

import json

import pytest

from bench.leaderboards.published.paper_files import read
from bench.leaderboards.published.papers import chosen, needs
from bench.leaderboards.published.reproduction import reproduce
from bench.leaderboards.render import reproduction
from bench.leaderboards.render.board import board
from bench.leaderboards.render.formats import markdown
from bench.leaderboards.statistics.intervals import seed_mean
from bench.leaderboards.table import tables
from bench.metrics.sums import Sums, mean
from bench.store.store import Store
from tests.leaderboards.handmade import leaderboards_of, scored, trained
from tests.leaderboards.published.test_reproduction import BIG, PAPER

NUMBERS = {None: 30.0, 7: 31.0, 42: 35.0}
"""Of one training, by the seed that its texts were sampled with; None is the seed of the training, 0."""


def store(root, seeds=(0,), more=0.0, **changes):
    """Store the numbers of the samples of some trainings."""
    for seed in seeds:
        cell = trained(root, "mle", seed, **changes)
        for sampling_seed, number in NUMBERS.items():
            scored(cell, {"bleu-1": number + more * seed}, decoding="topk=3", sampling_seed=sampling_seed)
        scored(cell, {"ppl/word": 20.0}, kind="likelihood", decoding=None)


def the_row(root):
    """The only row, and the half width of each of its intervals."""
    found = leaderboards_of(Store(root))
    (row,) = found.tables[0].rows
    return row, {column: value.half for column, value in row.values.items()}


def test_of_one_training_mean_and_interval_are_over_its_sampling_seeds(tmp_path):
    store(tmp_path)
    row, half = the_row(tmp_path)
    value = row.values["bleu-1"]
    assert (value.mean, value.n, value.by_seed) == (32.0, 1, {0: 32.0})
    assert value.by_sampling_seed == {0: {0: 30.0, 7: 31.0, 42: 35.0}}
    assert not value.conflict
    assert half["bleu-1"] == seed_mean([30.0, 31.0, 35.0]).half
    assert half["ppl/word"] is None
    shown = leaderboards_of(Store(tmp_path))
    of_board = board(shown)["tables"][0]["methods"][0]["values"]["bleu-1"]
    assert (of_board["by_seed"], of_board["by_sampling_seed"]) == (
        {"0": 32.0},
        {"0": {"0": 30.0, "7": 31.0, "42": 35.0}},
    )
    page = markdown(shown)
    assert "mle: mean and ± of sampled texts are over 3 sampling seeds of one training" in page


def test_of_several_trainings_the_interval_is_over_trainings_alone(tmp_path):
    store(tmp_path, seeds=(0, 1, 2), more=3.0)
    row, half = the_row(tmp_path)
    value = row.values["bleu-1"]
    assert value.by_seed == {0: 32.0, 1: pytest.approx(35.0), 2: pytest.approx(38.0)}
    assert (value.sampled, len(value.by_sampling_seed[2])) == ({}, 3)
    assert half["bleu-1"] == pytest.approx(seed_mean([32.0, 35.0, 38.0]).half)
    assert "± is over trainings" in row.sampling_note


def test_one_sample_of_each_training_is_as_it_was(tmp_path):
    for seed, number in enumerate((30.0, 31.0, 35.0)):
        scored(trained(tmp_path, "mle", seed), {"bleu-1": number}, decoding="topk=3")
    row, _ = the_row(tmp_path)
    assert (row.values["bleu-1"].by_seed, row.sampling_note) == ({0: 30.0, 1: 31.0, 2: 35.0}, "")
    assert "by_sampling_seed" not in json.dumps(board(leaderboards_of(Store(tmp_path))))


def test_two_numbers_of_one_sampling_seed_are_a_conflict(tmp_path):
    store(tmp_path)
    cell = trained(tmp_path, "mle", 0)
    scored(cell, {"bleu-1": 33.0}, decoding="topk=3", sampling_seed=42)
    assert the_row(tmp_path)[0].values["bleu-1"].conflict


def test_histalign_table_3_is_planned_with_the_sampling_seeds_of_the_paper():
    assert {need.sampling_seeds for need in needs(chosen(["histalign/table3"]), "paper")} == {(0, 1, 42)}
    assert {need.sampling_seeds for need in needs(chosen(["histalign/table5"]), "paper")} == {()}


def test_a_published_number_is_compared_with_the_interval_over_sampling_seeds(tmp_path):
    store(tmp_path, **BIG)
    table = read(PAPER.replace('decoding = "greedy"', 'decoding = "topk=3"'), "papers/paper.toml").tables[0]
    found = reproduce(table, tables(Store(tmp_path), None, "all", False)[0], "paper")
    ours = found.rows[0].cells[0].ours
    assert (ours.mean, ours.n) == (32.0, 3)
    assert ours.half == seed_mean([30.0, 31.0, 35.0]).half
    shown = reproduction.terminal([found])
    assert "ours (n=1, 3 sampling seeds)" in shown, "perplexity is of the training"
    assert "mle: mean and ± of sampled texts are over 3 sampling seeds of one training" in shown


def test_sums_over_items_are_of_single_samples(tmp_path):
    """A mean over samples has no sums of its own, so it is tested over no items; those of each sample stay stored."""
    cell, sums = trained(tmp_path, "mle", 0), Sums(mean(100.0), [[1, 1], [0, 1]])
    scored(cell, {"bleu-1": 50.0}, decoding="topk=3", sampling_seed=0, items={"bleu-1": sums})
    assert the_row(tmp_path)[0].values["bleu-1"].sums.keys() == {0}
    scored(cell, {"bleu-1": 60.0}, decoding="topk=3", sampling_seed=7, items={"bleu-1": sums})
    value = the_row(tmp_path)[0].values["bleu-1"]
    assert (value.sums, value.by_seed) == ({}, {0: 55.0})
