"""Wholeness: which methods of a rung have every seed, which diverged there, and which lack seeds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from bench.ladder.decision import read_decision
from bench.ladder.files import plan_paths
from bench.ladder.stored_cells import Shape, StoredCells

__all__ = ["Expected", "Found", "expected", "found_of", "found_on"]


@dataclass(frozen=True)
class Expected:
    """What one ladder runs on a rung.

    Args:
        methods: that it runs.
        seeds: of every method.
    """

    methods: tuple[str, ...]
    seeds: frozenset[int]


@dataclass(frozen=True)
class Found:
    """What became of that.

    Args:
        seeds: by method that has all of them.
        diverged: methods that diverged.
        lacking: methods that lack seeds.
    """

    seeds: dict[str, frozenset[int]]
    diverged: list[str]
    lacking: list[str]


def expected(results: Path, task: str, cells: StoredCells, shape: Shape) -> list[Expected]:
    """Return what the ladders of a task run on a rung, from their plans; without one of it, from the cells alone.

    Args:
        results: the store or kept board that the cells are from.
        task: its name.
        cells: of its ladders.
        shape: of the rung's models.
    """
    there = seen(cells, shape)
    found = []
    for path in plan_paths(results, task):
        decision = read_decision(path)
        shapes = {(rung.size.width, rung.size.layers) for rung in decision.rungs}
        if shape in shapes:
            found.append(Expected(decision.methods, frozenset(decision.seeds) or there.seeds))
    return found or [there]


def seen(cells: StoredCells, shape: Shape) -> Expected:
    """Return what a ladder without a plan must have run on a rung: the methods and seeds that it has cells of.

    A method that was picked on another rung alone counts where it was trained on this one: it diverged or is not whole.
    """
    methods = set(cells.rows[shape])
    for rows in cells.rows.values():
        methods |= {method for method in rows if cells.trainings(shape, method)}
    seeds = frozenset[int]().union(*(cells.seeds(shape, method) for method in methods))
    return Expected(tuple(sorted(methods)), seeds)


def found_on(cells: StoredCells, shape: Shape, ladders: Iterable[Expected]) -> Found:
    """Return what became of a rung: that of all whole ladders together, or of the one that lacks fewest methods.

    Args:
        cells: of all ladders.
        shape: of the rung's models.
        ladders: what they run there, one or more.
    """
    each = [found_of(cells, shape, ladder) for ladder in ladders]
    whole = [found for found in each if not found.lacking]
    if not whole:
        return min(each, key=lambda found: len(found.lacking))
    seeds: dict[str, frozenset[int]] = {}
    diverged: set[str] = set()
    for found in whole:
        diverged.update(found.diverged)
        for method, own in found.seeds.items():
            seeds[method] = seeds.get(method, frozenset()) | own
    return Found(dict(sorted(seeds.items())), sorted(diverged), [])


def found_of(cells: StoredCells, shape: Shape, ladder: Expected) -> Found:
    """Return what became of one ladder's rung."""
    found = Found({}, [], [])
    for method in sorted(ladder.methods):
        if cells.is_whole(shape, method, ladder.seeds):
            found.seeds[method] = ladder.seeds
        elif cells.has_diverged(shape, method):
            found.diverged.append(method)
        else:
            found.lacking.append(method)
    return found
