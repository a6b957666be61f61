"""Bags of words: which words a text has and how often, in any script, as sparse integer rows."""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bench.errors import DataError

__all__ = ["Bags", "bags_of", "words"]

# Raise VERSION in retrieve.py with any change of the words of a bag.
CHUNK = 8_192  # texts counted at once
LIMIT = 2**31  # a squared length must stay below, so that products of two counts fit 32 bits
UNSPACED = {"CJK", "IDEOGRAPHIC", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA", "BOPOMOFO"}
UNSPACED |= {"THAI", "LAO", "KHMER", "MYANMAR", "TIBETAN"}
"""How Unicode's names of letters begin in scripts that put no space between words."""


class Bags(NamedTuple):
    """The bags of some texts, one sparse row each.

    Args:
        starts: where the words of a text begin in the next two, int64 [texts + 1].
        terms: numbers of the known words of a text, rising within it, int32 [entries].
        counts: how often the text has them, int32 [entries].
        squared: the squared length of a whole bag, words that are not known among them, int64 [texts].
    """

    starts: npt.NDArray[np.int64]
    terms: npt.NDArray[np.int32]
    counts: npt.NDArray[np.int32]
    squared: npt.NDArray[np.int64]


def words(text: str) -> list[str]:
    """Split a text into the words of its bag.

    AdaDec's code for bags is not released, so this rule is ours: compatibility characters are made plain (NFKC), all
    is lower-cased, and words are the longest runs of letters, digits and the marks that belong to them; punctuation,
    symbols and white space only part words. In scripts that put no space between words (Chinese, Japanese, Thai, ...)
    each letter is a word, without its marks. Korean words are what stands between spaces, with their particles.

    >>> words("Norway's AID to Pakistan: #.# billion")
    ['norway', 's', 'aid', 'to', 'pakistan', 'billion']
    >>> words("한국어 문장, 東京へ Tokyo2020")
    ['한국어', '문장', '東', '京', 'へ', 'tokyo2020']
    """
    return unicodedata.normalize("NFKC", text).lower().translate(CHARACTERS).split()


def bags_of(texts: Sequence[str], vocabulary: dict[str, int], grow: bool) -> Bags:
    """Count the words of texts.

    Args:
        texts: any texts; one without a word has an empty bag of length 0.
        vocabulary: words and their numbers 0, 1, ...
        grow: put new words into the vocabulary; otherwise they only count towards the length.

    Raises:
        DataError: a text repeats words so often that exact integer products would not fit.
    """
    parts = [_count(texts[first : first + CHUNK], vocabulary, grow, first) for first in range(0, len(texts), CHUNK)]
    lengths, terms, counts, squared = zip(*parts, strict=True) if parts else [()] * 4
    starts = np.concatenate([[0], np.cumsum(np.concatenate([np.zeros(0, np.int64), *lengths]))])
    small, large = np.zeros(0, np.int32), np.zeros(0, np.int64)
    return Bags(
        starts, np.concatenate([small, *terms]), np.concatenate([small, *counts]), np.concatenate([large, *squared])
    )


def _count(
    texts: Sequence[str], vocabulary: dict[str, int], grow: bool, first: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], npt.NDArray[np.int32], npt.NDArray[np.int64]]:
    """Return how many known words each text has, their numbers and counts, and the squared lengths of the texts.

    The first text has the number `first` in messages.
    """
    known = len(vocabulary)
    unknown: defaultdict[str, int] = defaultdict(lambda: known + len(unknown))
    rows: list[list[int]] = []
    for text in texts:
        rows.append([vocabulary[word] if word in vocabulary else unknown[word] for word in words(text)])
    if grow:
        vocabulary.update(unknown)
        known = len(vocabulary)
    lengths = np.fromiter(map(len, rows), np.int64, len(rows))
    flat = np.fromiter(chain.from_iterable(rows), np.int64, int(lengths.sum()))  # [words]
    keys, counts = np.unique(np.repeat(np.arange(len(rows)), lengths) << 32 | flat, return_counts=True)
    row, term = keys >> 32, keys & 0xFFFFFFFF  # [entries]
    squared = np.zeros(len(rows), np.int64)
    np.add.at(squared, row, counts**2)
    if squared.size and squared.max() >= LIMIT:
        at = int(squared.argmax())
        raise DataError(
            f"text {first + at} repeats its words too often for a bag of words (squared length {squared[at]:,}, "
            f"expected below {LIMIT:,}); cut or drop it"
        )
    kept = term < known
    lengths = np.bincount(row[kept], minlength=len(rows))
    return lengths, term[kept].astype(np.int32), counts[kept].astype(np.int32), squared


class _Characters(dict[int, "int | str"]):
    """What `str.translate` makes of each character, computed when the character is first met."""

    def __missing__(self, code: int) -> int | str:
        character = chr(code)
        kind = unicodedata.category(character)[0]
        unspaced = unicodedata.name(character, "").partition(" ")[0] in UNSPACED
        if kind not in "LMN" or (unspaced and kind == "M"):
            self[code] = " "
        elif unspaced:
            self[code] = f" {character} "
        else:
            self[code] = code
        return self[code]


CHARACTERS = _Characters()
