"""Distinct-n and seq-rep-n: golden sets, counted by hand and by sets, what is defined, metamorphic."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.metrics.diversity.distinct import DEFINITIONS
from tests.metrics.diversity_cases import GOLDEN, RAISES, TEXTS, distinct, golden, grams, seq_rep


def plain_distinct(texts, n, definition):
    if not any(grams(text, n) for text in texts):
        return None
    if definition == "original":
        return 100 * len({gram for text in texts for gram in grams(text, n)}) / sum(map(len, texts))
    if definition == "f2_code":
        shares = [len(grams(text, n)) / len(text) for text in texts if len(text) > 5 and len(text) >= n]
    else:
        shares = [len(grams(text, n)) / (len(text) - n + 1) for text in texts if len(text) >= n]
    return 100 * sum(shares) / len(shares) if shares else None


@pytest.mark.parametrize("name", GOLDEN)
def test_golden(name):
    texts, _, expected = golden(name)
    assert [distinct(texts, n) / 100 for n in range(1, 6)] == pytest.approx(expected["distinct"], abs=1e-14)
    each = expected["ul_ngram_metrics"]
    for text, theirs in zip(texts, each, strict=True):
        ours = [seq_rep([text], n) for n in (1, 2, 3, 4)]
        if isinstance(theirs, str):  # the authors' code divides by zero
            assert theirs.startswith(RAISES)
            assert ours == [0.0 if n <= len(text) else None for n in (1, 2, 3, 4)]
        else:
            assert ours == pytest.approx(list(theirs.values()), abs=1e-15)
    if str(expected["seq_rep_4"]).startswith(RAISES):
        long = [text for text in texts if len(text) >= 4]
        assert len(long) < len(texts)
        assert seq_rep(texts) == seq_rep(long) == 0.0
    else:
        assert seq_rep(texts) == pytest.approx(expected["seq_rep_4"], abs=1e-15)


def test_the_definitions_by_hand():
    texts = [[1, 2, 1, 2, 1, 2, 1], [1, 2, 1]]
    assert distinct(texts, 2, "f2_code") == pytest.approx(100 * 2 / 7)  # the short text is left out
    assert distinct(texts, 2, "per_text") == pytest.approx(100 * (2 / 6 + 2 / 2) / 2)
    assert distinct(texts, 2, "original") == pytest.approx(100 * 2 / 10)
    assert seq_rep(texts, 2) == pytest.approx((4 / 6 + 0) / 2)


@pytest.mark.parametrize("definition", DEFINITIONS)
@settings(deadline=None, max_examples=100)
@given(TEXTS, st.integers(1, 4))
def test_sets_say_the_same(definition, texts, n):
    found = distinct(texts, n, definition)
    assert found == pytest.approx(plain_distinct(texts, n, definition), abs=1e-11)
    if definition == "per_text":
        repeated = seq_rep(texts, n)
        assert repeated == (None if found is None else pytest.approx(1 - found / 100, abs=1e-12))


# What is defined


@pytest.mark.parametrize("definition", DEFINITIONS)
@pytest.mark.parametrize("texts", [[], [[]], [[], []], [[1, 2]]])
def test_without_a_triple_it_is_not_defined(definition, texts):
    assert distinct(texts, 3, definition) is None
    assert seq_rep(texts, 3) is None


def test_five_tokens_are_too_few_for_the_authors_code():
    five, six = [[1, 2, 3, 4, 5]], [[1, 2, 3, 4, 5, 6]]
    assert distinct(five, 1) is None
    assert distinct([*five, *six], 1) == distinct(six, 1) == 100
    assert distinct(six, 2) == pytest.approx(100 * 5 / 6)  # all pairs new, and yet not 100
    assert distinct(six, 7) is None
