"""Detokenise: nothing is lost but spaces and the form of quotes, and what is together stays together."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.tasks.files.detokenise import detokenise

TOKENS = ["a", "dogs", "ca", "n't", "'s", "'", "''", "``", '"', "(", ")", "$", "5", ".", ",", "...", "--", "-LRB-", "’",
          "t", "“", "”", "can", "not", "gon", "na", "x''", "``y", "\u00e9", "한글"]  # fmt: skip


@pytest.mark.parametrize(
    ("tokens", "text"),
    [
        ("He wo n't , she 'll , they 've .", "He won't, she'll, they've."),
        ("`` Why ? '' `` No ! ''", '"Why?" "No!"'),
        ("`` a '' , `` b ''", '"a", "b"'),
        ("`` ` in ' , '' he said", "\"'in',\" he said"),
        ("the cat 's and the cats ' toys", "the cat's and the cats' toys"),
        ('" ( a ) " [ b ]', '"(a)" [b]'),
        ("( see -LRB- x -RRB- )", "(see (x))"),
        ("a -- b - c / d", "a -- b - c / d"),
        ("it cost $ 1,000 , not £ 5 .", "it cost $1,000, not £5."),
        ("I do n't ... '", "I don't... '"),
        ("don ’ t say ‘ never ’ to “ me ” .", "don’t say ‘never’ to “me”."),
        ("She can not , gon na , wan na .", "She cannot, gonna, wanna."),
        ("African national", "African national"),
        ("", ""),
        (" \n ", ""),
        ("\ta\u00a0b \n c", "a b c"),
    ],
)
def test_how_people_write_it(tokens: str, text: str) -> None:
    assert detokenise(tokens) == text


def letters(text: str) -> str:
    """What must not change: everything but white space, quotes and the names of brackets."""
    return re.sub(r"\s|[\"'`]|-[lr]rb-|[()]", "", text, flags=re.IGNORECASE)


@given(st.lists(st.sampled_from(TOKENS), max_size=30))
def test_nothing_but_spaces_and_quotes_changes(tokens: list[str]) -> None:
    found = detokenise(" ".join(tokens))
    assert letters(found) == letters("".join(tokens))
    assert not re.search(r"[\1\2]|\s\s|^\s|\s$", found)


@given(st.text(max_size=80))
def test_any_text_is_one_line(text: str) -> None:
    assert len(detokenise(text.replace("\1", "").replace("\2", "")).splitlines()) <= 1
