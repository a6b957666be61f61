"""MS-Jaccard: golden sets, both definitions beside plain dictionaries, what is defined, metamorphic."""

import math

import pytest
from hypothesis import example, given, settings

from tests.metrics.diversity_cases import GOLDEN, TEXTS, golden, ms_jaccard, plain_ms_jaccard

DEFINITIONS = ("original", "f2_code")


@pytest.mark.parametrize("name", GOLDEN)
def test_golden(name):
    texts, references, expected = golden(name)
    f2, original = ms_jaccard(texts, references, 5, "f2_code"), ms_jaccard(texts, references, 4)
    assert [value / 100 for value in f2] == pytest.approx(expected["ms_jaccard"], abs=1e-14)
    theirs = list(expected["ms_jaccard_alihosseini"].values())
    assert [value / 100 for value in original] == pytest.approx(theirs, abs=1e-12)


def test_one_pair_of_sets_by_hand():
    """Two texts against one: counts per text 1 1/2 1/2 and 1 1 0; the only pair on both sides is 1 2."""
    texts, references = [[1, 2], [1, 3]], [[1, 2]]
    one, two = ms_jaccard(texts, references, 2)
    assert one == pytest.approx(100 * (1 + 0.5) / (1 + 1 + 0.5))
    assert two == pytest.approx(100 * math.sqrt(1.5 / 2.5 * 0.5 / 1.5))


def test_the_longer_text_is_unlike_by_the_original_only():
    short, long = [[1, 2]], [[1, 2] * 4]
    assert ms_jaccard(short, long, 1) == [25.0]
    assert ms_jaccard(short, long, 1, "f2_code") == [100.0]


@pytest.mark.parametrize("definition", DEFINITIONS)
@settings(deadline=None, max_examples=100)
@given(TEXTS, TEXTS)
@example([], [])
@example([[1]], [])
@example([], [[1]])
@example([[]], [[1]])
@example([[1]], [[], []])
@example([[]], [[]])
@example([[1, 2]], [[1, 2, 3]])
def test_the_fast_form_is_the_plain_one(definition, texts, references):
    enough = min(max(map(len, side), default=0) for side in (texts, references))
    found = ms_jaccard(texts, references, 4, definition)
    assert [value is None for value in found] == [n > enough for n in (1, 2, 3, 4)]
    for n in range(1, min(enough, 4) + 1):
        assert found[n - 1] == pytest.approx(plain_ms_jaccard(texts, references, n, definition), abs=1e-11)
        alone = ms_jaccard(texts, references, n, definition)[-1]
        assert alone == found[n - 1], "a larger n changes no smaller one"
