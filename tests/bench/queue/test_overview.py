"""The overview of a queue: who works on what, how far, and when it may end."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from bench.queue.outcome import CellOutcome, last_outcome
from bench.queue.overview import overviews, text_of
from bench.queue.plan_file import PlanFile, open_queue
from bench.queue.progress_file import ProgressFile, progress_path, read_progress
from bench.queue.protocol.files import DiskFiles
from bench.queue.protocol.job import Job
from bench.queue.protocol.journal import Journal, Record
from bench.queue.protocol.timing import SHARED

CONFIG = {"task": "logicnlg", "method": "mle", "backbone": "small-encdec", "seed": 0, "preset": "small"}
KEYS = ("a" * 16, "b" * 16, "c" * 16, "d" * 16)


@pytest.fixture
def queue(tmp_path: Path) -> Path:
    """Four cells: one is done in 20 s, one is worked on, one waits for it, and one has failed."""
    jobs = (
        Job(KEYS[0], "first", cost=2.0),
        Job(KEYS[1], "second", cost=3.0, cell={"key": "e" * 16, "config": CONFIG}),
        Job(KEYS[2], "third", after=(KEYS[1],), cost=5.0),
        Job(KEYS[3], "fourth", cost=5.0),
    )
    queue = open_queue(PlanFile("0123", str(tmp_path), str(tmp_path / "results"), {}, SHARED, jobs))
    journal = Journal(DiskFiles(queue), "f" * 16)
    journal.open()
    journal.put(Record("c", KEYS[0], 1), Record("d", KEYS[0], 1), Record("c", KEYS[3], 1), Record("f", KEYS[3], 1))
    journal.put(Record("c", KEYS[1], 1))
    assert journal.flush()
    CellOutcome("ok", seconds=20.0).write(queue, KEYS[0], 1)
    CellOutcome("failed", "why").write(queue, KEYS[3], 1)
    progress = ProgressFile(progress_path(queue, KEYS[1], 1))
    progress.stage("training")
    progress.stage_started -= 12.0
    progress.step(30, 40, {})
    progress.step(40, 40, {})
    progress.stage_started -= 12.0
    progress.write(30, 40)
    return queue


def test_text(queue: Path, tmp_path: Path) -> None:
    (found,) = overviews(tmp_path / "results")
    assert text_of(found).splitlines() == [
        "queue 0123: 1 done, 1 failed, 1 held, 1 new; 1 workers, about 2 min more",
        "  second  on ffffffff, last beat 0 s ago  training 30 of 40, about 8 s more",
    ]


def test_a_silent_worker_is_not_counted(queue: Path, tmp_path: Path) -> None:
    long_ago = time.time() - 1000
    os.utime(queue / "j" / ("f" * 16), (long_ago, long_ago))
    (found,) = overviews(tmp_path / "results")
    assert (found.workers, found.left_s) == (0, None)
    assert found.running[0].silent_s >= 1000


def test_a_stranger_among_the_queues(tmp_path: Path) -> None:
    (tmp_path / ".work" / "queue-1").mkdir(parents=True)
    (tmp_path / ".work" / "queue-1" / "plan.json").write_text("no plan")
    assert overviews(tmp_path) == []


def test_progress_that_is_not_there_or_cut(tmp_path: Path) -> None:
    assert read_progress(tmp_path / "none") is None
    (tmp_path / "cut").write_text('{"stage": "tra')
    assert read_progress(tmp_path / "cut") is None
    (tmp_path / "other").write_text("[]")
    assert read_progress(tmp_path / "other") is None


def test_done_beats_failed(tmp_path: Path) -> None:
    assert last_outcome(tmp_path, KEYS[0]) is None
    CellOutcome("failed", "first").write(tmp_path, KEYS[0], 1)
    CellOutcome("failed", "second").write(tmp_path, KEYS[0], 2)
    found = last_outcome(tmp_path, KEYS[0])
    assert found is not None
    assert found.error == "second"
    CellOutcome("diverged").write(tmp_path, KEYS[0], 1)
    CellOutcome("ok").write(tmp_path, KEYS[0], 2)
    found = last_outcome(tmp_path, KEYS[0])
    assert found is not None
    assert found.status == "diverged"
