"""Across: whether the cells of a store fit each other: copied seeds, and searches that are what they say."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from bench.audit.finding import Finding, alarm, question
from bench.audit.remade import StoredCell
from bench.base.keys import key_of

__all__ = ["check_copies", "check_searches", "check_settings"]

TOLERANCE = 1e-9
MANY_SETTINGS = 3
"""Settings of a method on the test split, without a search on record, that are asked about."""


def check_copies(cells: Sequence[StoredCell]) -> Iterator[Finding]:
    """Look for two trainings with the same weights, or with the same likelihood of every row."""
    by_weights: dict[str, list[StoredCell]] = defaultdict(list)
    by_rows: dict[str, list[StoredCell]] = defaultdict(list)
    for cell in cells:
        if not cell.is_trained:
            continue
        by_weights[cell.record["model"]["checkpoint_sha256"]].append(cell)
        for rows in cell.rows:
            if rows.content["kind"] == "likelihood" and not rows.content["shown_as"]:
                by_rows[key_of([rows.content["ids"], [row["nll_sum"] for row in rows.rows]])].append(cell)
    for same, what in ((by_weights, "weights"), (by_rows, "likelihoods of all rows")):
        for first, *others in same.values():
            for other in others:
                if other.record["key"] != first.record["key"]:
                    yield alarm("copies", other.place, f"its {what} are those of {first.place}")


def check_searches(cells: Sequence[StoredCell]) -> Iterator[Finding]:
    """Compare the searches on record with the validation rows of what they say was tried."""
    by_key = {cell.record["key"]: cell for cell in cells}
    for cell in cells:
        for grid in cell.folder.grids():
            if "picked" in grid:
                yield from check_search(cell, grid, by_key)


def check_search(cell: StoredCell, grid: Mapping[str, Any], by_key: Mapping[str, StoredCell]) -> Iterator[Finding]:
    """Compare one search with what is stored of it."""
    tried = grid["tried"]
    if grid["picked"] != cell.record["key"]:
        yield alarm("search", cell.place, f"it is the search of another cell, {grid['picked']}")
    if grid.get("trials", len(tried)) != len(tried):
        yield alarm("search", cell.place, f"it says {grid['trials']} trials and has {len(tried)}")
    absent = 0
    for combination in tried:
        losses = []
        for key in combination["keys"].values():
            if key not in by_key:
                absent += 1
                continue
            losses.append(validation_loss(by_key[key]))
        if len(losses) == len(combination["keys"]):
            yield from compare_loss(cell, combination, losses)
    if absent:
        yield question("search", cell.place, f"{absent} cells that were tried are not in the store")
    with_loss = [each for each in tried if each["nll"] is not None]
    if with_loss:
        best = min(with_loss, key=lambda each: float(each["nll"]))
        yield from check_picked(cell, best)


def check_picked(cell: StoredCell, best: Mapping[str, Any]) -> Iterator[Finding]:
    """Look whether a cell has the settings that were best."""
    for text in best["sets"]:
        name, _, value = text.partition("=")
        section, _, option = name.rpartition(":")[2].partition(".")
        if section in ("optim", "trainer"):
            held = cell.config["trainer"].get(option)
        else:
            held = cell.config.get(f"{section}_options", {}).get(option)
        if not is_same(held, value):
            yield alarm("search", cell.place, f"the best combination of its search has {text}; the cell has {held}")


def is_same(held: Any, typed: str) -> bool:
    """Return whether a value of a configuration is the one that was typed."""
    try:
        return float(held) == float(typed)
    except (TypeError, ValueError):
        return str(held) == typed


def compare_loss(cell: StoredCell, combination: Mapping[str, Any], losses: Sequence[float | None]) -> Iterator[Finding]:
    """Compare a loss that a search has on record with that of the validation rows."""
    known = [loss for loss in losses if loss is not None]
    now = None
    if known and len(known) == len(losses):
        now = sum(known) / len(known)
    said = combination["nll"]
    if now is None and said is None:
        return
    if now is None or said is None or not math.isclose(now, said, rel_tol=TOLERANCE):
        sets = " ".join(combination["sets"])
        yield alarm("search", cell.place, f"it says {said} of {sets}; the validation rows of what was tried say {now}")


def validation_loss(cell: StoredCell) -> float | None:
    """Return nats per target token of a cell's validation split; None where it has no such rows."""
    for rows in cell.rows:
        content = rows.content
        if content["kind"] == "likelihood" and content["split"] == "valid" and content["whole_split"]:
            return float(sum(row["nll_sum"] for row in rows.rows) / sum(row["n_tokens"] for row in rows.rows))
    return None


def check_settings(cells: Iterable[StoredCell]) -> Iterator[Finding]:
    """Ask about methods that were evaluated on the test split with many settings, without a search on record."""
    settings: dict[tuple[str, ...], set[str]] = defaultdict(set)
    searched = set()
    for cell in cells:
        config = cell.config
        about = (config["task"], config["method"], config["backbone"], config["preset"])
        if cell.folder.grids():
            searched.add(about)
        if cell.is_trained and any(rows.content["split"] == "test" for rows in cell.rows):
            settings[about].add(key_of([config["trainer"], config["method_options"]]))
    for method, different in settings.items():
        if len(different) >= MANY_SETTINGS and method not in searched:
            text = f"{len(different)} settings were evaluated on the test split, and no search is on record"
            yield question("search", " · ".join(method), text)
