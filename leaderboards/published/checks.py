"""Checks: numbers that a paper's text gives, and no table of it, beside the table that they are about.

In a paper's file, `[[table.check]]` has `where` and `quote`, the sentence; `row` and, where several rows have that
label, `backbone`; `column` of the table or a `metric` of ours that it lacks; `relation` and `value`. `other` says why
no cell of the row can be the one that is meant.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench.errors import DataError

__all__ = ["RELATIONS", "Check", "checks"]

RELATIONS = ("is", "at most", "above")
REQUIRED = {"where", "quote", "row", "relation", "value"}
OPTIONAL = {"backbone", "column", "metric", "other"}


@dataclass(frozen=True)
class Check:
    """One sentence of a paper about a number.

    Args:
        where: its section.
        quote: the sentence, or what of it is about the number.
        row: of the table that it stands beside, as printed.
        relation: of `RELATIONS`.
        value: that a number is, or is compared with.
        backbone: of the row; empty where one row has the label.
        column: of the table; empty where it has none for it.
        metric: column of ours, where the table has none.
        other: why no cell of the row is the one that is meant; empty if one is.
    """

    where: str
    quote: str
    row: str
    relation: str
    value: float
    backbone: str = ""
    column: str = ""
    metric: str = ""
    other: str = ""

    @property
    def name(self) -> str:
        """What of ours it is about.

        >>> Check("6.1", "...", "GPT2-Small", "at most", 768, "gpt2", "Full Rank").name
        'GPT2-Small (gpt2), Full Rank at most 768'
        """
        backbone = ""
        if self.backbone:
            backbone = f" ({self.backbone})"
        return f"{self.row}{backbone}, {self.column or self.metric} {self.relation} {self.value:g}"

    def holds_for(self, number: float) -> bool:
        """Return whether a number keeps to a bound; a rounded `is` is for others to decide."""
        if self.relation == "at most":
            return number <= self.value
        if self.relation == "above":
            return number > self.value
        return number == self.value


def checks(
    entries: Iterable[Mapping[str, Any]], rows: Sequence[tuple[str, str]], columns: Sequence[str], file: str
) -> list[Check]:
    """Read the checks of a table.

    Args:
        entries: as they stand in the file.
        rows: label and backbone of each row of the table.
        columns: labels of the table.
        file: where they are, for errors.

    Raises:
        DataError: an unknown or missing key, relation, row, backbone of the row or column.
    """
    found = []
    labels = [label for label, _ in rows]
    for entry in entries:
        where = f"{file}, check '{entry.get('quote', '')[:40]}'"
        unknown, missing = set(entry) - REQUIRED - OPTIONAL, REQUIRED - set(entry)
        if unknown or missing or ("column" in entry) == ("metric" in entry):
            raise DataError(
                f"{where}: expected {', '.join(sorted(REQUIRED))} and one of column and metric, got {', '.join(entry)}"
            )
        for kind, name, known in (
            ("relation", entry["relation"], RELATIONS),
            ("row", entry["row"], labels),
            ("column", entry.get("column", columns[0]), columns),
        ):
            if name not in known:
                raise DataError(f"{where}: unknown {kind} '{name}'; expected one of {', '.join(dict.fromkeys(known))}")
        check = Check(**entry)
        backbones = [backbone for label, backbone in rows if label == check.row]
        if check.backbone and check.backbone not in backbones:
            known_backbones = ", ".join(backbone or "no backbone" for backbone in dict.fromkeys(backbones))
            raise DataError(
                f"{where}: the row '{check.row}' has no backbone '{check.backbone}'; expected one of {known_backbones}"
            )
        found.append(check)
    return found
