"""Report: what a stored ladder says, as Markdown and as a picture, with its claims and its forecasts."""

from __future__ import annotations

from pathlib import Path

from bench.base.files import write_atomic
from bench.board.ladder_drawing import draw_ladder
from bench.ladder.reading import StoredForecasts, StoredLadder
from bench.leaderboards.ladder.cells import number
from bench.leaderboards.ladder.report import markdown
from bench.leaderboards.render.markdown_table import escaped, markdown_table

__all__ = ["report_text", "write_report"]

RATES_SAID = (
    "By the validation loss of the first seed, which all seeds are trained with then: that seed's numbers are picked, "
    "the others' are not, and where they differ much, intervals are wide."
)


def report_text(stored: StoredLadder, forecasts: StoredForecasts, picture: str = "") -> str:
    """Return the page of a ladder, as Markdown.

    Args:
        stored: the ladder.
        forecasts: of its rungs.
        picture: where its drawing is, seen from the page; none by default.
    """
    lines = [markdown(stored.findings, forecasts.forecasts, picture), *rate_lines(stored)]
    left_out = [*stored.notes, *(f"forecast {escaped(name)} cannot be read" for name in forecasts.unreadable)]
    if left_out:
        lines += ["## Left out", "", *(f"- {note}" for note in left_out), ""]
    return "\n".join(lines)


def rate_lines(stored: StoredLadder) -> list[str]:
    """Return the table of the learning rates that were picked, a row a method."""
    rows = []
    for method in stored.ladder.methods:
        rates = [number(of_rung.get(method)) for of_rung in stored.rates.values()]
        rows.append([escaped(method), *rates])
    table = markdown_table(["", *map(escaped, stored.rates)], rows, texts=1)
    return ["## Learning rates that were picked", "", RATES_SAID, "", *table, ""]


def write_report(stored: StoredLadder, forecasts: StoredForecasts, path: Path) -> Path:
    """Write the page of a ladder, and its picture beside it; return where the picture is.

    Args:
        stored: the ladder.
        forecasts: of its rungs.
        path: of the page, such as `ladder.md`.

    Raises:
        StoreError: a file cannot be written.
    """
    picture = draw_ladder(stored.findings).save(path.with_suffix(".svg"))
    write_atomic(path, report_text(stored, forecasts, picture.name).encode(), replace=True)
    return picture
