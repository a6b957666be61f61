"""Samples: what methods wrote for the same rows, the most different first, repeats and copied spans marked.

Words are lower-cased runs of letters and digits, as copying is counted in (`bench.metrics.diversity.copying`).
"""

from __future__ import annotations

import io
import re
import sys
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, groupby
from typing import Any

from rich.table import Table
from rich.text import Text

from bench.base.redaction import one_line
from bench.leaderboards.render.text_table import console_of, escaped, markdown_table
from bench.metrics.diversity.copying import matches

__all__ = ["Sample", "Span", "in_markdown", "marked", "most_different", "shown"]

N = 4
"""Words of a repeat and, at least, of a copied span."""
LONGEST = 600
"""Characters of a prompt."""
NARROWEST_COLUMN = 30
"""Least characters of a column of texts; where there is less room, each method has a line."""
WORD = re.compile(r"\w+")
STYLES = {(True, False): "red", (False, True): "cyan underline", (True, True): "red underline", (False, False): ""}
BRACKETS = {(True, False): "⟦⟧", (False, True): "‹›", (True, True): "⟦⟧", (False, False): ("", "")}
"""How (repeated, copied) spans are marked, with colours and without."""


@dataclass(frozen=True)
class Sample:
    """One row: what was read, what was to be written, and what each method wrote, by name."""

    id: str
    prompt: str
    reference: str
    texts: Mapping[str, str]


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
    pairs = list(combinations([Counter(words_of(text)) for text in texts], 2))
    unlike = [1 - (one & other).total() / (one | other).total() for one, other in pairs if one or other]
    return sum(unlike) / len(pairs) if pairs else 0.0


# Marks ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Span:
    """A piece of a text; `repeated` where its words came before in this order, `copied` where they do in the source."""

    text: str
    repeated: bool = False
    copied: bool = False


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
    text, words = unicodedata.normalize("NFC", text), words_of(text)
    marks, end, before = [(False, False)] * len(text), 0, (False, False)
    both = zip(repeats(words, n), copies(words, words_of(source), n), strict=True)
    for word, (repeated, copied) in zip(WORD.finditer(text), both, strict=True):
        start, stop = word.span()
        marks[end:start] = [(repeated and before[0], copied and before[1])] * (start - end)
        marks[start:stop] = [(repeated, copied)] * (stop - start)
        end, before = stop, (repeated, copied)
    runs = groupby(zip(text, marks, strict=True), key=lambda pair: pair[1])
    return [Span("".join(letter for letter, _ in run), *mark) for mark, run in runs]


# Forms ----------------------------------------------------------------------------------------------------------------


def shown(headings: Sequence[str], samples: Sequence[Sample], notes: Sequence[str]) -> str:
    """Render samples for a terminal; without colours, marks are brackets."""
    colours, stream = sys.stdout.isatty(), io.StringIO()
    console = console_of(stream)
    for line in headings:
        console.print(Text(_clean(line), style="bold"))
    console.print(Text(_legend(*("red", "underlined") if colours else ("⟦ ⟧", "‹ ›"))))
    for sample in samples:
        console.print()
        console.print(Text(_clean(sample.id), style="bold"))
        for label, text in (("prompt", sample.prompt), ("reference", sample.reference)):
            if text:
                console.print(Text(f"{label}: {_cut(text)}", style="dim"))
        console.print(_grid(sample, colours, console.width))
    for note in notes:
        console.print(Text(_clean(note)))
    return stream.getvalue()


def in_markdown(headings: Sequence[str], samples: Sequence[Sample], notes: Sequence[str]) -> str:
    """Render samples as one table in Markdown: a column for each prompt, a line for each method; marks are brackets."""
    rows = [["**prompt**", *(escaped(_cut(sample.prompt)) for sample in samples)]]
    if any(sample.reference for sample in samples):
        rows.append(["**reference**", *(escaped(_cut(sample.reference)) for sample in samples)])
    for name in dict.fromkeys(name for sample in samples for name in sample.texts):
        texts = [_painted(sample.texts.get(name, ""), sample.prompt, colours=False).plain for sample in samples]
        rows.append([escaped(_clean(name)), *map(escaped, texts)])
    table = markdown_table(["", *(escaped(_clean(sample.id)) for sample in samples)], rows)
    return "\n".join([*map(_clean, headings), "", *table, "", _legend("⟦ ⟧", "‹ ›"), *map(_clean, notes)]) + "\n"


def _legend(repeated: str, copied: str) -> str:
    return f"{repeated}: four words or more in a row that the text already had; {copied}: that the prompt has too"


def _grid(sample: Sample, colours: bool, width: int) -> Table:
    """Return what methods wrote: a column for each, or a line where there is no room for all in a line's characters."""
    texts = {_clean(name): _painted(text, sample.prompt, colours) for name, text in sample.texts.items()}
    by_columns = len(texts) * NARROWEST_COLUMN <= width
    grid = Table(show_header=by_columns, pad_edge=False, show_lines=not by_columns, expand=by_columns)
    if by_columns:
        for name in texts:
            grid.add_column(Text(name), overflow="fold", ratio=1)
        grid.add_row(*texts.values())
    else:
        grid.add_column("method", overflow="fold", max_width=width // 3)
        grid.add_column("text", overflow="fold")
        for name, text in texts.items():
            grid.add_row(Text(name), text)
    return grid


def _painted(text: str, source: str, colours: bool) -> Any:
    """Return a text with its marks as styles or brackets."""
    painted = Text()
    for span in marked(_clean(text), _clean(source)):
        kind = (span.repeated, span.copied)
        left, right = ("", "") if colours else BRACKETS[kind]
        painted.append(f"{left}{span.text}{right}", style=STYLES[kind])
    return painted


def _clean(text: str) -> str:
    """Return a text in one line without anything a terminal would obey: models write what they like.

    >>> _clean("a\\n\\tb\\x1b[31m \\u202ec")
    'a b c'
    """
    return one_line(" ".join(text.split()))


def _cut(text: str) -> str:
    """Return beginning and end of a long text, cleaned."""
    text = _clean(text)
    return text if len(text) <= LONGEST else f"{text[: LONGEST * 2 // 3]} … {text[-LONGEST // 3 :]}"
