"""Ambiguous Template rows: prompts that name two words and may go on with either.

HistAlign, section 5.1 and appendix A.1, after Chang and McCallum (2022). From an analogy (a, b, c, d), such as Athens
Greece Baghdad Iraq, a template takes one diagonal, (a, d) or (b, c). The words of the other diagonal are what a softmax
over narrow states proposes by mistake: the output embeddings of all four are nearly a parallelogram.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bench.errors import DataError, MissingError
from bench.tasks.core.example import Example

__all__ = ["Analogy", "Numbered", "expand", "kind_of", "read_templates", "usable"]

Analogy = tuple[str, str, str, str]
Numbered = tuple[int, Analogy]  # place in its list, words

KINDS = ("people", "location")
PRONOUNS = frozenset({"he", "she", "her", "his"})  # "the he and the queen" is no phrase: the recipe leaves them out


class Diagonal(NamedTuple):
    """Two words of an analogy for the slots of a template, and the two that stay outside."""

    place: int  # 0 is (a, d), 1 is (b, c)
    words: tuple[str, str]
    outside: tuple[str, str]


def expand(
    category: str,
    analogies: Iterable[Numbered],
    templates: Mapping[str, Sequence[str]],
    seen: set[frozenset[str]] | None = None,
) -> Iterator[Example]:
    """Yield the rows of numbered analogies: 32 each with four templates, none for a diagonal with a pronoun.

    The recipe's order: template, diagonal, then (x, y) asking for x and for y, then (y, x) asking for x and for y. Two
    rows in turn share a prompt, which `fields["prompt_id"]` names. Ids do not look at the text: a text that another
    analogy repeats has another id, and counts again, as in the authors' evaluation.

    Args:
        category: name of the list; begins every id and decides between `people` and `location`.
        analogies: place in the list and words; the place makes ids independent of the split.
        templates: by kind, sentences with two `{}` that end just before the target.
        seen: diagonals that are used up. When given, one that is in it is left out and a new one joins it, so that no
            prompt comes twice.

    >>> sentences = {"people": ["the {} and the {} see the"]}
    >>> for row in expand("family", [(0, ("king", "queen", "man", "woman"))], sentences):
    ...     print(row.id, "|", row.source, "|", row.target)
    family/0/0/0xyx | the king and the woman see the | king
    family/0/0/0xyy | the king and the woman see the | woman
    family/0/0/0yxx | the woman and the king see the | king
    family/0/0/0yxy | the woman and the king see the | woman
    family/0/0/1xyx | the queen and the man see the | queen
    family/0/0/1xyy | the queen and the man see the | man
    family/0/0/1yxx | the man and the queen see the | queen
    family/0/0/1yxy | the man and the queen see the | man
    """
    sentences = [template.split("{}") for template in templates[kind_of(category)]]
    for index, analogy in analogies:
        diagonals = usable(analogy, seen)
        for number, pieces in enumerate(sentences):
            for place, words, outside in diagonals:
                fields = {"category": category, "analogy": analogy, "words": words, "other": outside}
                yield from _rows(f"{category}/{index}/{number}/{place}", pieces, fields)


def kind_of(category: str) -> str:
    """Return which templates fit the words of a list: those for `people` or those for a `location`."""
    if category in ("family", "people"):
        return "people"
    return "location"


def read_templates(path: Path) -> dict[str, list[str]]:
    """Read `templates.json`: `{"people": [...], "location": [...]}`, each sentence with two `{}`.

    Raises:
        MissingError: there is no such file.
        DataError: it is not JSON of that form.
    """
    try:
        loaded = json.loads(path.read_bytes().decode("utf-8-sig"))
    except OSError as error:
        expected = "expected the sentences of HistAlign's recipe, four under 'people' and four under 'location'"
        raise MissingError(f"{path} cannot be read ({error.strerror}); {expected}, with {{}} for a word") from None
    except ValueError as error:
        raise DataError(f"{path}: expected JSON in UTF-8, {error}; write the file again") from None
    return {kind: _sentences(loaded, kind, path) for kind in KINDS}


def usable(analogy: Analogy, seen: set[frozenset[str]] | None) -> list[Diagonal]:
    """Return the diagonals of an analogy that rows are made of; what they are adds to `seen`, as for `expand`."""
    a, b, c, d = analogy
    found = []
    for diagonal in (Diagonal(0, (a, d), (b, c)), Diagonal(1, (b, c), (a, d))):
        key = frozenset(diagonal.words)
        if not PRONOUNS.isdisjoint(key) or (seen is not None and key in seen):
            continue
        found.append(diagonal)
        if seen is not None:
            seen.add(key)
    return found


def _rows(stem: str, pieces: Sequence[str], common: Mapping[str, Any]) -> Iterator[Example]:
    before, between, after = pieces
    x, y = words = common["words"]
    for order, first, second in (("xy", x, y), ("yx", y, x)):
        source = f"{before}{first}{between}{second}{after}"
        prompt = stem + order
        fields = {**common, "prompt_id": prompt}
        yield Example(prompt + "x", source, x, words, fields)
        yield Example(prompt + "y", source, y, words, fields)


def _sentences(loaded: Any, kind: str, path: Path) -> list[str]:
    sentences = None
    if isinstance(loaded, dict):
        sentences = loaded.get(kind)
    if not isinstance(sentences, list) or not sentences:
        raise DataError(f"{path}: expected a list of sentences under {kind!r}, found {sentences!r}")
    for number, sentence in enumerate(sentences, start=1):
        if not isinstance(sentence, str) or sentence.count("{}") != 2 or sentence != sentence.strip():
            expected = "expected text with two {} and no space at either end"
            raise DataError(f"{path}, {kind} sentence {number}: {expected}, found {sentence!r}")
        if sentence in sentences[: number - 1]:
            raise DataError(f"{path}, {kind} sentence {number}: {sentence!r} is there already; each must differ")
    return sentences
