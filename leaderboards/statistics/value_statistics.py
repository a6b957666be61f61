"""Statistics of a leaderboard: the interval of each value, and its difference from the baseline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

__all__ = ["ALPHA", "TableStatistics", "ValueStatistics"]

ALPHA = 0.05
"""A difference with a p-value at most this large is significant."""


@dataclass(frozen=True)
class ValueStatistics:
    """The interval of one value, and its difference from the baseline of the same backbone and decoding.

    Args:
        half: half the width of the 95 % interval over seeds; None with fewer than three seeds.
        difference: mean over the seeds that both have of the value less the baseline's, in the column's unit; None for
            the baseline itself.
        low, high: ends of its 95 % interval over seeds; None with fewer than three shared seeds.
        p: two-sided, of the paired t test over seeds, after Holm over the rows of the column; None likewise.
        p_items: of the randomisation test over test items, after Holm over the rows of the column; None where the
            column is no sum over items.
        against: the baseline's row, by its place in the table.
    """

    half: float | None = None
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    p_items: float | None = None
    against: int | None = None

    @property
    def differs(self) -> bool:
        """Whether the difference from the baseline is significant over seeds."""
        return self.p is not None and self.p <= ALPHA


@dataclass(frozen=True)
class TableStatistics:
    """The statistics of one table.

    Args:
        values: of each row, by column; columns without a mean are missing.
    """

    values: Sequence[Mapping[str, ValueStatistics]]

    def of_rows(self, places: Sequence[int]) -> TableStatistics:
        """Return the statistics of some rows; tests stay those of the whole table.

        Args:
            places: of the rows, in the order they are shown.
        """
        new = {place: at for at, place in enumerate(places)}
        values = []
        for place in places:
            of_row = {}
            for column, known in self.values[place].items():
                against = None if known.against is None else new.get(known.against)
                of_row[column] = replace(known, against=against)
            values.append(of_row)
        return TableStatistics(values)
