"""Words for ROUGE: four tokenizers by name, when one is not applicable, and the first bytes of a text.

`stemmed` and `unstemmed` are rouge-score's, with and without its Porter stemmer: lower case, runs of [a-z0-9], words of
four and more letters stemmed. `rouge-1.5.5` splits alike and stems as ROUGE-1.5.5 -m does: irregular forms of WordNet
2.0 become their base form ("said" and "says" meet), all else goes through Porter's original algorithm. `unicode` takes
runs of \\w of the lower-cased text in composed form (NFC), without a stemmer, for what is not written in [a-z].
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable
from functools import cache, lru_cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any, Literal

__all__ = [
    "TOKENIZERS",
    "Tokenizer",
    "WordTokenizer",
    "check_tokenizer",
    "count_letters",
    "count_words",
    "first_bytes",
    "irregular_forms",
    "is_applicable",
    "name_of",
]

Tokenizer = Literal["stemmed", "unstemmed", "rouge-1.5.5", "unicode"]
TOKENIZERS: tuple[Tokenizer, ...] = ("stemmed", "unstemmed", "rouge-1.5.5", "unicode")
LATIN, UNICODE = re.compile(r"[a-z0-9]+"), re.compile(r"\w+")
NO_LATIN_LETTER, ASCII = re.compile(r"[^a-z]+"), re.compile(r"[\x00-\x7f]+")
NAMES = {
    "stemmed": "tok:rouge-score|stem:porter",
    "unstemmed": "tok:rouge-score|stem:none",
    "rouge-1.5.5": "tok:rouge-score|stem:rouge-1.5.5",
    "unicode": "tok:unicode|stem:none",
}
FORMS_SHA256 = "9eea71afd1eec1289c574ea4853a88ea58f05076d34ede15913ce8a17ea11694"
"""Of the file of irregular forms in py-rouge 1.1."""


class WordTokenizer:
    """What rouge-score takes as `tokenizer=`, for the two that it does not have.

    >>> WordTokenizer("unicode").tokenize("Ça va, 세계?")
    ['ça', 'va', '세계']
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        """Take one of `TOKENIZERS`."""
        check_tokenizer(tokenizer)
        self.tokenizer = tokenizer

    def tokenize(self, text: str) -> list[str]:
        """Return the words of a text."""
        words = _split(text, self.tokenizer)
        if self.tokenizer == "rouge-1.5.5":
            return [_stem_155(word) for word in words]
        return words


def count_words(text: str, tokenizer: Tokenizer) -> int:
    """Return how many words a tokenizer finds; stemming changes none of the numbers."""
    return len(_split(text, tokenizer))


def _split(text: str, tokenizer: Tokenizer) -> list[str]:
    if tokenizer == "unicode":
        return UNICODE.findall(unicodedata.normalize("NFC", text.lower()))
    return LATIN.findall(text.lower())


@lru_cache(maxsize=1 << 16)
def _stem_155(word: str) -> str:
    if len(word) <= 3:
        return word
    return irregular_forms().get(word) or _porter().stem(word)


@cache
def _porter() -> Any:
    from nltk.stem.porter import PorterStemmer  # slow to import

    return PorterStemmer(mode=PorterStemmer.ORIGINAL_ALGORITHM)


@cache
def irregular_forms() -> dict[str, str]:
    """Return WordNet 2.0's irregular forms with their base forms, as ROUGE-1.5.5 has them.

    Raises:
        ImportError: py-rouge is not installed (its list is read, none of its code runs), or its list is another one.
    """
    said = "tokenizer 'rouge-1.5.5' needs WordNet's irregular forms as py-rouge 1.1 lists them"
    try:
        file = distribution("py-rouge").locate_file("rouge/wordnet_key_value.txt")
        content = Path(str(file)).read_bytes()
    except (PackageNotFoundError, OSError) as error:
        raise ImportError(f"{said}, and it is not installed; pip install py-rouge==1.1") from error
    if hashlib.sha256(content).hexdigest() != FORMS_SHA256:
        raise ImportError(f"{said}, got {len(content)} bytes that differ; pip install --force-reinstall py-rouge==1.1")
    return dict(line.split("|") for line in content.decode().split())


def count_letters(texts: Iterable[str]) -> tuple[int, int]:
    """Return how many letters texts have, and how many of them rouge-score's tokenizer drops: all but [a-z].

    >>> count_letters(["Año", "세계"])
    (5, 3)
    """
    lowered = " ".join(texts).lower()
    kept = len(NO_LATIN_LETTER.sub("", lowered))
    dropped = sum(map(str.isalpha, ASCII.sub("", lowered)))
    return kept + dropped, dropped


def is_applicable(letters: int, dropped: int, tokenizer: Tokenizer) -> bool:
    """Return whether a tokenizer keeps at least half of the letters of the references.

    Below that a score would say nothing: rouge-score's tokenizer finds no word in a Korean text, and identical texts
    score 0.
    """
    return tokenizer == "unicode" or 2 * dropped <= letters


def first_bytes(text: str, n: int) -> str:
    """Return what is whole in the first n bytes of a text in UTF-8.

    >>> first_bytes("세계", 5)
    '세'
    """
    return text.encode("utf-8", "replace")[:n].decode("utf-8", "ignore")


def name_of(tokenizer: Tokenizer) -> str:
    """Name a tokenizer for a signature."""
    check_tokenizer(tokenizer)
    return NAMES[tokenizer]


def check_tokenizer(tokenizer: str) -> None:
    """Raise ValueError unless there is a tokenizer of that name."""
    if tokenizer not in TOKENIZERS:
        raise ValueError(f"tokenizer {tokenizer!r} is unknown; there are: {', '.join(TOKENIZERS)}")
