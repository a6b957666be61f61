"""Sums check: whether the stored values of a kept board, which has no rows, are what their sums come to."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bench.cells.score import by_column
from bench.metrics.sums import Sums, value_of
from bench.store.keep import WITHOUT_SUMS
from bench.store.store import CellFolder

__all__ = ["TOLERANCE", "SumsCheck", "value_from"]

TOLERANCE = 1e-12
"""Relative, for fractions that were summed in groups before they were stored: each group's sum was rounded."""
NOVEL = "novel-"


@dataclass
class SumsCheck:
    """What came out for the values that were checked so far.

    Args:
        cells: that were checked.
        exact: values that equal the value of their sums in every bit.
        rounded: values that equal it to `TOLERANCE`, where sums of groups were rounded.
        without: how many values have no sums, by family and column; those of people's texts are `human <name>`.
        differences: a line for each value that is another one.
    """

    cells: int = 0
    exact: int = 0
    rounded: int = 0
    without: dict[str, Counter[str]] = field(default_factory=dict)
    differences: list[str] = field(default_factory=list)

    def add(self, cell: CellFolder) -> None:
        """Check the stored values of a cell.

        Raises:
            StoreError: a record or its sums are damaged.
        """
        self.cells += 1
        for content in cell.all_scores():
            self._add_scores(cell, content)

    def counts(self) -> dict[str, Any]:
        """Return the numbers as JSON has them."""
        return {"same_by_sums": self.exact, "same_by_rounded_sums": self.rounded, "without_sums": self.without}

    def lines(self) -> list[str]:
        """Return differences, then the columns that have no sums, then all counts in one line."""
        lines, n_without = list(self.differences), 0
        for family, columns in sorted(self.without.items()):
            n_without += columns.total()
            why = f"not verifiable from a kept board: {columns.total()} values have no sums"
            lines.append(f"{family}: {why}: {', '.join(columns)}")
        lines.append(
            f"{self.exact + self.rounded} stored values are what their sums come to ({self.exact} in every bit, "
            f"{self.rounded} to {TOLERANCE} because sums of groups were rounded), {n_without} have no sums, "
            f"{len(self.differences)} differences"
        )
        return lines

    def _add_scores(self, cell: CellFolder, content: Mapping[str, Any]) -> None:
        """Check the values of one scores file."""
        family, columns, sums = content["family"], by_column(content), {}
        where = f"{cell.path} · {family}"
        if "items" in content:
            sums = cell.sums(content["items"])
            if not sums and content["of"]["split"] != WITHOUT_SUMS:
                self.differences.append(f"{where}: the sums that it names, {content['items']}, are not there")
        for column in sorted(set(sums) - set(columns)):
            self.differences.append(f"{where}: {column}: has sums and no stored value")
        for column, stored in columns.items():
            if column in sums:
                self._compare(f"{where}: {column}", stored, sums[column], content["of"]["ids"]["n"])
            else:
                self.without.setdefault(family, Counter())[column] += 1

    def _compare(self, where: str, stored: Mapping[str, Any], sums: Sums, rows: int) -> None:
        """Compare one stored value with that of its sums; `rows` is the number of rows that were scored."""
        value, now = stored["value"], value_from(stored["name"], sums)
        if value == now:
            self.exact += 1
        elif _rounded_in_groups(sums, rows) and _near(value, now):
            self.rounded += 1
        else:
            self.differences.append(f"{where}: value stored {value!r}, its sums come to {now!r}")


def value_from(name: str, sums: Sums) -> float | None:
    """Return the value of a column by the form of its sums, as `score_of_sums` computes it.

    `novel-n` is defined as 100 less `copy-n`, which may differ in the last bit from the form of its sums. So it is
    computed as it is defined, from the n-grams that are not novel.

    >>> from bench.metrics.sums import ratio
    >>> sums = Sums(ratio(100), [[872, 2816]])
    >>> value_from("novel-1", sums), value_from("copy-1", sums)
    (30.965909090909093, 30.96590909090909)
    """
    total = sums.total.tolist()
    if not name.startswith(NOVEL):
        return value_of(total, sums.form)
    novel, ngrams = total
    copied = value_of([ngrams - novel, ngrams], sums.form)
    if copied is None:
        return None
    return 100.0 - copied


def _rounded_in_groups(sums: Sums, rows: int) -> bool:
    """Return whether rows were summed in groups (`Sums.together`) and the sums are not whole, so not exact."""
    return len(sums) < rows and bool((sums.values % 1 != 0).any())


def _near(value: float | None, now: float | None) -> bool:
    """Return whether two numbers are equal to `TOLERANCE`."""
    return value is not None and now is not None and math.isclose(value, now, rel_tol=TOLERANCE, abs_tol=0)
