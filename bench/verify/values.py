"""Values: whether stored numbers are what their sufficient statistics come to."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bench.errors import BenchError
from bench.metrics.sums import Sums, value_of
from bench.store.export import WITHOUT_SUMS
from bench.store.store import CellFolder, StoredRows

__all__ = ["TOLERANCE", "Values", "value_from"]

TOLERANCE = 1e-12
"""Relative tolerance for fractions that were summed in groups before they were stored: each group's sum was rounded."""
NOVEL = "novel-"


@dataclass
class Values:
    """What was found about the values that were checked so far.

    Args:
        exact: values that equal the value of their sufficient statistics in every bit.
        rounded: values that equal it to `TOLERANCE`, where sums of groups were rounded.
        without: number of values without sufficient statistics, by family and column; `human <name>` for those of
            people's texts.
        differences: one line for each value that is another one.
        not_checked: what could not be computed because data or code is missing, and why, by run and family.
    """

    exact: int = 0
    rounded: int = 0
    without: dict[str, Counter[str]] = field(default_factory=dict)
    differences: list[str] = field(default_factory=list)
    not_checked: dict[str, BenchError] = field(default_factory=dict)

    def check_scores(self, folder: CellFolder, rows: Sequence[StoredRows]) -> None:
        """Compute every stored value of a run again from its sufficient statistics.

        Args:
            folder: of the run.
            rows: its predictions, if there are some; scores name the hash of those that they were computed from.

        Raises:
            DamagedError: a file cannot be read.
        """
        predictions = {stored.key: stored for stored in rows}
        for content in folder.all_scores():
            where = f"{folder.path} · {content['family']}"
            stored = predictions.get(content.get("rows", ""))
            if stored is not None and stored.sha256 != content["rows_sha256"]:
                self.differences.append(f"{where}: it was computed from other predictions than those stored")
            values = {value["name"]: value for value in content["values"]}
            columns = values | {f"human {value['name']}": value for value in content.get("human", ())}
            sums: Mapping[str, Sums] = {}
            if "items" in content:
                sums = folder.sums(content["items"])
                if not sums and content["of"]["split"] != WITHOUT_SUMS:
                    self.differences.append(f"{where}: its sufficient statistics, {content['items']}, are missing")
            for column in sorted(set(sums) - set(columns)):
                self.differences.append(f"{where}: {column}: has statistics and no stored value")
            for column, value in columns.items():
                if column in sums:
                    self._compare(f"{where}: {column}", value, sums[column], content["of"]["ids"]["n"])
                else:
                    self.without.setdefault(content["family"], Counter())[column] += 1

    def _compare(self, where: str, stored: Mapping[str, Any], sums: Sums, rows: int) -> None:
        """Compare one stored value with that of its sums; `rows` is the number of rows that were scored."""
        value, now = stored["value"], value_from(stored["name"], sums)
        if value == now:
            self.exact += 1
        elif _rounded_in_groups(sums, rows) and _near(value, now):
            self.rounded += 1
        else:
            self.differences.append(f"{where}: value stored {value!r}, its statistics give {now!r}")


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
