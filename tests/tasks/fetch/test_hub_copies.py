"""The table of hub copies: pinned where a commit is known, patterns that fit the file names that were seen."""

from __future__ import annotations

import re

import pytest

from bench.tasks import TASKS
from bench.tasks.fetch.hub_copies import CONVERTED, HUB


@pytest.mark.parametrize("task", HUB)
def test_a_copy_is_pinned_or_says_that_it_is_not(task: str) -> None:
    assert task in TASKS
    copy = HUB[task]
    assert re.fullmatch(r"[\w.-]+/[\w.-]+", copy.repository)
    assert copy.revision == CONVERTED or re.fullmatch(r"[0-9a-f]{40}", copy.revision)
    assert copy.note.startswith("https://")
    assert set(copy.files) in ({"train", "validation", "test"}, {"train", "test"})
