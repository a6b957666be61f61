"""Numbers: what can be checked of cells that have neither weights nor rows, as those merged from a kept board."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from bench.audit.finding import Finding, alarm, question
from bench.audit.records import check_names, check_record
from bench.audit.remade import StoredCell, remade
from bench.cells.score import Tasks, by_column
from bench.cells.sums_check import SumsCheck
from bench.errors import BenchError, DamagedError
from bench.store.keep import WITHOUT_SUMS

__all__ = ["check_numbers", "check_sums", "said_of_numbers"]


def check_numbers(stored: StoredCell, tasks: Tasks) -> Iterator[Finding]:
    """Check a cell that has numbers and no rows: its record, and whether its numbers are what their sums come to."""
    yield from check_names(stored)
    try:
        yield from check_record(stored, remade(stored, tasks))
    except BenchError as error:
        yield question("not checked", stored.place, str(error))
    check = SumsCheck()
    try:
        check.add(stored.folder)
    except DamagedError as error:
        yield alarm("files", stored.place, str(error))
    for line in check.differences:
        yield alarm("scores", stored.place, line)


def said_of_numbers(cells: Sequence[StoredCell]) -> Iterator[Finding]:
    """Say of every method which cells have numbers alone: nothing of them can be made again."""
    of_method: dict[tuple[str, str], list[StoredCell]] = defaultdict(list)
    for stored in cells:
        of_method[stored.config["task"], stored.config["method"]].append(stored)
    for (task, method), found in sorted(of_method.items()):
        text = (
            f"{len(found)} cells have neither weights nor rows, as those that were merged from a kept board: their "
            f"records were checked, and their numbers as far as these have sums"
        )
        yield question("not checked", f"{task}/{method}", text)


def check_sums(cells: Sequence[StoredCell]) -> Iterator[Finding]:
    """Look for numbers without rows that lack the sums which such numbers have in other cells.

    Sums of the validation split are not kept in a board, so they may be lacking.
    """
    if not any(stored.is_numbers_only for stored in cells):
        return
    summed: dict[str, set[tuple[str, str]]] = {}
    for stored in cells:
        with suppress(DamagedError):  # said with the cell
            summed[stored.place] = {
                (score["family"], name) for score in scores_of_test(stored) for name in sums_of(stored, score)
            }
    having = set[tuple[str, str]]().union(*summed.values())
    for stored in cells:
        if not stored.is_numbers_only or stored.place not in summed:
            continue
        for score in scores_of_test(stored):
            columns = set(by_column(score)) - sums_of(stored, score)
            if lacking := sorted(name for name in columns if (score["family"], name) in having):
                yield alarm("scores", stored.place, f"its {', '.join(lacking)} should have sums, as in other cells")


def scores_of_test(stored: StoredCell) -> list[Mapping[str, Any]]:
    """Return the scores of a cell of splits whose sums are kept."""
    return [score for score in stored.folder.all_scores() if score["of"]["split"] != WITHOUT_SUMS]


def sums_of(stored: StoredCell, score: Mapping[str, Any]) -> set[str]:
    """Return the columns of a score that have sums."""
    if "items" not in score:
        return set()
    return set(stored.folder.sums(score["items"]))
