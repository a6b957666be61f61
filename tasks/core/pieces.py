"""Pieces: runs of the words of a text, cut in linear time and little memory however long a line is."""

import re
from collections.abc import Iterator
from itertools import islice

LONGEST_WORD = 10_000
"""Characters; more than that without a space is no word of a text, and a BPE would learn from it for hours."""


VISIBLE = re.compile(
    "[^\\s\0-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
"""A character that shows: no white space or control character, not Braille without dots, and none that Unicode asks not
to show (Default_Ignorable_Code_Point): marks of direction or variation, fillers, joiners."""


def is_blank(text: str) -> bool:
    r"""Return whether nothing of a text shows.

    >>> is_blank("\u00a0\u200b\n"), is_blank("\u200bto be")
    (True, False)
    """
    return VISIBLE.search(text) is None


def pieces(text: str, words: int) -> Iterator[str]:
    """Cut a text into runs of so many words, the last one maybe shorter, with one space between words.

    The time is linear and the memory that of one piece, also for a line of 100 MB.

    >>> list(pieces(" to be\\tor  not\\nto be ", 4))
    ['to be or not', 'to be']
    """
    found = (word[0] for word in re.finditer(r"\S+", text))
    while piece := list(islice(found, words)):
        yield " ".join(piece)


def longest_word(text: str) -> int:
    """Return how many characters the longest word has if they are too many for a word, else 0.

    >>> longest_word("to be"), longest_word("to " + "b" * 10_001)
    (0, 10001)
    """
    if len(text) <= LONGEST_WORD:
        return 0
    longest = max(map(len, text.split()), default=0)
    return longest if longest > LONGEST_WORD else 0
