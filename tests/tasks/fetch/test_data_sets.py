"""Any data set as the rows of pairs and text: the same rows as files, at a recorded commit, or a clear refusal."""

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import datasets
import pytest

from bench.errors import BenchError, DataError, MissingError, UsageError
from bench.tasks.core.task import Task
from bench.tasks.fetch import data_sets
from bench.tasks.fetch.hub import library
from bench.tasks.fetch.sources import Source
from bench.tasks.pairs import Pairs
from bench.tasks.text import Text
from tests.tasks.fake_hub import COMMIT, FakeHub, parquet, serving

SPLITS = ("train", "valid", "test")
ROWS = [{"document": f'question {i}, or "{i}"? é 등대\u2028', "summary": f"answer\n{i} \t"} for i in range(60)]
PARTS = {"train": ROWS[:40], "validation": ROWS[40:50], "test": ROWS[50:]}
COLUMNS = {"source": "document", "target": "summary"}
TEXTS = [{"body": f"text {i} " + "of some words " * 20, "n": i} for i in range(30)]

# The hashes of ROWS as the tasks' own readers gave them before `datasets` read anything.
PAIRS_SHA256 = ["25857f689005", "c2d0b7ea74d0", "9f5066d0e773"]
HELD_OUT_SHA256 = ["c3abdfa1c2ce", "29a85286904b", "aff888e037d2"]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCH_CACHE", str(tmp_path / "cache"))


