"""Self-BLEU: golden sets, nltk and a plain form of the authors' algorithm as oracles, what is defined, speed."""

import math
import warnings

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from nltk.translate import bleu_score

from bench.metrics.diversity.self_bleu import DEFINITIONS
from tests.metrics.diversity_cases import (
    GOLDEN,
    TEXT,
    golden,
    plain_self_bleu,
    self_bleu,
)

SETS = st.lists(TEXT, min_size=2, max_size=6)
SMOOTHING = bleu_score.SmoothingFunction().method1


def by_nltk(texts, n):
    scores = []
    for place, text in enumerate(texts):
        others = [*texts[:place], *texts[place + 1 :]]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            scores.append(bleu_score.sentence_bleu(others, text, [1 / n] * n, SMOOTHING))
    return 100 * sum(scores) / len(scores)


@pytest.mark.parametrize("name", GOLDEN)
def test_golden(name):
    texts, _, expected = golden(name)
    f2, texygen = self_bleu(texts, 5), self_bleu(texts, 4, "original")
    assert [value / 100 for value in f2] == pytest.approx(expected["self_bleu"], rel=1e-12, abs=0)  # 1e-101 too
    assert [value / 100 for value in texygen] == pytest.approx(expected["self_bleu_texygen_method1"], abs=1e-15)


def test_one_set_by_hand():
    """Pair 1 2 is in the first two texts; only the third has two 7s, and may not use the second of them."""
    texts = [[1, 2, 7], [1, 2, 3, 4], [7, 7]]
    three, four, two = 3 / 3, 2 / 4 * 1, 1 / 2 * math.exp(1 - 3 / 2)
    assert self_bleu(texts, 1) == [pytest.approx(100 * (three + four + two) / 3)]
    pairs = [math.sqrt(1 * 1 / 2), math.sqrt(1 / 2 * 1 / 3), math.sqrt(1 / 2 * 0.1 / 1) * math.exp(-0.5)]
    assert self_bleu(texts, 2, "original")[1] == pytest.approx(100 * sum(pairs) / 3)


@pytest.mark.parametrize("definition", DEFINITIONS)
@settings(deadline=None, max_examples=100)
@given(SETS)
@example([[1, 2], [1, 2]])
def test_the_fast_form_is_the_plain_one(definition, texts):
    found = self_bleu(texts, 4, definition)
    for n, value in enumerate(found, start=1):
        if n > max(map(len, texts)):
            assert value is None
        else:
            assert value == pytest.approx(plain_self_bleu(texts, n, definition), rel=1e-11, abs=1e-300)
            if definition == "original":
                assert value == pytest.approx(by_nltk(texts, n), abs=1e-11)


# What is defined


@pytest.mark.parametrize("definition", DEFINITIONS)
def test_nothing_to_compare_is_not_defined(definition):
    assert self_bleu([], 2, definition) == self_bleu([[1, 2, 3]], 2, definition) == [None, None]
    assert self_bleu([[], []], 2, definition) == [None, None]
