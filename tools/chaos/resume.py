"""Resume: trainings stopped after a step end as undisturbed ones, bit for bit. `python -m tools.chaos.resume`."""

from __future__ import annotations

import random
import sys
import tempfile
import time
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from bench.base.registry import all_names
from bench.config.resolve import find_method
from bench.models import METHODS
from tests.e2e.resume import Case, differing

PAIRS = (  # any two settings of any two columns meet in one of the twelve
    # processes, accumulate, precision, dropout
    (1, 1, "32-true", 0.1),
    (2, 2, "32-true", 0.0),
    (2, 1, "bf16-mixed", 0.0),
    (1, 2, "bf16-mixed", 0.1),
    (1, 2, "16-mixed", 0.0),
    (2, 1, "16-mixed", 0.1),
    (1, 1, "32-true", 0.0),
    (2, 2, "32-true", 0.1),
    (1, 1, "bf16-mixed", 0.1),
    (2, 2, "bf16-mixed", 0.1),
    (2, 2, "16-mixed", 0.0),
    (1, 1, "16-mixed", 0.1),
)
DEEP = ("mle", "face", "histalign", "ul_token_seq", "f2softmax")
EVERY_STEP = ("face", "histalign")


@dataclass
class Count:
    """How many resumed trainings ended as they should."""

    right: int = 0
    wrong: int = 0

    def add(self, what: str, case: Case, steps: Iterable[int] | None) -> None:
        """Try one training from some of its steps."""
        wanted = list(steps or range(1, case.steps + 1))
        begun = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            bad = differing(case, Path(folder), wanted)
        self.right += len(wanted) - len(bad)
        self.wrong += len(bad)
        print(f"{what}: {len(wanted) - len(bad)} of {len(wanted)} identical ({time.monotonic() - begun:.0f} s) {bad}")


def trained_methods() -> list[str]:
    """Return every method that trains, with its variants."""
    names = []
    for name in all_names(METHODS):
        method = find_method(name)
        if not (method.is_baseline or method.only_reads or method.untrained):
            names.append(name)
    return names


def main() -> int:
    """Print goal and measured; return the exit code."""
    warnings.simplefilter("ignore")
    count, chance = Count(), random.Random(14)
    for method in trained_methods():
        count.add(f"{method}, default", Case(method), chance.sample(range(1, 9), 3))
    for method in DEEP:
        for processes, accumulate, precision, dropout in PAIRS:
            case = Case(method, 6, accumulate, precision, dropout, 0.6, processes)
            count.add(f"{method}, {processes=} {accumulate=} {precision} {dropout=}", case, [3])
    for method in EVERY_STEP:
        count.add(f"{method}, every step of 60", Case(method, 60, 2), None)
    total = count.right + count.wrong
    print(f"trainings that continue from a state · goal: all identical · measured: {count.right} of {total}")
    return int(count.wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