def written(folder: Path, parts: dict[str, list[dict[str, Any]]]) -> Path:
    """Write a file of each split."""
    folder.mkdir()
    for split, rows in parts.items():
        (folder / f"{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def saved(folder: Path, parts: dict[str, list[dict[str, Any]]]) -> Path:
    """Write a folder as a user does: with `save_to_disk`."""
    library()
    made = datasets.DatasetDict({split: datasets.Dataset.from_list(rows) for split, rows in parts.items()})
    made.save_to_disk(str(folder))
    return folder


def opened(kind: type[Task], *, limit: int | None = None, given: Source | None = None, **options: Any) -> Task:
    task = kind(**options)
    task.load(given or Source(None, "test"), limit)
    return task


def hashes(task: Task) -> list[str]:
    return [task.manifest(split).sha256[:12] for split in SPLITS]


# Folders -----------------------------------------------------------------------------------------------------------


def test_a_saved_data_set_is_read_where_it_is(tmp_path: Path) -> None:
    folder = saved(tmp_path / "saved", PARTS)
    task = opened(Pairs, hub=str(folder), **COLUMNS)
    assert hashes(task) == PAIRS_SHA256
    assert hashes(opened(Pairs, path=str(written(tmp_path / "files", PARTS)), **COLUMNS)) == PAIRS_SHA256
    assert task.source == Source(folder, f"task.hub: {folder}")
    assert {task.split(split).status for split in SPLITS} == {"own"}
    assert "commit" not in task.manifest("train").as_dict()


def test_splits_that_are_not_there_are_held_out_as_from_a_file(tmp_path: Path) -> None:
    folder = saved(tmp_path / "saved", {"train": ROWS[:40]})
    assert hashes(opened(Pairs, hub=str(folder), **COLUMNS)) == HELD_OUT_SHA256
    assert hashes(opened(Pairs, hub=str(folder / "train"), **COLUMNS)) == HELD_OUT_SHA256
    file = written(tmp_path / "files", {"train": ROWS[:40]}) / "train.jsonl"
    by_hand = opened(Pairs, path=str(file), **COLUMNS)
    assert hashes(by_hand) == HELD_OUT_SHA256
    assert by_hand.split("test").origin == f"{file}; valid and test held out"


def test_text_is_read_both_ways(tmp_path: Path) -> None:
    parts = {"train": TEXTS[:20], "valid": TEXTS[20:25], "test": [*TEXTS[25:], {"body": "", "n": 1}]}
    by_hand = opened(Text, path=str(written(tmp_path / "jsonl", parts)), field="body")
    by_library = opened(Text, hub=str(saved(tmp_path / "saved", parts)), field="body")
    assert hashes(by_hand) == hashes(by_library)
    assert by_hand.split("test").skipped[-1][1:] == ("line 6", "an empty text")
    assert by_library.split("test").skipped[-1] == ("test", "row 6", "an empty text")
    assert by_library.cluster_of("test/3/0") == "test/3"


def test_a_bad_row_is_named(tmp_path: Path) -> None:
    folder = saved(tmp_path / "saved", {"train": [*ROWS[:3], {"document": None, "summary": "x"}, *ROWS[3:10]]})
    with pytest.raises(DataError, match=r"train, row 4: expected text in the field 'document', found nothing"):
        opened(Pairs, hub=str(folder), **COLUMNS).split("train")


REFUSED = {
    "no folder": ({"hub": "./gone"}, MissingError, r"task\.hub: gone is no folder; expected one, or owner/name"),
    "column": ({"target": "summry"}, UsageError,
               r"task\.target: .*train has no column 'summry'; did you mean 'summary'\?"),
    "default column": ({"source": "source"}, UsageError, r"task\.source: .* no column 'source'; there are: document"),
    "split": ({"test_split": "tset"}, UsageError,
              r"task\.test_split: .* no split 'tset'; did you mean 'test'\?"),
    "revision": ({"revision": "v1"}, UsageError, r"task\.revision is for data sets of the hub"),
    "files": ({"hub": "."}, UsageError, r"was not written by save_to_disk; name files with task\.path"),
    "path too": ({"path": "x.csv"}, UsageError, r"task\.hub and task\.path are two places"),
    "text column": ({"kind": Text, "field": "sumary"}, UsageError, r"task\.field: .*did you mean 'summary'\?"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_there_is_refused_with_the_nearest_name(name: str, tmp_path: Path) -> None:
    given, kind, expected = REFUSED[name]
    options: dict[str, Any] = {"hub": str(saved(tmp_path / "saved", PARTS)), **COLUMNS, **given}
    task: type[Task] = options.pop("kind", Pairs)
    if task is Text:
        options = {name: value for name, value in options.items() if name not in COLUMNS}
    with pytest.raises(BenchError, match=expected) as caught:
        opened(task, **options).split("train")
    assert type(caught.value) is kind
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("given", [{"config": "x"}, {"revision": "x"}, {"valid_split": "dev"}])
def test_options_of_a_data_set_need_one(given: dict[str, str]) -> None:
    for kind in (Pairs, Text):
        with pytest.raises(UsageError, match=rf"task\.{next(iter(given))} needs task\.hub"):
            kind(**given)


def test_splits_with_other_names_are_named(tmp_path: Path) -> None:
    folder = saved(tmp_path / "saved", {"learn": ROWS[:40], "dev": ROWS[40:50], "val": ROWS[:5], "exam": ROWS[50:]})
    names = {"train_split": "learn", "valid_split": "dev", "test_split": "exam"}
    assert hashes(opened(Pairs, hub=str(folder), **COLUMNS, **names)) == PAIRS_SHA256
    del names["valid_split"]
    with pytest.raises(UsageError, match=r"has the splits val and dev; choose one with task\.valid_split"):
        opened(Pairs, hub=str(folder), **COLUMNS, **names).split("train")
    with pytest.raises(UsageError, match=r"no split 'train'; set task\.train_split to one of dev, exam, learn, val"):
        opened(Pairs, hub=str(folder), **COLUMNS, valid_split="dev").split("train")


def test_files_that_cannot_be_read_are_one_clear_line(tmp_path: Path) -> None:
    folder = saved(tmp_path / "saved", PARTS)
    (arrow,) = (folder / "train").glob("*.arrow")
    arrow.write_bytes(b"nonsense")
    with pytest.raises(DataError, match="train: cannot be read as a saved data set"):
        opened(Pairs, hub=str(folder), **COLUMNS).split("train")


# The hub -----------------------------------------------------------------------------------------------------------

FILES = {
    "data/train-00000-of-00002.parquet": parquet(PARTS["train"][:25]),
    "data/train-00001-of-00002.parquet": parquet(PARTS["train"][25:]),
    "data/validation-00000-of-00001.parquet": parquet(PARTS["validation"]),
    "data/test-00000-of-00001.parquet": parquet(PARTS["test"]),
}
CONFIGS = """---
configs:
- config_name: short
  data_files:
  - {split: train, path: short/train.jsonl}
- config_name: long
  data_files:
  - {split: train, path: long/train.jsonl}
---
"""


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHub]:
    with serving(FakeHub(dict(FILES)), tmp_path / "hf", monkeypatch) as made:
        monkeypatch.setattr(datasets.config, "HF_ENDPOINT", os.environ["HF_ENDPOINT"])
        monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", False)
        monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "elsewhere")
        monkeypatch.setattr(datasets.config, "DOWNLOADED_DATASETS_PATH", tmp_path / "elsewhere" / "downloads")
        address = os.environ["HF_ENDPOINT"] + "/datasets/{repo_id}/resolve/{revision}/{path}"
        monkeypatch.setattr(datasets.config, "HUB_DATASETS_URL", address)
        yield made


def of_hub(**options: Any) -> Task:
    return opened(Pairs, **{"hub": "owner/rows", **COLUMNS, **options})


def test_rows_of_the_hub_are_those_of_the_files_at_a_commit(
    hub: FakeHub, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    task = of_hub()
    assert hashes(task) == PAIRS_SHA256
    kept = tmp_path / "cache" / "hub" / "owner--rows" / "_" / COMMIT
    assert task.source == Source(kept, f"hub: owner/rows at {COMMIT[:12]} (unpinned), kept in {kept}")
    assert task.manifest("train").as_dict()["commit"] == f"owner/rows@{COMMIT}"
    assert task.unpinned() == {"repository": "owner/rows", "revision": "", "commit": COMMIT}
    assert {task.split(split).status for split in SPLITS} == {"own"}
    assert sorted(os.listdir(kept)) == ["dataset_dict.json", "origin.json", "test", "train", "validation"]
    assert sorted(os.listdir(tmp_path)) == ["cache", "hf"], "nothing is written elsewhere"
    printed = capfd.readouterr()
    assert (printed.out, printed.err) == ("", "")


def test_a_commit_is_asked_for_once_and_then_read_without_the_hub(hub: FakeHub) -> None:
    first = of_hub(revision=COMMIT)
    assert "(unpinned)" not in first.source.why
    assert first.unpinned() == {}
    asked = dict(hub.asked)
    hub.refuse = {"list": (503, "")}
    assert hashes(of_hub(revision=COMMIT)) == hashes(first)
    assert hub.asked == asked


def test_a_newer_commit_is_brought_where_nothing_is_pinned(hub: FakeHub) -> None:
    before = of_hub()
    hub.branches = {"main": "a" * 40}
    hub.files["data/test-00000-of-00001.parquet"] = parquet(ROWS[50:55])
    after, old = of_hub(), of_hub(revision=COMMIT)
    assert after.manifest("test").commit == f"owner/rows@{'a' * 40}"
    assert [len(task.split("test").examples) for task in (before, after, old)] == [10, 5, 10]


def test_a_worker_reads_what_the_plan_found(hub: FakeHub) -> None:
    planned = of_hub()
    hub.branches = {"main": "a" * 40}
    asked = dict(hub.asked)
    worker = of_hub(given=planned.source)
    assert worker.source == planned.source
    assert hashes(worker) == PAIRS_SHA256
    assert hub.asked == asked


def test_without_the_hub_what_was_brought_is_read_and_said(hub: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:
    of_hub()
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    task = of_hub()
    assert hashes(task) == PAIRS_SHA256
    assert task.source.why.endswith("; the hub could not be asked for a newer one")
    with pytest.raises(MissingError, match="the hub cannot give owner/rows: HF_HUB_OFFLINE is set; name a copy"):
        of_hub(revision="v1")
    with pytest.raises(MissingError, match="HF_HUB_OFFLINE is set"):
        of_hub(hub="owner/others")


def test_without_the_hub_an_old_version_is_not_taken_for_the_newest(
    hub: FakeHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.branches = {"main": COMMIT, "v0": "b" * 40}
    newest, old = of_hub(), of_hub(revision="v0")  # brought later
    assert newest.source.folder is not None
    assert old.manifest("train").commit == f"owner/rows@{'b' * 40}"
    os.utime(newest.source.folder, (1, 1))
    with pytest.raises(MissingError, match=r"no revision 'v1\.1'; https://huggingface.co/datasets/owner/rows/tree"):
        of_hub(revision="v1.1")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert of_hub().source.folder == newest.source.folder
    assert of_hub(revision="v0").source.folder == old.source.folder


def test_a_configuration_is_named_or_refused_with_those_there_are(hub: FakeHub, tmp_path: Path) -> None:
    rows = "".join(json.dumps(row) + "\n" for row in ROWS[:40]).encode()
    hub.files = {"README.md": CONFIGS.encode(), "short/train.jsonl": rows[: len(rows) // 2], "long/train.jsonl": rows}
    task = of_hub(config="long")
    assert hashes(task) == HELD_OUT_SHA256
    assert task.manifest("test").commit == f"owner/rows/long@{COMMIT}"
    assert "hub: owner/rows, long, at 0123456789ab (unpinned)" in task.source.why
    assert hub.asked["GET short/train.jsonl"] == 0
    with pytest.raises(UsageError, match=r"task\.config of owner/rows: BuilderConfig 'lon' not found.*short"):
        of_hub(config="lon")
    with pytest.raises(UsageError, match=r"task\.config of owner/rows: Config name is missing.*short"):
        of_hub()
    assert not (tmp_path / "elsewhere").exists()


def test_a_damaged_file_is_refused_and_leaves_nothing(hub: FakeHub, tmp_path: Path) -> None:
    hub.files["data/train-00001-of-00002.parquet"] = b"version https://git-lfs.github.com/spec/v1"
    with pytest.raises(DataError, match=r"owner/rows: cannot be read \(") as caught:
        of_hub()
    assert "\n" not in str(caught.value)
    assert set(os.listdir(tmp_path / "cache" / "hub" / "owner--rows" / "_")) <= {f".{COMMIT}.lock"}


def test_a_hub_that_hangs_while_it_lists_files_is_given_up(hub: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data_sets, "CONFIG_S", 0.1)
    monkeypatch.setattr(datasets, "load_dataset_builder", lambda *_, **options: time.sleep(1))
    with pytest.raises(MissingError, match="the hub cannot give owner/rows: it does not answer; name a copy of it"):
        of_hub()
