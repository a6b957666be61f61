"""Statistics of a leaderboard: what is known of each value beside its mean, and what is said of a table's columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

__all__ = ["ALPHA", "TableStatistics", "ValueStatistics", "Wins"]

ALPHA = 0.05
"""A p at most this large is a difference."""


@dataclass(frozen=True)
class ValueStatistics:
    """Interval, tie group and difference from the baseline of one value.

    Args:
        half: half the width of the 95 % interval over seeds.
        group: 0 for the best row of the column and those that do not differ from it, then 1, ...; None if not tested.
        p: of the difference from the baseline, after Holm; None for the baseline and where not tested.
        difference: from the baseline, of all seeds together.
        low, high: ends of its 95 % bootstrap interval over test items.
        against: the baseline's row, by its place.
        markable: whether the column's rows are told apart by seeds, so that the value may be marked.
    """

    half: float | None = None
    group: int | None = None
    p: float | None = None
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    against: int | None = None
    markable: bool = False

    @property
    def differs(self) -> bool:
        """Whether the difference from the baseline is significant, in a column whose rows seeds tell apart."""
        return self.markable and self.p is not None and self.p <= ALPHA

    @property
    def tied(self) -> str:
        """The letters of its group, a to z and then pairs; empty where not tested."""
        if self.group is None:
            return ""
        return _letters(self.group)


def _letters(group: int) -> str:
    last = chr(ord("a") + group % 26)
    if group < 26:
        return last
    return _letters(group // 26 - 1) + last


@dataclass(frozen=True)
class Wins:
    """Over how many columns each row wins, ties and loses against each other one.

    Args:
        columns: that vote.
        matrix: `[wins, ties, losses]` by row id and row id.
    """

    columns: Sequence[str]
    matrix: Mapping[str, Mapping[str, Sequence[int]]]


@dataclass(frozen=True)
class TableStatistics:
    """What is known of one table beside its means.

    Args:
        values: of each row, by column; columns without a mean are missing.
        markable: by column, the places of the rows that may be marked (`seed_spread.markable`).
        unmarked: by reason, shown columns that would rank rows and may not (`seed_spread.unmarked`).
        wins: None where no column may vote.
        at_equal: lines on methods at equal diversity.
        closest: lines on who is closest to people.
    """

    values: Sequence[Mapping[str, ValueStatistics]]
    markable: Mapping[str, set[int]] = field(default_factory=dict)
    unmarked: Mapping[str, Sequence[str]] = field(default_factory=dict)
    wins: Wins | None = None
    at_equal: Sequence[str] = ()
    closest: Sequence[str] = ()

    def of_rows(self, places: Sequence[int]) -> TableStatistics:
        """Return what is known of some rows, as it is; what is counted over all rows is left out.

        Args:
            places: of the rows, in the order they are shown.
        """
        new = {place: at for at, place in enumerate(places)}
        values = []
        for place in places:
            of_row = {}
            for column, known in self.values[place].items():
                against = None
                if known.against is not None:
                    against = new.get(known.against)
                of_row[column] = replace(known, against=against)
            values.append(of_row)
        markable = {column: {new[place] for place in may if place in new} for column, may in self.markable.items()}
        return TableStatistics(values, markable, self.unmarked)
