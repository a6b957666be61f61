"""Pieces: the words of a text in order, however they are spaced."""

from hypothesis import example, given, settings
from hypothesis import strategies as st

from bench.tasks.core.pieces import pieces


@settings(max_examples=200)
@given(st.text(st.sampled_from("ab \n\t\u00a0\u2028é"), max_size=400), st.integers(1, 9))
@example("a" * 70_000 + " b " + "c" * 65_535 + " d", 2)
@example(" " * 70_000 + "a", 3)
def test_pieces_are_the_words_in_order(text: str, words: int) -> None:
    found = list(pieces(text, words))
    assert " ".join(found) == " ".join(text.split())
    assert all(len(piece.split(" ")) == words for piece in found[:-1])
    assert not found or 1 <= len(found[-1].split(" ")) <= words
