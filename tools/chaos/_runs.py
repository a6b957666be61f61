"""Runs to disturb: a small matrix in children that are forked, what it stores when nobody disturbs it, and findings."""

from __future__ import annotations

import argparse
import os
import random
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from tests.e2e import children, stores
from tests.waiting import wait_until

METHODS = "mle,face"
STEPS = "trainer.steps=40"


@dataclass
class Findings:
    """What was measured, and which expectations did not hold."""

    wrong: list[str] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)  # from the disturbance to the end
    done: int = 0

    def expect(self, holds: bool, what: str) -> None:
        """Note what does not hold."""
        if not holds:
            self.wrong.append(what)
            print(f"WRONG: {what}", flush=True)

    def show(self, name: str, runs: int, limit: float) -> int:
        """Print goal and measured; return the exit code of the program."""
        slowest = max(self.seconds, default=0.0)
        found = f"{self.done - len(self.wrong)} of {self.done}, the slowest in {slowest:.1f} s"
        print(f"{name} · goal: {runs} of {runs} as documented, each ended within {limit:g} s · measured: {found}")
        return int(bool(self.wrong) or self.done < runs or slowest > limit)


def arguments(results: Path, devices: int, *more: str) -> list[str]:
    """The matrix: two cells on some processes, with tables and a page at the end."""
    sets = (STEPS, "trainer.batch_size=4")
    asked = stores.arguments(results, *more, task="ambiguous_template", method=METHODS, sets=sets)
    return [*(word for word in asked if word != "--json"), "--devices", str(devices)]


@contextmanager
def workplace() -> Iterator[tuple[Path, dict[str, str]]]:
    """Make a folder for everything, and the environment of children, without this machine's data and hub."""
    os.environ.pop("BENCH_DATA", None)
    with tempfile.TemporaryDirectory(prefix="bench-chaos-") as folder:
        cache = Path(folder, "no-cache")
        yield Path(folder), {"BENCH_CACHE": str(cache), "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}


def begin(folder: Path, asked: list[str], environment: dict[str, str], trouble: Any = None) -> BaseProcess:
    """Start `bench` and wait until it can hear."""
    folder.mkdir(parents=True, exist_ok=True)
    begun = folder / "begun"
    begun.unlink(missing_ok=True)
    # The file is left when the program begins: nobody disturbs it before it can hear.
    troubles = children.together(*filter(None, (children.fork_workers, trouble, begun.touch)))
    child = children.start(children.run_bench, asked, environment, str(folder / "log"), troubles)
    wait_until(begun.exists, 60)
    time.sleep(0.05)
    return child


def finished(folder: Path, asked: list[str], environment: dict[str, str]) -> tuple[int | None, float]:
    """Run `bench` to its end; return exit code and seconds."""
    child, began = begin(folder, asked, environment), time.monotonic()
    children.ended(child, 300)
    return child.exitcode, time.monotonic() - began


def kept(results: Path) -> dict[str, bytes]:
    """What a store holds, without pages."""
    return {name: content for name, content in stores.contents(results).items() if not name.endswith(".html")}


def ranks_of(results: Path) -> dict[int, int]:
    """The processes of the ranks that share a cell now."""
    found = {}
    for path in results.glob(".work/*/process.*"):
        if text := children.read(path):
            found[int(path.suffix[1:])] = int(text)
    return found


@dataclass(frozen=True)
class Disturbance:
    """One run that is to be disturbed.

    Args:
        folder: for everything of it.
        environment: of its processes.
        devices: ranks that share a cell.
        seconds: that an undisturbed run takes.
        draw: random numbers.
        found: told what was wrong.
    """

    folder: Path
    environment: dict[str, str]
    devices: int
    seconds: float
    draw: random.Random
    found: Findings

    @property
    def results(self) -> Path:
        """The store."""
        return self.folder / "results"

    @property
    def log(self) -> str:
        """What was printed so far."""
        return children.read(self.folder / "log")

    def begin(self, *more: str, trouble: Any = None) -> BaseProcess:
        """Start the matrix and wait for some moment of it."""
        child = begin(self.folder, arguments(self.results, self.devices, *more), self.environment, trouble)
        time.sleep(self.draw.uniform(0, self.seconds))
        return child

    def end(self, child: BaseProcess, what: str) -> None:
        """Expect that it ends by itself, and that nothing is left behind."""
        ended = children.ended(child, 60)
        self.found.expect(ended, f"{what}: it did not end\n{self.log}")
        children.kill(child)
        left = children.users(self.folder)
        self.found.expect(left == [], f"{what}: processes {left} are left")


def repeat(disturb: Callable[[Disturbance], str], devices: Sequence[int], name: str, limit: float) -> int:
    """Disturb as many runs as are asked for; each must give the undisturbed results when it is started again.

    Args:
        disturb: does it once, and says what it did.
        devices: numbers of ranks, one of which is drawn each time.
        name: of what is shown.
        limit: seconds from the disturbance to the end.

    Returns:
        The exit code.
    """
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    draw, found = random.Random(given.seed), Findings()
    with workplace() as (place, environment):
        undisturbed = {number: measured(place, number, environment) for number in devices}
        for number in range(given.runs):
            ranks = draw.choice(devices)
            contents, seconds = undisturbed[ranks]
            run = Disturbance(place / str(number), environment, ranks, seconds, draw, found)
            said = disturb(run)
            code, _ = finished(run.folder, arguments(run.results, ranks), environment)
            found.expect(code == 0, f"{said}: again it ended with {code}\n{run.log}")
            found.expect(kept(run.results) == contents, f"{said}: other results")
            found.done += 1
            print(f"{number + 1}/{given.runs} {said}", flush=True)
    return found.show(name, given.runs, limit)


def measured(place: Path, devices: int, environment: dict[str, str]) -> tuple[dict[str, bytes], float]:
    """Return what an undisturbed run stores, and the seconds that a second one takes, which has no first time."""
    seconds = 0.0
    for name in ("undisturbed", "timed"):
        folder = place / f"{name}-{devices}"
        code, seconds = finished(folder, arguments(folder / "results", devices), environment)
        assert code == 0, children.read(folder / "log")
    return kept(folder / "results"), seconds
