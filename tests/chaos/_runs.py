"""Runs to disturb: a small matrix in children that are forked, what it stores when nobody disturbs it, and findings."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from tests.e2e import children, stores

METHODS = "mle,face"
STEPS = "trainer.steps=40"


@dataclass(frozen=True)
class Begun:
    """Leave a file when the program begins, so that nobody disturbs it before it can hear."""

    file: Path
    other: Any = None

    def arm(self) -> None:
        if self.other is not None:
            self.other.arm()
        self.file.touch()


@dataclass
class Findings:
    """What was measured, beside what was wanted."""

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
        print(f"{name} · goal: {runs} of {runs} as wanted, each ended in {limit:g} s · measured: {found}")
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
    both = children.All(tuple(one for one in (children.ForkedWorkers(), trouble) if one is not None))
    child = children.start(children.run_bench, asked, environment, str(folder / "log"), Begun(begun, both))
    children.wait_until(begun.exists, 60)
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
    for path in results.glob(".work/*/heartbeat.*"):
        text = children.read(path).split()
        if len(text) > 1:
            found[int(path.suffix[1:])] = int(text[1])
    return found
