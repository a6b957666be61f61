"""Decision: rungs, methods and hours of a ladder, made once and kept, so that every slice does the same."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench.base.files import write_atomic
from bench.cells.progress import Progress
from bench.errors import StoreError
from bench.ladder.asked import Asked
from bench.ladder.costs import cells_by_method, hours_by_method, within_budget
from bench.ladder.files import FOLDER
from bench.ladder.methods import chosen_methods
from bench.ladder.rungs import PlannedRung, planned_rungs
from bench.ladder.sizes import Size
from bench.ladder.timing import Timing, timed

__all__ = ["Decision", "decided", "place_of", "read_decision"]


@dataclass(frozen=True)
class Decision:
    """What a ladder runs.

    Args:
        rungs: smallest first.
        timings: of each rung, by name.
        hours: of one worker, by rung and method; of the methods that a budget dropped too.
        methods: that are run, the baseline first.
        left_out: why others are not run, by name.
        seeds: of every method; none in a file of an earlier version, which does not say them.
    """

    rungs: tuple[PlannedRung, ...]
    timings: Mapping[str, Timing]
    hours: Mapping[str, Mapping[str, float]]
    methods: tuple[str, ...]
    left_out: Mapping[str, str]
    seeds: tuple[int, ...] = ()

    def rung_hours(self, name: str) -> float:
        """Return the hours of one worker that a rung takes with the methods that are run."""
        return sum(self.hours[name][method] for method in self.methods)

    def as_dict(self) -> dict[str, Any]:
        """Return plain content."""
        return asdict(self)


def decision_of(content: Mapping[str, Any]) -> Decision:
    """Undo `Decision.as_dict`."""
    rungs = [PlannedRung(**{**rung, "size": Size(**rung["size"])}) for rung in content["rungs"]]
    timings = {name: Timing(**timing) for name, timing in content["timings"].items()}
    methods, seeds = tuple(content["methods"]), tuple(content.get("seeds", ()))
    return Decision(tuple(rungs), timings, content["hours"], methods, content["left_out"], seeds)


def read_decision(path: Path) -> Decision:
    """Return what a file says.

    Raises:
        StoreError: it cannot be read.
    """
    try:
        return decision_of(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise StoreError(
            f"'{path}' should hold what a ladder runs; it cannot be read ({error}). Remove it, and its copy beside a "
            f"kept board, and it is made again"
        ) from error


def place_of(asked: Asked, what: str) -> Path:
    """Return where a file of a ladder lies in its store.

    Args:
        asked: the ladder.
        what: the end of the file's name, such as `plan`.
    """
    return Path(asked.results) / FOLDER / f"{asked.task}-{asked.key}.{what}.json"


def decided(asked: Asked, progress: Progress, *, estimate: bool = False) -> Decision:
    """Return what was decided for a ladder before; where nothing was, time a cell of each rung and decide.

    Args:
        asked: the ladder.
        progress: told what happens.
        estimate: nothing will be run: what is decided is not kept, since the machine may be busier than it will be.

    Raises:
        UsageError: methods, rungs or the budget cannot be.
        StoreError: the file of the decision cannot be read or written.
    """
    path = place_of(asked, "plan")
    if path.exists():
        return read_decision(path)
    decision = decide(asked, progress)
    if not estimate:
        write_atomic(path, f"{json.dumps(decision.as_dict(), indent=1)}\n".encode())
    return decision


def decide(asked: Asked, progress: Progress) -> Decision:
    """Time a cell of each rung and drop the methods that a budget has no room for.

    Raises:
        UsageError: methods, rungs or the budget cannot be.
    """
    names, left_out = chosen_methods(asked.methods)
    rungs = planned_rungs(asked, names, progress)
    timings: dict[str, Timing] = {}
    hours: dict[str, dict[str, float]] = {}
    for rung in rungs:
        arguments = rung.arguments(asked, names)
        cells, misfits = cells_by_method(rung.search, arguments, progress)
        left_out |= misfits
        progress.say(f"rung {rung.size.name}: a short cell is timed")
        timings[rung.size.name] = timed(asked, rung, progress)
        hours[rung.size.name] = hours_by_method(cells, timings[rung.size.name])
    total = {name: sum(of_rung[name] for of_rung in hours.values()) / asked.jobs for name in hours[rungs[0].size.name]}
    methods = within_budget(total, asked.budget)
    for name, needed in total.items():
        if name not in methods:
            left_out[name] = f"is dropped by --budget {asked.budget:g}h: it adds {needed:.2f} hours"
    return Decision(rungs, timings, hours, tuple(methods), left_out, tuple(range(asked.seeds)))
