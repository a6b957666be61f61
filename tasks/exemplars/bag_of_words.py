"""Bags of words: which words a text has and how often, in any script, as sparse integer rows."""

import unicodedata
from array import array
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from bench.errors import DataError

# Raise VERSION in retrieve.py with any change of the words of a bag.
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
    each letter is a word, without its marks. Korean words are separated by spaces, and keep their particles.

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
    numbers = vocabulary if grow else dict(vocabulary)
    terms, starts = array("i"), array("q", [0])
    for text in texts:
        terms.extend([numbers.setdefault(word, len(numbers)) for word in words(text)])
        starts.append(len(terms))
    ones = np.ones(len(terms), np.int32)
    bags = sparse.csr_array((ones, np.array(terms, np.int32), np.array(starts)), (len(texts), len(numbers)))
    bags.sum_duplicates()
    squared = bags.astype(np.int64).power(2).sum(1)
    if len(texts) and squared.max() >= LIMIT:
        at = int(squared.argmax())
        raise DataError(
            f"text {at} repeats its words too often for a bag of words (squared length {squared[at]:,}, expected below "
            f"{LIMIT:,}); cut or drop it"
        )
    known = bags[:, : len(vocabulary)]
    return Bags(known.indptr.astype(np.int64), known.indices.astype(np.int32), known.data, squared)


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
