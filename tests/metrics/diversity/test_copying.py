"""Copying: by hand and by slow search, edges, metamorphic rules, class and stored rows."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.metrics import METRICS, Copying
from bench.metrics.diversity.copying import copied, matches, words_of
from bench.metrics.sums import ratio, value_of
from tests.metrics.diversity_cases import TEXT

PAIRS = st.lists(st.tuples(TEXT, TEXT), max_size=5)
COLUMNS = [*(f"copy-{n}" for n in range(1, 5)), *(f"novel-{n}" for n in range(1, 5)), "longest-copy"]


def copy_rates(texts, sources):
    return [value_of(column, ratio()) for column in copied(texts, sources).sum(axis=0)[:, :4].T.tolist()]


def longest_copied(texts, sources):
    return value_of(copied(texts, sources).sum(axis=0)[:, 4].tolist(), ratio(1))


def every(words, n):
    return [tuple(words[i : i + n]) for i in range(len(words) - n + 1)]


def plain_rates(texts, sources):
    found = []
    for n in range(1, 5):
        total = sum(len(every(text, n)) for text in texts)
        same = sum(
            gram in every(source, n) for text, source in zip(texts, sources, strict=True) for gram in every(text, n)
        )
        found.append(100 * same / total if total else None)
    return found


def plain_longest(text, source):
    return max((n for n in range(1, len(text) + 1) if set(every(text, n)) & set(every(source, n))), default=0)


@settings(deadline=None, max_examples=200)
@given(PAIRS)
def test_slow_search_says_the_same(pairs):
    texts, sources = [text for text, _ in pairs], [source for _, source in pairs]
    assert copy_rates(texts, sources) == plain_rates(texts, sources)
    spans = [plain_longest(text, source) for text, source in pairs if text]
    assert longest_copied(texts, sources) == (sum(spans) / len(spans) if spans else None)


def test_a_run_does_not_cross_a_word_that_the_source_lacks():
    assert matches(["a", "x", "b", "a", "b"], ["a", "b", "y", "b", "a"]) == [1, 0, 1, 2, 2]
    assert matches(["x", "x"], []) == [0, 0]


def test_words_of_any_script_without_case_and_marks():
    assert words_of(["Don’t, STOP!", "안녕 세계.", ""]) == [["don", "t", "stop"], ["안녕", "세계"], []]


def test_a_book_as_source_has_more_words_than_one_byte():
    source = list(range(70_000))  # over the surrogates too
    assert matches(source[55_000:58_000], source) == list(range(1, 3001))


def test_an_empty_source_beside_others_is_a_source_and_alone_is_none():
    """Batch by batch too, where the class cannot see the others."""
    metric = Copying(columns=["{copy,novel}-1"])
    metric.update(["a", "b"], ["", ""])
    assert all(value.isnan() for value in metric.compute().values())
    metric.update(["c"], ["c"])
    assert {name: value.item() for name, value in metric.compute().items()} == {
        "copy-1": pytest.approx(100 / 3), "novel-1": pytest.approx(200 / 3),
    }  # fmt: skip
    metric.update([{"id": "x", "text": "d"}], {"x": {}}, inputs="stored")
    with pytest.raises(ValueError, match="a source in all 4 rows or in none; 1 rows have none"):
        metric.compute()


def test_stored_rows_are_compared_with_the_source_in_their_gold():
    rows = [{"id": "0", "text": "a dog ran to the park"}, {"id": "1", "text": ""}]
    load = METRICS["copying"].load()
    found = {one.name: one.value for one in load(rows, {"0": {"source": "The dog ran to town."}, "1": {"source": ""}})}
    assert list(found) == COLUMNS
    assert [*found.values()] == pytest.approx([66.6666667, 40, 25, 0, 33.3333333, 60, 75, 100, 3])
    none = load(rows, {"0": {"references": ["a"]}, "1": {}})
    assert [one.value for one in none] == [None] * len(COLUMNS)
    assert all(one.signature.endswith("|not applicable: rows without a source or prompt") for one in none)
    with pytest.raises(ValueError, match=r"in all 2 rows or in none; 1 rows have none: \['1'\]"):
        load(rows, {"0": {"source": "a"}, "1": {}})
