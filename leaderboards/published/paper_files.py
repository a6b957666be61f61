"""Paper files: the tables of one paper as data (`papers/*.toml`), read by pydantic, which refuses unknown keys.

A setting (`Settings`) may be at a table, part, column and row; the later of these decides. `why_not` at any of them
makes its numbers not comparable. A row's `values` are as printed, between white space: `-` for none, `?` for what
cannot be read in the copy of the paper that was used, `1.2?` for what can hardly be read. A row's `method` is what made
the printed numbers; where paper and released code have different objectives, `variant` names the other one, whose
numbers are shown below ours, and where their decodings differ, `released_decoding` names that of the code. `level` and
`level_why`, at a table or its parts, say how near our numbers can come to it (`LEVELS`). Tests check the names of
tasks, methods, backbones and metrics.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from functools import cached_property
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from bench.errors import DataError

LEVELS = {
    "comparable": "our numbers can be compared with the paper's, once data and weights are there",
    "barred": "it needs data, models or people's answers that cannot be obtained",
}
"""How near our numbers can come to those of a table, and what it means."""
UNSURE = "the copy of the paper that was read is damaged here"
NO_NUMBER = "the paper prints no number here"
Words = Annotated[tuple[str, ...], BeforeValidator(str.split)]
"""Texts that a file has as one, between white space."""


class Record(BaseModel):
    """A part of a paper file."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Settings(Record):
    """What a table, part, column or row may set for its numbers.

    Args:
        task: ours; it begins with `human/` for people's ratings. Empty where we have none; so are the others.
        split: of the task.
        backbone: ours.
        decoding: as our runs name it.
        signature: what is known of the metric's definition.
        why_not: why a number is not comparable with ours; empty if it is.
        shown: whether leaderboards show the number below ours; by default if it is comparable.
    """

    task: str = ""
    split: str = "test"
    backbone: str = ""
    decoding: str = ""
    signature: str = ""
    why_not: str = ""
    shown: bool = True


class PublishedCell(Settings):
    """One number of a paper's table.

    Args:
        paper: short name.
        table, part, row, column: its place, as printed.
        printed: the number as printed.
        value: the number; None where the paper prints none.
        method: ours; empty where we have none.
        metric: the column of ours; empty where we have none.
        variant: the other variant of the method, whose numbers are shown below ours; empty for none.
        released_decoding: the decoding of the released code, likewise.
        sampling_seeds: with which the texts of one training were sampled; empty for one text of each training.
        spread: the number printed behind it; None where there is none.
    """

    paper: str
    table: str
    part: str
    row: str
    column: str
    printed: str
    value: float | None
    method: str = ""
    metric: str = ""
    variant: str = ""
    released_decoding: str = ""
    sampling_seeds: tuple[int, ...] = ()
    spread: float | None = None

    @property
    def other(self) -> PublishedCell | None:
        """The same number, for a comparison with ours by the other variant or decoding; None where a row names none."""
        if not (self.variant or self.released_decoding):
            return None
        changes = {"method": self.variant or self.method, "decoding": self.released_decoding or self.decoding}
        return self.model_copy(update={**changes, "variant": "", "released_decoding": ""})


def level_text(part: str, level: str, why: str) -> str:
    """Return how near our numbers can come to those of a table, or of a part of it, as a sentence.

    >>> level_text("Melo-Lyrics", "barred", "Not released.")
    'Level of Melo-Lyrics: barred. Not released.'
    """
    of = f" of {part}" if part else ""
    return f"Level{of}: {level}. {why}"


# Tables ---------------------------------------------------------------------------------------------------------------


class _Column(Settings):
    label: str
    metric: str = ""


class _Row(Settings):
    label: str
    values: Words
    spreads: Words = ()
    method: str = ""
    variant: str = ""
    released_decoding: str = ""


class _Part(Settings):
    label: str = ""
    level: str = ""
    level_why: str = ""
    printed_rows: tuple[_Row, ...] = Field((), alias="rows")


