"""The n-gram pass: beside counters, in both ways of sorting, at the edges."""

import numpy as np
import pytest
from hypothesis import given, settings

from bench.metrics.diversity import ngrams
from bench.metrics.diversity.ngrams import count_ngrams, flatten
from tests.metrics.diversity_cases import TEXTS, grams, zipf_texts


def by_counter(texts, n):
    """Counts as the pass gives them, but with the n-gram in place of its number."""
    return [(gram, text, count) for gram, text, count in sorted(
        (gram, number, count) for number, text in enumerate(texts) for gram, count in grams(text, n).items()
    )]  # fmt: skip


def as_triples(pairs):
    return list(zip(pairs.grams.tolist(), pairs.texts.tolist(), pairs.counts.tolist(), strict=True))


def assert_counts(texts, max_n):
    for n, pairs in enumerate(count_ngrams(texts, max_n), start=1):
        expected = by_counter(texts, n)
        number = {gram: i for i, gram in enumerate(sorted({gram for gram, _, _ in expected}))}
        assert as_triples(pairs) == [(number[gram], text, count) for gram, text, count in expected]
        assert (pairs.n_texts, pairs.kinds, pairs.numbers) == (len(texts), len(number), len(number))
        assert pairs.kinds_by_text().tolist() == [len(grams(text, n)) for text in texts]


@settings(deadline=None, max_examples=100)
@given(TEXTS)
def test_the_pass_counts_what_counters_count(texts):
    assert_counts(texts, 5)


def test_keys_too_large_to_pack_are_sorted_all_the_same(monkeypatch):
    texts = zipf_texts(20, 60, shortest=0)
    packed = count_ngrams(texts, 4)
    keys = np.array([5, 2**62, 5, 0, 2**62])
    assert [part.tolist() for part in ngrams._sorted(keys)] == [[0, 5, 5, 2**62, 2**62], [3, 0, 2, 1, 4]]
    monkeypatch.setattr(ngrams, "INT64_BITS", 0)
    for one, other in zip(packed, count_ngrams(texts, 4), strict=True):
        assert as_triples(one) == as_triples(other)


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["a b"], "list of token ids for each text"),
        ("ab", "list of token ids for each text"),
        ([1, 2], "list of token ids for each text"),
        ([[1, 2.5]], "list of token ids for each text"),
        ([[1, None]], "list of token ids for each text"),
        ([[2**63]], "list of token ids for each text"),
        ([[1], [3, -100]], "got -100; drop padding"),
    ],
)
def test_what_is_no_text_is_refused(texts, message):
    for use in (flatten, lambda these: count_ngrams(these, 2)):
        with pytest.raises(ValueError, match=message):
            use(texts)
