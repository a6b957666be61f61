"""Sums: values by hand, sacrebleu, nltk and `perplexity` as oracles, what is refused."""

import math
import random

import numpy as np
import pytest
import sacrebleu
from hypothesis import given, settings

from bench.metrics.overlap.bleu_chrf import statistics
from bench.metrics.sums import Form, Sums, bleu, mean, perplexity, ratio, values_of
from tests.metrics.family_rows import LAST_BITS
from tests.metrics.overlap.test_table_bleu import CORPUS

FOURTHS = (0.25,) * 4
EXAMPLES = [
    Sums(mean(), [[0.5, 1], [1, 1], [0, 1]]),
    Sums(ratio(1), [[-3, 4], [0.25, 0.5]]),
    Sums(perplexity(), [[12.5, 4], [0, 0], [3.25, 2]]),
    Sums(bleu((0.33, 0.33, 0.33), "tiny"), [[3, 2, 1, 4, 3, 2, 4, 6], [1, 0, 0, 2, 1, 1, 2, 2]]),
    Sums(bleu(), [[5, 4, 3, 2, 5, 4, 3, 2, 5, 5]]),
]


def from_sacrebleu(counts):
    """Statistics in sacrebleu's order (lengths, matches, totals) in ours."""
    return [[*row[2:], *row[:2]] for row in counts]


# Values


def test_values_by_hand():
    mean_, ratio_, perplexity_, bleu_, perfect = (items.value for items in EXAMPLES)
    assert (mean_, ratio_, perfect) == (50, -2.75 / 4.5, 100)
    assert perplexity_ == pytest.approx(math.exp(15.75 / 6), rel=1e-15)
    assert bleu_ == pytest.approx(100 * math.exp(1 - 8 / 6) * (4 / 6 * 2 / 4 * 1 / 3) ** 0.33, rel=1e-14)


def test_smoothing_by_hand():
    """2 of 3 words match, no pair of 2, no triple of 1; r = h."""
    counts, thirds = [[2, 0, 0, 3, 2, 1, 3, 3]], (1 / 3,) * 3
    assert Sums(bleu(thirds), counts).value == 0
    assert Sums(bleu(thirds, "exp"), counts).value == pytest.approx(100 * (2 / 3 / (2 * 2) / (4 * 1)) ** (1 / 3))
    assert 0 < Sums(bleu(thirds, "tiny"), counts).value < 1e-100
    assert Sums(bleu((1, 0, 0)), counts).value == pytest.approx(200 / 3)  # orders without weight play no part


def test_nothing_counted_is_no_number():
    assert all(math.isnan(Sums(form, [[0, 0]]).value) for form in (mean(), ratio(), perplexity()))
    assert Sums(bleu(), [[0] * 10]).value == 0  # sacrebleu's rule
    assert Sums(perplexity(), [[1e6, 1]]).value == math.inf


@pytest.mark.parametrize("items", EXAMPLES, ids=lambda items: items.form.kind)
def test_many_sums_at_once_are_the_same_values(items):
    sums = np.stack([items.values, 2 * items.values, items.values[::-1]])
    values = values_of(sums, items.form)
    assert values.shape == sums.shape[:2]
    alone = [[float(values_of(row, items.form)) for row in table] for table in sums]
    np.testing.assert_array_equal(values, alone)


@pytest.mark.parametrize("items", EXAMPLES, ids=lambda items: items.form.kind)
def test_the_order_of_rows_does_not_change_a_bit(items):
    many = [[x * (1 + i % 7) if i % 3 else 0 for x in row] for i in range(99) for row in items.values.tolist()]
    before = Sums(items.form, many)
    random.Random(3).shuffle(many)
    assert Sums(items.form, many).value == before.value
    assert Sums(items.form, [*many, *many]).value == pytest.approx(before.value)


# Oracles


@settings(deadline=None, max_examples=60)
@given(CORPUS)
@pytest.mark.parametrize("smoothing", ["none", "exp"])
def test_bleu_is_sacrebleus(smoothing, corpus):
    hypotheses, references = map(list, zip(*corpus, strict=True))
    metric = sacrebleu.BLEU(smooth_method=smoothing, force=True)
    counts = statistics(metric, hypotheses, references)
    expected = metric._compute_score_from_stats([sum(column) for column in zip(*counts, strict=True)]).score
    found = Sums(bleu(FOURTHS, smoothing), from_sacrebleu(counts)).value
    within = LAST_BITS if smoothing == "exp" else 1e-12
    assert found == pytest.approx(expected, rel=within, abs=0)


# What is refused


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Sums(mean(), []), "one row or more of 2 numbers for mean, got \\(0,\\)"),
        (lambda: Sums(mean(), [[1, 2, 3]]), "2 numbers for mean, got \\(1, 3\\)"),
        (lambda: Sums(mean(), [[1, 2], [3]]), "a table of numbers"),
        (lambda: Sums(mean(), [[1, 1], [math.nan, 1]]), "row 1: expected a finite number, got nan in place 0"),
        (lambda: Sums(perplexity(), [[1, -1]]), "row 0: expected counts"),
        (lambda: Sums(mean(), [[1, 1], [1, 0.5]]), "row 1: expected counts"),
        (lambda: Sums(bleu((1,)), [[2, 1, 1, 1]]), "matches no more than n-grams, got \\[2.0, 1.0, 1.0, 1.0\\]"),
        (lambda: Form("median"), "kind 'median' is unknown; there are: mean, ratio, perplexity, bleu"),
        (lambda: bleu((1,), "add-k"), "smoothing 'add-k' is unknown; there are: none, exp, tiny"),
        (lambda: values_of([1, 2, 3], mean()), "2 sums for mean, got the shape \\(3,\\)"),
    ],
)
def test_refuses_what_no_metric_wrote(make, message):
    with pytest.raises(ValueError, match=message):
        make()
