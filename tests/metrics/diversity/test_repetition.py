"""Rep: the rule by hand and by plain loops over all phrases, golden sets, edges."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.metrics.diversity.repetition import ends_in_a_loop
from tests.metrics.diversity_cases import GOLDEN, golden, plain_loop, repetition

A, B, C = 1, 2, 3
PARTS = st.lists(st.tuples(st.lists(st.integers(0, 2), min_size=1, max_size=4), st.integers(1, 60)), max_size=3)


@pytest.mark.parametrize("name", GOLDEN)
def test_golden(name):
    texts, _, expected = golden(name)
    assert repetition(texts) / 100 == expected["repetition"]


@pytest.mark.parametrize(
    ("text", "loop"),
    [
        ([A, B, C, A, B, C], True),  # three tokens, twice
        ([7, 8, 9, 10, A, B, C, A, B, C], True),
        ([A, B, C, A, B, C, 7], False),  # not at the end
        ([A] * 50, False),
        ([A] * 51, True),  # over 50 times
        ([A, B] * 50, False),
        ([A, B] * 51, True),
        ([A, B, B, A, B, B], False),  # B twice as well: of equals the shortest counts
        ([A, B, B] * 3, True),  # three times beats B's two
        ([A, B, C, B, C] * 2, False),  # B C twice
        ([*range(100)] * 2, True),
        ([*range(101)] * 2, False),  # phrases of up to 100 tokens
        ([A, B, C], False),
        ([A], False),
        ([], False),
    ],
)
def test_the_rule_by_hand(text, loop):
    assert ends_in_a_loop(text) is loop
    assert plain_loop(text) is loop
    assert repetition([text]) == (100.0 if loop else 0.0)


@settings(deadline=None, max_examples=200)
@given(PARTS)
def test_plain_loops_say_the_same(parts):
    text = [token for phrase, times in parts for token in phrase * times]
    assert ends_in_a_loop(text) is plain_loop(text)
    assert ends_in_a_loop([*text, 7]) is plain_loop([*text, 7])


def test_no_text_is_not_defined_and_an_empty_one_has_no_loop():
    assert repetition([]) is None
    assert repetition([[], [A, B, C, A, B, C]]) == 50.0
