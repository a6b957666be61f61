"""Markdown tables: the one place that writes them, and what makes a text safe in one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bench.base.redaction import one_line

__all__ = ["escaped", "markdown_table"]

SPECIAL = "\\|<>[]*_`"


def escaped(text: str) -> str:
    r"""Return a text without control characters in which Markdown finds no markup.

    >>> print(escaped("a|b"))
    a\|b
    """
    return "".join("\\" + character if character in SPECIAL else character for character in one_line(text))


def markdown_table(heading: Sequence[str], rows: Iterable[Sequence[str]], *, texts: int | None = None) -> list[str]:
    """Return the lines of a Markdown table.

    Args:
        heading: of each column.
        rows: cells, already escaped.
        texts: how many columns, from the left, are texts, aligned to the left; the others are numbers, aligned to the
            right. None: all are texts.

    >>> print("\\n".join(markdown_table(["method", "bleu"], [["mle", "12.1"]], texts=1)))
    | method | bleu |
    |---|---:|
    | mle | 12.1 |
    """
    if texts is None:
        texts = len(heading)
    rules = ["---"] * texts + ["---:"] * (len(heading) - texts)
    return [_line(heading), f"|{'|'.join(rules)}|", *map(_line, rows)]


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
