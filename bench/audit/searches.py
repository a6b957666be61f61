"""Searches: whether what a store says of the settings that were tried is so."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from bench.audit.finding import Finding, alarm, question
from bench.audit.remade import StoredCell, method_of
from bench.base.keys import key_of
from bench.base.space import Around, Choices, Dimension, LogUniform, Space, Uniform, points
from bench.base.ties import tied
from bench.errors import BenchError

__all__ = ["check_searches", "check_settings"]

TOLERANCE = 1e-9
ROUNDED = 0.0102
"""Relative difference that three significant digits make between two numbers that are the same."""
MANY_SETTINGS = 3
"""Settings of a method on the test split, without a search on record, that are asked about."""


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
    if "space" in grid:
        yield from check_trials(cell, grid)
    absent, played = 0, grid.get("play_off", [])
    for combination in (*tried, *played):
        losses = []
        for key in combination["keys"].values():
            if key not in by_key or by_key[key].is_numbers_only:
                absent += 1
                continue
            losses.append(validation_loss(by_key[key], grid.get("rows")))
        if len(losses) == len(combination["keys"]):
            yield from compare_loss(cell, combination, losses)
    if absent:
        yield question("search", cell.place, f"{absent} cells that were tried are not in the store, or have no rows")
    yield from check_play_off(cell, grid, by_key)
    for part in (played, tried):
        with_loss = [each for each in part if each["nll"] is not None]
        if with_loss:
            yield from check_picked(cell, min(with_loss, key=lambda each: float(each["nll"])))
            break


def check_trials(cell: StoredCell, grid: Mapping[str, Any]) -> Iterator[Finding]:
    """Look whether the trials of a search are the first points of the method's own sequence.

    A search of fewer trials begins with the trials of any longer one. So a record that left some out has gaps, unless
    what it left out came last and was not picked.
    """
    try:
        method = method_of(cell.record)
    except BenchError:
        return  # said with the cell
    space: Space = getattr(method.kind, "space", {})
    if {name: dimension.text for name, dimension in space.items()} != grid["space"]:
        text = "its space is not the one that the method has here; its trials are not compared with the sequence"
        yield question("search", cell.place, text)
        return
    tried = [values_of(combination) for combination in grid["tried"]]
    drawn = points(method.trained_name, len(space), len(tried))
    for axis, (name, dimension) in enumerate(space.items()):
        shares, values = [point[axis] for point in drawn], [sets.get(name, "") for sets in tried]
        if not are_at(dimension, shares, values):
            text = (
                f"its {len(tried)} trials of {name}, {', '.join(values)}, are not the first of the method's own "
                f"sequence; others were tried too, or in place of these"
            )
            yield alarm("search", cell.place, text)


def check_play_off(cell: StoredCell, grid: Mapping[str, Any], by_key: Mapping[str, StoredCell]) -> Iterator[Finding]:
    """Look whether the play-off of a search is between whole trainings of the trials that tied."""
    tried, played = grid["tried"], grid.get("play_off", [])
    trials = []
    if grid.get("steps", "1") != "1":
        trials = [tried[place] for place in tied([each["nll"] for each in tried])]
    players = [trial["sets"] for trial in trials]
    if players and not played:
        text = f"{len(players)} of its trials tie, and no play-off of theirs is on record; older searches had none"
        yield question("search", cell.place, text)
        return
    if players != [each["sets"] for each in played]:
        yield alarm("search", cell.place, f"its play-off should be between {players}, the trials that tied")
        return
    for player, trial in zip(played, trials, strict=True):
        if player["keys"].keys() != trial["keys"].keys():
            yield alarm("search", cell.place, f"its play-off is on the seeds {', '.join(player['keys'])}")
        for key in player["keys"].values():
            if key in by_key:
                yield from check_player(cell, player, by_key[key])


def check_player(cell: StoredCell, player: Mapping[str, Any], whole: StoredCell) -> Iterator[Finding]:
    """Look whether a cell is the whole training that a play-off says it is."""
    yield from check_picked(whole, player)
    names = ("steps", "epochs")
    if [whole.config["trainer"][name] for name in names] != [cell.config["trainer"][name] for name in names]:
        yield alarm("search", whole.place, f"a play-off of {cell.place} should have its number of steps")


def values_of(combination: Mapping[str, Any]) -> dict[str, str]:
    """Return the values of a combination by setting, without the method that they are for."""
    found = {}
    for text in combination["sets"]:
        name, _, value = text.partition("=")
        found[name.rpartition(":")[2]] = value
    return found


def are_at(dimension: Dimension, shares: Sequence[float], values: Sequence[str]) -> bool:
    """Return whether values are those of a dimension at some shares of its range.

    No record has the value that a setting had before its search. So values around it need only be around the same one.
    """
    if isinstance(dimension, Around):
        try:
            own = [float(v) / dimension.factor ** (2 * share - 1) for share, v in zip(shares, values, strict=True)]
        except ValueError:
            return False
        return math.isclose(min(own), max(own), rel_tol=ROUNDED)
    if isinstance(dimension, Choices | LogUniform | Uniform):
        return [str(dimension.at(share, None)) for share in shares] == list(values)
    return True  # a kind of one's own may need the value that the setting had


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


def validation_loss(cell: StoredCell, number: int | None) -> float | None:
    """Return nats per target token of a cell's validation rows; None where it has no such rows.

    Args:
        cell: that was tried.
        number: of rows that the search scored it on, at most; None for the whole split.
    """
    valid = [rows for rows in cell.rows if (rows.content["kind"], rows.content["split"]) == ("likelihood", "valid")]
    scored = [rows for rows in valid if rows.content["ids"]["n"] == number]
    scored += [rows for rows in valid if rows.content["whole_split"]]
    if not scored:
        return None
    return float(sum(row["nll_sum"] for row in scored[0].rows) / sum(row["n_tokens"] for row in scored[0].rows))


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
