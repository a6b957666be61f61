"""Samples for a terminal: a column or a line for each method, with repeats and copied spans marked."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from typing import Any

from bench.base.redaction import one_line
from bench.leaderboards.render.markdown_table import escaped, markdown_table
from bench.leaderboards.render.text_table import broken, console_of
from bench.leaderboards.samples import Sample, marked

__all__ = ["in_markdown", "shown"]

LONGEST = 600
"""Characters of a prompt."""

STYLES = {(True, False): "red", (False, True): "cyan underline", (True, True): "red underline", (False, False): ""}
BRACKETS = {(True, False): "⟦⟧", (False, True): "‹›", (True, True): "⟦⟧", (False, False): ("", "")}
"""How (repeated, copied) spans are marked, with colours and without."""

NARROWEST_COLUMN = 30
"""Least characters of a column of texts; where there is less room, each method has a line."""


def shown(headings: Sequence[str], samples: Sequence[Sample], notes: Sequence[str]) -> str:
    """Render samples for a terminal; without colours, marks are brackets."""
    from rich.text import Text

    colours, stream = sys.stdout.isatty(), io.StringIO()
    console = console_of(stream)
    for line in headings:
        console.print(Text(clean(line), style="bold"))
    console.print(Text(legend(*("red", "underlined") if colours else ("⟦ ⟧", "‹ ›"))))
    for sample in samples:
        console.print()
        console.print(Text(clean(sample.id), style="bold"))
        for label, text in (("prompt", sample.prompt), ("reference", sample.reference)):
            if text:
                console.print(Text(f"{label}: {cut(clean(text))}", style="dim"))
        console.print(grid_of(sample, colours, console.width))
    for note in notes:
        console.print(Text(clean(note)))
    return stream.getvalue()


def in_markdown(headings: Sequence[str], samples: Sequence[Sample], notes: Sequence[str]) -> str:
    """Render samples as one table in Markdown: a column for each prompt, a line for each method; marks are brackets."""
    rows = [["**prompt**", *(escaped(cut(clean(sample.prompt))) for sample in samples)]]
    if any(sample.reference for sample in samples):
        rows.append(["**reference**", *(escaped(cut(clean(sample.reference))) for sample in samples)])
    for name in dict.fromkeys(name for sample in samples for name in sample.texts):
        texts = [painted(sample.texts.get(name, ""), sample.prompt, colours=False).plain for sample in samples]
        rows.append([escaped(clean(name)), *map(escaped, texts)])
    table = markdown_table(["", *(escaped(clean(sample.id)) for sample in samples)], rows)
    return "\n".join([*map(clean, headings), "", *table, "", legend("⟦ ⟧", "‹ ›"), *map(clean, notes)]) + "\n"


def legend(repeated: str, copied: str) -> str:
    """Explain the two marks."""
    return f"{repeated}: four words or more in a row that the text already had; {copied}: that the prompt has too"


def grid_of(sample: Sample, colours: bool, width: int) -> Any:
    """Return a rich table of what methods wrote: a column for each, or a line where there is no room for all.

    Args:
        sample: of all methods.
        colours: whether marks are colours, else brackets.
        width: characters of a line.
    """
    from rich.table import Table
    from rich.text import Text

    texts = {name: painted(text, sample.prompt, colours) for name, text in sample.texts.items()}
    if len(texts) * NARROWEST_COLUMN <= width:
        grid = Table(pad_edge=False, expand=True)
        for name in texts:
            grid.add_column(Text(clean(name)), overflow="fold", ratio=1)
        grid.add_row(*texts.values())
        return grid
    grid = Table(show_header=False, pad_edge=False, show_lines=True)
    longest = width // 3
    grid.add_column("method", overflow="fold")
    grid.add_column("text", overflow="fold")
    for name, text in texts.items():
        grid.add_row(Text(broken(clean(name), longest)), text)
    return grid


def painted(text: str, source: str, colours: bool) -> Any:
    """Return a text with its marks as styles or brackets."""
    from rich.text import Text

    painted_text = Text()
    for span in marked(clean(text), clean(source)):
        kind = (span.repeated, span.copied)
        left, right = BRACKETS[kind]
        if colours:
            left = right = ""
        painted_text.append(f"{left}{span.text}{right}", style=STYLES[kind])
    return painted_text


def clean(text: str) -> str:
    """Return a text in one line without anything a terminal would obey: models write what they like.

    >>> clean("a\\n\\tb\\x1b[31m \\u202ec")
    'a b c'
    """
    return one_line(" ".join(text.split()))


def cut(text: str) -> str:
    """Return beginning and end of a long text."""
    if len(text) <= LONGEST:
        return text
    return f"{text[: LONGEST * 2 // 3]} … {text[-LONGEST // 3 :]}"
