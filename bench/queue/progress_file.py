"""Progress file: how far the child of a cell is, for the overview of a queue. One line of JSON, written every second.

The worker looks at a heartbeat beside it (`bench/processes/heartbeat.py`), which says less and more often.

stage       what it does, such as `training`
step, of    steps done and wanted of that stage; 0 where it has none
elapsed_s   since the child began
left_s      of the stage, at the pace so far; null where nobody can tell
note        loss and tokens per second while it is trained, for people; else empty
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from bench.cells.pace.pace import TRAINING, Rate, Stage
from bench.cells.progress import about_step
from bench.processes.heartbeat import OnBeat, no_beat

__all__ = ["ProgressFile", "progress_path", "read_progress"]

EVERY_S = 1.0


class ProgressFile:
    """Keeps how far a cell is in a file, and its warnings for the outcome.

    Args:
        path: of the file. It is replaced whole, and not written through: it may be lost.
        heartbeat: told of every sign of life.
    """

    def __init__(self, path: Path, heartbeat: OnBeat = no_beat) -> None:
        self.path, self.heartbeat = path, heartbeat
        self.started = time.monotonic()
        self.written = -EVERY_S
        self.stage_started = self.started
        self.stages: Mapping[str, Stage] = {}
        self.name = ""
        self.of = 0  # rows of the stage
        self.rate = Rate()
        self.how = ""
        self.warnings: list[str] = []

    def warn(self, text: str) -> None:
        """Keep a warning."""
        print(f"warning: {text}", flush=True)
        self.warnings.append(text)

    def stage(self, name: str) -> None:
        """Begin a stage."""
        self.name, self.stage_started = name, time.monotonic()
        self.of, self.rate = 0, Rate()
        if name in self.stages:
            self.of = self.stages[name].of
        self.beat(name, 0)
        self.write(0, 0)

    def beat(self, stage: str, step: int) -> None:
        """Say that this process goes on; rows of an evaluation are how far it is."""
        self.heartbeat(stage, step)
        is_evaluation = stage != TRAINING and stage == self.name.partition(" ")[0]
        if is_evaluation and self.of and time.monotonic() - self.written >= EVERY_S:
            self.write(step, self.of)

    def step(self, step: int, steps: int, values: dict[str, float]) -> None:
        """Advance training."""
        note = about_step(values, self.rate)
        if time.monotonic() - self.written >= EVERY_S or step == steps:
            self.write(step, steps, note=note)

    def rows(self, what: str, done: int, of: int) -> None:
        """Advance work on the rows of a task, which may take long before a stage begins and within one."""
        self.beat(what, done)
        if time.monotonic() - self.written >= EVERY_S:
            self.write(done, of, what)

    def done(self, how: str) -> None:
        """Keep how the cell ended."""
        self.how = how

    def failed(self, why: str) -> None:
        """Print why the cell failed."""
        print(f"failed: {why}", flush=True)

    @property
    def seconds(self) -> float:
        """Since the child began."""
        return time.monotonic() - self.started

    def write(self, step: int, steps: int, within: str = "", note: str = "") -> None:
        """Write the file; a full disk does not matter.

        Args:
            step: done.
            steps: wanted.
            within: what they are of, where that is a part of a stage only; how long it takes is not known.
            note: what else is known of the step.
        """
        self.written = time.monotonic()
        left = None
        if step and not within:
            left = round((self.written - self.stage_started) * (steps - step) / step, 1)
        stage, elapsed = within or self.name, round(self.seconds, 1)
        content = {"stage": stage, "step": step, "of": steps, "elapsed_s": elapsed, "left_s": left, "note": note}
        beside = self.path.with_name(f"{self.path.name}.new")
        with suppress(OSError):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            beside.write_text(json.dumps(content))
            os.replace(beside, self.path)


def read_progress(path: Path) -> dict[str, Any] | None:
    """Return what a progress file says, or None where it is not there or not whole."""
    try:
        content = json.loads(path.read_text())
    except (OSError, ValueError):
        return None
    if not isinstance(content, dict):
        return None
    return content


def progress_path(queue: Path, key: str, generation: int) -> Path:
    """Return where a child says how far it is."""
    return queue / "p" / f"{key}.{generation}"
