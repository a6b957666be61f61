"""Samples: what methods wrote for the same rows, the most different first."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from rich.table import Table
from rich.text import Text

from bench.base.redaction import one_line
from bench.leaderboards.render.text_table import console_of, escaped, markdown_table
from bench.metrics.diversity.copying import words_of

__all__ = ["Sample", "in_markdown", "most_different", "shown"]

LONGEST = 600
"""Characters of a prompt."""
NARROWEST_COLUMN = 30
"""Least characters of a column of texts; where there is less room, each method has a line."""


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
    pairs = list(combinations(map(Counter, words_of(texts)), 2))
    unlike = [1 - (one & other).total() / (one | other).total() for one, other in pairs if one or other]
    return sum(unlike) / len(pairs) if pairs else 0.0


# Forms ----------------------------------------------------------------------------------------------------------------


def shown(headings: Sequence[str], samples: Sequence[Sample], notes: Sequence[str]) -> str:
    """Render samples for a terminal."""
    stream = io.StringIO()
    console = console_of(stream)
    for line in headings:
        console.print(Text(_clean(line), style="bold"))
    for sample in samples:
        console.print()
        console.print(Text(_clean(sample.id), style="bold"))
        for label, text in (("prompt", sample.prompt), ("reference", sample.reference)):
            if text:
                console.print(Text(f"{label}: {_cut(text)}", style="dim"))
        console.print(_grid(sample, console.width))
    for note in notes:
        console.print(Text(_clean(note)))
    return stream.getvalue()


def in_markdown(headings: Sequence[str], samples: Sequence[Sample], notes: Sequence[str]) -> str:
    """Render samples as one table in Markdown: a column for each prompt, a line for each method."""
    rows = [["**prompt**", *(escaped(_cut(sample.prompt)) for sample in samples)]]
    if any(sample.reference for sample in samples):
        rows.append(["**reference**", *(escaped(_cut(sample.reference)) for sample in samples)])
    for name in dict.fromkeys(name for sample in samples for name in sample.texts):
        texts = [escaped(_clean(sample.texts.get(name, ""))) for sample in samples]
        rows.append([escaped(_clean(name)), *texts])
    table = markdown_table(["", *(escaped(_clean(sample.id)) for sample in samples)], rows)
    return "\n".join([*map(_clean, headings), "", *table, "", *map(_clean, notes)]) + "\n"


def _grid(sample: Sample, width: int) -> Table:
    """Return what methods wrote: a column for each, or a line where there is no room for all in a line's characters."""
    texts = {_clean(name): Text(_clean(text)) for name, text in sample.texts.items()}
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
