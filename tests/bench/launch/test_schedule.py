"""Which run comes next: parents first, one reader of a folder at a time, a locked run later."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from bench.launch.schedule import AGAIN_S, Schedule


def cell(folder: str, *needed: Any) -> Any:
    """A run, as much of it as a schedule looks at."""
    return SimpleNamespace(folder=SimpleNamespace(path=Path(folder)), needed=list(needed))


PARENT, OTHER = cell("parent"), cell("other")
CELLS = [PARENT, cell("child", PARENT), OTHER, cell("parent")]
"""The last one is a control that reads the training of the first."""


def test_children_and_controls_wait_for_what_they_read() -> None:
    schedule = Schedule(CELLS)
    assert [schedule.next() for _ in range(3)] == [0, 2, None]
    schedule.settle(0)
    assert [schedule.next() for _ in range(3)] == [1, 3, None]


def test_a_child_begins_when_its_parent_is_settled() -> None:
    schedule = Schedule(CELLS[:3])
    assert [schedule.next(), schedule.next()] == [0, 2]
    schedule.settle(0)
    assert schedule.next() == 1
    schedule.settle(1)
    schedule.settle(2)
    assert schedule.is_done


def test_what_is_locked_comes_later_and_its_children_wait() -> None:
    now = [0.0]
    schedule = Schedule(CELLS[:3], lambda: now[0])
    assert schedule.next() == 0
    schedule.put_back(0, AGAIN_S)
    assert [schedule.next(), schedule.next()] == [2, None]
    now[0] = AGAIN_S
    assert schedule.next() == 0
    assert not schedule.is_done
