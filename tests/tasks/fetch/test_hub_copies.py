"""The table of hub copies: pinned where a commit is known, patterns that fit the file names that were seen."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bench.tasks import TASKS
from bench.tasks.fetch.hub_copies import CONVERTED, HUB


@pytest.mark.parametrize("task", HUB)
def test_a_copy_is_pinned_or_says_that_it_is_not(task: str) -> None:
    copy = HUB[task]
    assert re.fullmatch(r"[\w.-]+/[\w.-]+", copy.repository)
    assert copy.revision == CONVERTED or re.fullmatch(r"[0-9a-f]{40}", copy.revision)
    assert copy.note.startswith("https://")
    assert set(copy.files) in ({"train", "validation", "test"}, {"train", "test"})


@pytest.mark.parametrize("task", TASKS)
def test_a_task_that_names_a_copy_has_it_and_brings_it(task: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kind = TASKS[task].load()
    assert kind.info.hub == (HUB[task].repository if task in HUB else "")
    fetched = []
    monkeypatch.setattr("bench.tasks.fetch.hub.fetch", lambda copy, folder: fetched.append(copy) or "there")
    if kind.info.hub:
        assert kind.fetch(Path("folder")) == "there"
        assert fetched == [HUB[task]]
