"""Kills: kill -9 at random moments of two tasks x three methods, then the same command.

Run by `python -m tools.chaos.kills`.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from tests.e2e import children, stores

SUITES = 40
"""Goal: so many suites have ended, so that kills were spread over all that a run does."""


@dataclass
class Scene:
    """Where runs happen, and what an undisturbed one leaves."""

    folder: Path
    every: str

    def __post_init__(self) -> None:
        self.environment = {
            "BENCH_CACHE": str(self.folder / "no-cache"),
            "BENCH_DATA": "",
            "HF_HUB_OFFLINE": "1",
            "OMP_NUM_THREADS": "1",
        }
        self.expected: dict[str, bytes] = {}

    def arguments(self) -> list[str]:
        """Return the command; a state is kept after each step, so that kills come between states."""
        return stores.arguments(self.folder / "results", "--set", f"execution.state_every={self.every}")

    def start(self) -> object:
        """Start the command in a process of its own."""
        return children.start(children.run_bench, self.arguments(), self.environment, str(self.folder / "log"))

    def finish(self) -> bool:
        """Run the command to its end; return whether the store is that of an undisturbed run."""
        child = self.start()
        assert children.ended(child, 300), children.read(self.folder / "log")
        return self.is_right(child)

    def is_right(self, child: object) -> bool:
        """Return whether a run ended well with the right store, and remove the store."""
        results = self.folder / "results"
        found = stores.contents(results)
        shutil.rmtree(results)
        if not self.expected:
            self.expected = found
        return child.exitcode == 0 and found == self.expected  # type: ignore[attr-defined]


def main() -> int:
    """Print goal and measured; return the exit code."""
    options = argparse.ArgumentParser()
    options.add_argument("--kills", type=int, default=100)
    options.add_argument("--seed", type=int, default=14)
    options.add_argument("--mean", type=float, default=0.0, help="seconds to a kill; 0: half of a suite")
    options.add_argument("--state-every", default="0")
    given = options.parse_args()
    draw, died, suites, right = random.Random(given.seed), 0, 0, 0
    with tempfile.TemporaryDirectory() as folder:
        scene = Scene(Path(folder), given.state_every)
        begun = time.monotonic()
        assert scene.finish()
        mean = given.mean or (time.monotonic() - begun) / 2
        while died < given.kills:
            child = scene.start()
            if children.ended(child, draw.expovariate(1 / mean)):
                suites += 1
                right += scene.is_right(child)
            else:
                children.kill(child)
                died += 1
        suites += 1
        right += scene.finish()
    goal = f">= {SUITES} complete stores, all identical"
    print(f"{died} kills, one in {mean:.1f} s on average · goal: {goal} · measured: {right} of {suites}")
    return int(right < suites or (suites < SUITES and given.kills >= 100))


if __name__ == "__main__":
    sys.exit(main())
