"""The table of hub copies: pinned where a commit is known, patterns that fit the file names that were seen."""

from __future__ import annotations

import fnmatch
import re
from pathlib import Path

import pytest

from bench.tasks import TASKS
from bench.tasks.fetch.hub_copies import CONVERTED, HUB

SEEN = {
    "logicnlg": {
        "train": ["data/train-00000-of-00001-08a5c3058b9d32de.parquet"],
        "validation": ["data/validation-00000-of-00001-d4b9a136c03300b5.parquet"],
        "test": ["data/test-00000-of-00001-d6801bbd3e228479.parquet"],
    },
    "xsum": {
        "train": ["data/train-00000-of-00001.parquet"],
        "validation": ["data/validation-00000-of-00001.parquet"],
        "test": ["data/test-00000-of-00001.parquet"],
    },
    "cnndm": {
        "train": ["3.0.0/train-00000-of-00003.parquet", "3.0.0/train-00002-of-00003.parquet"],
        "test": ["3.0.0/test-00000-of-00001.parquet"],
    },
    "wikitext103": {
        "train": ["wikitext-103-v1/train-00000-of-00002.parquet"],
        "test": ["wikitext-103-v1/test-00000-of-00001.parquet"],
    },
    "writingprompts": {"test": ["data/test-00000-of-00001-16503b0c26ed00c6.parquet"]},
    "gigaword": {"train": ["default/train/0000.parquet"], "validation": ["default/validation/0000.parquet"]},
    "wikibio": {"train": ["default/train/0001.parquet"], "validation": ["default/val/0000.parquet"]},
    "nsmc": {"train": ["default/train/0000.parquet"], "test": ["default/test/0000.parquet"]},
}
OTHERS = ["README.md", "1.0.0/train-00000-of-00003.parquet", "wikitext-2-raw-v1/test-00000-of-00001.parquet",
          "default/partial-train/0000.parquet", "wikitext-103-raw-v1/test-00000-of-00001.parquet"]  # fmt: skip


@pytest.mark.parametrize("task", HUB)
def test_a_copy_is_pinned_or_says_that_it_is_not(task: str) -> None:
    copy = HUB[task]
    assert re.fullmatch(r"[\w.-]+/[\w.-]+", copy.repository)
    assert copy.revision == CONVERTED or re.fullmatch(r"[0-9a-f]{40}", copy.revision)
    assert copy.note.startswith("https://")
    assert set(copy.files) in ({"train", "validation", "test"}, {"train", "test"})


@pytest.mark.parametrize("task", HUB)
def test_a_file_belongs_to_its_own_split_and_no_other(task: str) -> None:
    for split, names in SEEN[task].items():
        for name in names:
            found = [
                one for one, patterns in HUB[task].files.items() if any(fnmatch.fnmatch(name, p) for p in patterns)
            ]
            assert found == [split], name
    patterns = [pattern for one in HUB[task].files.values() for pattern in one]
    assert not [name for name in OTHERS for pattern in patterns if fnmatch.fnmatch(name, pattern)]


@pytest.mark.parametrize("task", TASKS)
def test_a_task_that_names_a_copy_has_it_and_brings_it(task: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kind = TASKS[task].load()
    assert kind.info.hub == (HUB[task].repository if task in HUB else "")
    asked = []
    monkeypatch.setattr("bench.tasks.fetch.hub.fetch", lambda copy, folder: asked.append(copy) or "there")
    if kind.info.hub:
        assert kind.fetch(Path("folder")) == "there"
        assert asked == [HUB[task]]
