"""Samples: what methods wrote for the same rows, the most different first, repeats and copied spans marked.

Words are lower-cased runs of letters and digits, as copying is counted in (`bench.metrics.diversity.copying`).
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from bench.metrics.diversity.copying import matches

N = 4
"""Words of a repeat and, at least, of a copied span."""

WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Sample:
    """One row: what was read, what was to be written, and what each method wrote, by name."""

    id: str
    prompt: str
    reference: str
    texts: Mapping[str, str]


@dataclass(frozen=True)
class Span:
    """A piece of a text; `repeated` where its words came before in this order, `copied` where they do in the source."""

    text: str
    repeated: bool = False
    copied: bool = False


def most_different(samples: Sequence[Sample]) -> list[Sample]:
    """Return samples by how unlike their methods' texts are, the most unlike first, ties by id.

    >>> alike = Sample("a", "", "", {"x": "a dog", "y": "a dog"})
    >>> unlike = Sample("b", "", "", {"x": "a dog", "y": "cats"})
    >>> [sample.id for sample in most_different([alike, unlike])]
    ['b', 'a']
    """
    return sorted(samples, key=lambda sample: (-difference(list(sample.texts.values())), sample.id))


def difference(texts: Sequence[str]) -> float:
    """Return the mean over pairs of texts of 1 less the share of words they share, counted as often as they occur.

    >>> difference(["a dog ran", "a dog ran"]), difference(["a dog", "two cats"]), difference(["a dog", "a cat"])
    (0.0, 1.0, 0.6666666666666667)
    """
    counts = [Counter(words_of(text)) for text in texts]
    pairs = [1 - _shared(first, second) for first, second in combinations(counts, 2)]
    if not pairs:
        return 0.0
    return sum(pairs) / len(pairs)


def _shared(first: Counter[str], second: Counter[str]) -> float:
    """Return the share of words that two texts have in common; 1 for two without any."""
    either = (first | second).total()
    if not either:
        return 1.0
    return (first & second).total() / either


def words_of(text: str) -> list[str]:
    """Return the words of a text.

    >>> words_of("It's LATE.")
    ['it', 's', 'late']
    """
    return [word.group().lower() for word in WORD.finditer(unicodedata.normalize("NFC", text))]


def repeats(words: Sequence[str], n: int = N) -> list[bool]:
    """Return which words belong to an n-gram that the text has before, too.

    >>> repeats("a b a b a".split(), n=2)
    [False, False, True, True, True]
    """
    repeated, seen = [False] * len(words), set[tuple[str, ...]]()
    for start in range(len(words) - n + 1):
        gram = tuple(words[start : start + n])
        if gram in seen:
            repeated[start : start + n] = [True] * n
        seen.add(gram)
    return repeated


def copies(words: Sequence[str], source: Sequence[str], n: int = N) -> list[bool]:
    """Return which words belong to a run of at least n words that are next to each other in the source.

    >>> copies("the big dog ran".split(), "a big dog ran home".split(), n=3)
    [False, True, True, True]
    """
    copied = [False] * len(words)
    for stop, run in enumerate(matches(words, source), start=1):
        if run >= n:
            copied[stop - run : stop] = [True] * run
    return copied


def marked(text: str, source: str, n: int = N) -> list[Span]:
    """Cut a text into pieces by the marks of its words; the characters between two marked words are marked, too.

    >>> [(span.text, span.repeated) for span in marked("so it goes, so it goes on", "", n=3)]
    [('so it goes, ', False), ('so it goes', True), (' on', False)]
    """
    text = unicodedata.normalize("NFC", text)
    places = [word.span() for word in WORD.finditer(text)]
    words = [text[start:stop].lower() for start, stop in places]
    marks = list(zip(repeats(words, n), copies(words, words_of(source), n), strict=True))
    spans: list[Span] = []
    end = 0
    repeated_before = copied_before = False
    for (start, stop), (repeated, copied) in zip(places, marks, strict=True):
        spans.append(Span(text[end:start], repeated and repeated_before, copied and copied_before))
        spans.append(Span(text[start:stop], repeated, copied))
        end, repeated_before, copied_before = stop, repeated, copied
    return _joined([*spans, Span(text[end:])])


def _joined(spans: Sequence[Span]) -> list[Span]:
    """Return spans without empty ones, those side by side with the same marks as one."""
    joined: list[Span] = []
    for span in spans:
        if not span.text:
            continue
        if joined and (joined[-1].repeated, joined[-1].copied) == (span.repeated, span.copied):
            joined[-1] = Span(joined[-1].text + span.text, span.repeated, span.copied)
        else:
            joined.append(span)
    return joined