class PublishedTable(_Part):
    """One table of a paper, as its file has it.

    Args:
        paper: short name of the paper.
        name: as the paper calls it, such as `Table 1`.
        title: what it is about, in a few words.
        about: where it is from, for readers of the file.
        note: what a reader of its numbers must know; may be empty.
        contradictions: sentences, each on a place where the paper's text contradicts the table.
        headings: its columns, each with its settings.
        sampling_seeds: with which the texts of one training were sampled; empty for one text of each training.
        parts: of a table whose rows are in parts.
    """

    paper: str
    name: str
    title: str
    about: str
    note: str = ""
    contradictions: tuple[str, ...] = ()
    headings: tuple[_Column, ...] = Field(alias="columns")
    sampling_seeds: tuple[int, ...] = ()
    parts: tuple[_Part, ...] = Field((), alias="part")

    @property
    def address(self) -> str:
        """Its name on the command line, such as `histalign/table1`."""
        return f"{self.paper}/{self.name.lower().replace(' ', '')}"

    @property
    def columns(self) -> tuple[str, ...]:
        """Headings, as printed."""
        return tuple(column.label for column in self.headings)

    @property
    def levels(self) -> list[dict[str, str]]:
        """How near our numbers can come: `part`, `level` (of `LEVELS`) and `why`; empty for a table without scores."""
        parts = (self, *self.parts)
        return [{"part": one.label, "level": one.level, "why": one.level_why} for one in parts if one.level]

    @cached_property
    def rows(self) -> tuple[tuple[PublishedCell, ...], ...]:
        """Cells, a row each, in the paper's order of rows and columns.

        Raises:
            ValueError: a row that has not a value and a spread for each column.
        """
        return tuple(tuple(self._cells(part, row)) for part in (self, *self.parts) for row in part.printed_rows)

    def _cells(self, part: _Part, row: _Row) -> Iterator[PublishedCell]:
        spreads = row.spreads or ["-"] * len(self.headings)
        if not len(row.values) == len(spreads) == len(self.headings):
            raise ValueError(f"{self.name}, row '{row.label}': not a value and a spread for each column")
        for column, printed, spread in zip(self.headings, row.values, spreads, strict=True):
            settings: dict[str, Any] = {}
            for level in (self, part, column, row):
                settings |= level.model_dump(include=set(PublishedCell.model_fields), exclude_unset=True)
            value = number(printed)
            if printed.endswith("?"):
                settings["why_not"] = UNSURE
            elif value is None and "why_not" not in settings:
                settings["why_not"] = NO_NUMBER
            yield PublishedCell(
                table=self.name,
                part=part.label,
                row=row.label,
                column=column.label,
                printed=printed,
                value=value,
                spread=number(spread),
                **{"shown": "why_not" not in settings, **settings},
            )


class Paper(Record):
    """A paper's tables, and sentences on how its methods were tuned."""

    name: str
    short: str
    citation: str
    tables: tuple[PublishedTable, ...] = Field(alias="table")
    tuning: str = ""


def read(text: str, file: str) -> Paper:
    """Read one paper's file.

    Raises:
        DataError: a key that is unknown or missing, a text that is no number, or a wrong number of values.
    """
    try:
        content = tomllib.loads(text)
        tables = [{"paper": content.get("short", ""), **table} for table in content.get("table", ())]
        paper = Paper.model_validate({**content, "table": tables})
        if not [table.rows for table in paper.tables]:
            raise ValueError("no table")
    except ValueError as error:
        raise DataError(f"{file}: {error}") from error
    return paper


def number(printed: str) -> float | None:
    """Return a number as tables print it, None for `-`, `N/A` and `?`.

    >>> number("8.48k"), number("3.8M"), number("9,706"), number("N/A"), number("0.93?")
    (8480.0, 3800000.0, 9706.0, None, 0.93)
    """
    text = printed.rstrip("?").replace(",", "")
    if text in ("", "-", "N/A"):
        return None
    exponent = {"k": 3, "m": 6}.get(text[-1].lower(), 0)
    return float(f"{text.rstrip('kKmM')}e{exponent}")
