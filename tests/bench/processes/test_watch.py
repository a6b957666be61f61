"""Who is silent for too long, by heartbeats alone."""

import errno
import os
import time

import pytest

from bench.processes import watch
from bench.processes.heartbeat import Beat, Heartbeat, beating, read_beat
from bench.processes.watch import LEAST_S, Limits, Watch


class Clock:
    """A clock that the test turns."""

    def __init__(self, monkeypatch):
        self.now = 1000.0
        monkeypatch.setattr("bench.processes.watch.time.monotonic", lambda: self.now)
        monkeypatch.setattr(Watch, "_stack", lambda *_: "")


@pytest.fixture
def clock(monkeypatch):
    return Clock(monkeypatch)


def looks(found, clock, seconds, ended=()):
    """Look every second; return what is said last."""
    said = None
    for _ in range(seconds):
        clock.now += 1
        said = found.look(ended)
        if said:
            break
    return said


def test_a_heartbeat_is_read_as_it_was_written(tmp_path):
    beat = Heartbeat(tmp_path / "beat")
    assert read_beat(tmp_path / "beat") is None
    beat("training, backward", 7)
    assert read_beat(tmp_path / "beat") == Beat(1, os.getpid(), 7, "training, backward")
    assert list(beating("ab", "generation", beat)) == ["a", "b"]
    assert read_beat(tmp_path / "beat") == Beat(3, os.getpid(), 2, "generation")
    beat("x" * 500)
    assert read_beat(tmp_path / "beat").stage.startswith("xxx")


def test_a_rank_that_has_not_started_is_silent_too(tmp_path, clock):
    found = Watch(tmp_path, 1, Limits(stall=10))
    assert looks(found, clock, 10) is None
    assert looks(found, clock, 1) == "stalled: rank 0 of 1 was silent for 11 s, it has not started"


def test_the_rank_that_is_behind_is_named(tmp_path, clock):
    beats = [Heartbeat(tmp_path / f"heartbeat.{rank}") for rank in range(2)]
    found = Watch(tmp_path, 2, Limits(stall=10))
    for beat in beats:
        beat("training", 1)
    beats[0]("training, backward", 1)
    said = looks(found, clock, 20)
    assert said == "stalled: rank 1 of 2 was silent for 11 s, last seen in training, step 1"


def test_a_rank_that_goes_on_is_not_named_for_having_begun_later(tmp_path, clock):
    beats = [Heartbeat(tmp_path / f"heartbeat.{rank}") for rank in range(2)]
    found = Watch(tmp_path, 2, Limits(stall=10))
    for _ in range(9):
        beats[0]("generation", 1)
    said = None
    while said is None:
        beats[1]("generation", 1)
        said = looks(found, clock, 1)
        if beats[1].count > 5:
            beats[1].count = 1
    assert "rank 0 of 2" in said


def test_ranks_that_have_ended_are_not_waited_for(tmp_path, clock):
    found = Watch(tmp_path, 2, Limits(stall=10))
    assert looks(found, clock, 50, ended={0, 1}) is None
    assert "rank 1 of 2" in looks(found, clock, 50, ended={0})


def test_the_limit_follows_the_longest_step(tmp_path, clock):
    beat = Heartbeat(tmp_path / "heartbeat.0")
    found = Watch(tmp_path, 1, Limits())
    assert found.limit == LEAST_S
    for _ in range(3):
        beat("training")
        assert looks(found, clock, 200) is None
    beat("training")
    looks(found, clock, 1)
    assert found.limit == pytest.approx(10 * 200, abs=20)


def test_a_watcher_that_was_stopped_gives_time(tmp_path, clock):
    """The whole machine may have slept: silence counts only while somebody looks."""
    Heartbeat(tmp_path / "heartbeat.0")("training")
    found = Watch(tmp_path, 1, Limits(stall=10))
    assert looks(found, clock, 5) is None
    clock.now += 1000
    assert looks(found, clock, 5) is None
    assert looks(found, clock, 5) is not None


def test_a_cell_has_a_limit_of_its_own(tmp_path, clock):
    beat = Heartbeat(tmp_path / "heartbeat.0")
    found = Watch(tmp_path, 1, Limits(cell=10))
    said = None
    for _ in range(12):
        beat("training")
        said = said or looks(found, clock, 1)
    assert said == "stalled: the cell took longer than 10 s (--cell-timeout)"


def test_no_process_is_stopped_that_is_not_there():
    assert not watch.is_stopped(2**30)
    assert not watch.is_stopped(os.getpid())


def test_reading_data_is_no_step(tmp_path, clock):
    """It says nothing of how long a rank may take to stop."""
    beat = Heartbeat(tmp_path / "heartbeat.0")
    found = Watch(tmp_path, 1, Limits())
    for stage, step, seconds in (("reading", 0, 100), ("training", 1, 7), ("training", 2, 1), ("generation", 1, 1)):
        beat(stage, step)
        looks(found, clock, seconds)
    assert found.longest >= 99
    assert found.longest_step == pytest.approx(7, abs=1)


def test_a_disk_that_refuses_costs_a_sign_of_life_only(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    beat = Heartbeat(tmp_path / "beat")
    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", refuse)
        beat("training", 1)
    beat("training", 2)
    assert read_beat(tmp_path / "beat") == Beat(2, os.getpid(), 2, "training")


def test_a_rank_without_a_log_yet_is_named_all_the_same(tmp_path, monkeypatch):
    """It may be stopped between its first sign of life and its first print."""
    monkeypatch.setattr(watch, "STACK_S", 0.0)
    monkeypatch.setattr(os, "kill", lambda *_: None)
    Heartbeat(tmp_path / "heartbeat.0")("starting")
    found = Watch(tmp_path, 1, Limits(stall=0.05))
    assert found.look(()) is None
    time.sleep(0.1)
    assert "last seen in starting, step 0\n(it wrote no stack)" in found.look(())
