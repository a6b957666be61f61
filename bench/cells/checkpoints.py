"""Checkpoints: which of them stay when their runs are finished and scored; records, rows and scores always do."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from bench.base.keys import key_of
from bench.base.sizes import amount
from bench.cells.cell import Cell
from bench.cells.outcome import Outcome
from bench.config.arguments import RunArguments
from bench.store.deleting import checkpoints_of, remove
from bench.store.reading import CellRecords, read_cells
from bench.store.store import Store

__all__ = ["best_cells", "drop_checkpoints"]


def drop_checkpoints(
    arguments: RunArguments, cells: Sequence[Cell], outcome: Outcome, say: Callable[[str], None]
) -> None:
    """Remove the checkpoints that `--keep-checkpoints` does not keep, and say what is left on the disk.

    A run that is not finished keeps its checkpoint, and so do those that it starts from or reads along.

    Args:
        arguments: `keep_checkpoints` is `all`, `best` (of runs that differ in their seed only, the best one's) or
            `none`.
        cells: the runs of the plan.
        outcome: what has become of them so far.
        say: prints what was removed and what is left.
    """
    policy = arguments.keep_checkpoints
    if policy == "all":
        return
    kept = needed_folders(cells, outcome)
    if policy == "best":
        kept |= best_cells(Store(arguments.results_folder))
    files = [file for cell in distinct(cells) for file in checkpoints_of(cell.folder)]
    gone = [file for file in files if file.path.parent not in kept]
    if not gone:
        return
    remove(gone)
    size, left = sum(file.size for file in gone), sum(file.size for file in files if file not in gone)
    say(
        f"--keep-checkpoints {policy}: removed {amount(size, 'B')} in {len(gone)} checkpoints; this run has "
        f"{amount(left, 'B')} of checkpoints left"
    )


def needed_folders(cells: Sequence[Cell], outcome: Outcome) -> set[Path]:
    """Return the folders of runs that are not finished, and of those that they start from or read along."""
    finished = {*outcome.ok, *outcome.stored, *outcome.diverged}
    needed = set()
    for cell in cells:
        if cell.label in finished:
            continue
        needed.add(cell.folder.path)
        needed.update(other.folder.path for other in cell.needed)
        if cell.start is not None:
            needed.add(cell.start.path)
    return needed


def distinct(cells: Sequence[Cell]) -> Collection[Cell]:
    """Return one run of each folder: a control may share the folder of another."""
    return {cell.folder.path: cell for cell in cells}.values()


def best_cells(store: Store) -> set[Path]:
    """Return the folders of runs that keep their checkpoint under `bench store delete --checkpoints best`.

    Of runs that differ in their seed only, it is the one with the best primary value of its task, the mean over its
    decodings. Where one of them has no such value, or is damaged, all keep theirs.
    """
    from bench.leaderboards.groups import comparable

    alike: dict[str, list[tuple[float | None, Path]]] = defaultdict(list)
    kept = set()
    for cell in read_cells(store):
        if cell.trained is None or cell.damaged:
            kept.add(cell.folder.path)
        elif cell.trained["status"] == "ok":
            alike[key_of(comparable(cell.trained))].append((merit_of(cell), cell.folder.path))
    for cells in alike.values():
        merits = [merit for merit, _ in cells if merit is not None]
        if len(merits) < len(cells):
            kept.update(path for _, path in cells)
        else:
            kept.add(max(cells, key=lambda cell: (cell[0], str(cell[1])))[1])
    return kept


def merit_of(cell: CellRecords) -> float | None:
    """Return the mean of a run's primary values, larger for the better; None where it has none."""
    from bench.leaderboards.groups import own_part
    from bench.leaderboards.table import columns_of

    assert cell.trained is not None
    task = cell.trained["config"]["task"]
    _, primary = columns_of(task, own_part(cell.trained, "task"))
    if not primary:
        return None
    values = []
    for score in cell.scores:
        for value in score["values"]:
            if value["name"] == primary and value["value"] is not None and not score["of"].get("shown_as"):
                sign = 1
                if value["higher_is_better"] is False:
                    sign = -1
                values.append(sign * value["value"])
    if not values:
        return None
    return sum(values) / len(values)
