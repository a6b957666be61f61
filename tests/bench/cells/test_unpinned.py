"""Rows of the hub that no commit pins are called `unpinned` wherever results are read; keys do not know of it."""

import json
from pathlib import Path

import pytest

from bench.tasks.fetch.hub_copies import HUB
from tests.conftest import Bench
from tests.tasks.fake_hub import parquet

COMMIT = "c" * 40
BRANCH = "refs/convert/parquet"
UNPINNED = {"gigaword", "wikibio"}
SHORT = ("--quiet", "--set", "trainer.steps=1", "backbone.width=16", "backbone.layers=1",
         "backbone.vocabulary=300", "evaluation.rows=2")  # fmt: skip


@pytest.fixture
def copy(sample_data: None, tmp_path: Path) -> Path:
    """Gigaword as `fetch` leaves it in the cache."""
    folder = tmp_path / "no-cache" / "gigaword"
    folder.mkdir(parents=True)
    for split in ("train", "validation", "test"):
        rows = [{"document": f"{split} number {n} stands here .", "summary": f"number {n}"} for n in range(6)]
        (folder / f"{split}-00000-of-00001.parquet").write_bytes(parquet(rows))
    origin = {"repository": HUB["gigaword"].repository, "commit": COMMIT}
    (folder / "origin.json").write_text(json.dumps(origin))
    return folder


def test_lists_say_it(bench: Bench) -> None:
    listed = json.loads(bench("list", "tasks", "--json").out)["tasks"]
    assert {name for name, task in listed.items() if task.get("revision") == "unpinned"} == UNPINNED
    assert {name for name in listed if "hub" in listed[name]} == set(HUB)
    shown = bench("list", "tasks").out
    assert shown.count("(unpinned: ") == len(UNPINNED)
    assert f"Harvard/gigaword at {BRANCH} (unpinned: the commit of the first download is recorded)" in shown
    data = {row["task"]: row["revision"] for row in json.loads(bench("list", "--data", "--json").out)}
    assert {name for name, revision in data.items() if revision == "unpinned"} == UNPINNED
    assert data["xsum"] == HUB["xsum"].revision
    assert bench("list", "--data").out.count(" (unpinned)") == len(UNPINNED)


def test_results_say_it_and_keys_stay(bench: Bench, copy: Path, tmp_path: Path) -> None:
    """In the record, under every form of the table, and in what `bench list --data` prints."""
    results = ("--results", str(tmp_path / "results"))
    ended = bench("run", "--task", "gigaword", "--method", "mle", "--preset", "small", *results, *SHORT)
    assert ended.code == 0, ended.err
    remark = f"unpinned: the rows of Harvard/gigaword at {BRANCH}, which was {COMMIT}; no reference states a commit"
    for form in ("terminal", "markdown", "latex", "json"):
        shown = bench("report", *results, "--format", form)
        assert shown.code == 0, shown.err
        assert remark in " ".join(shown.out.split()).replace("\\_", "_"), form
    assert remark in (tmp_path / "results" / "leaderboard.html").read_text()
    verified = bench("list", "--data", "gigaword")
    assert f"hub: Harvard/gigaword at {COMMIT[:12]} (unpinned)" in verified.out
    (record,) = tmp_path.glob("results/gigaword/mle/*/trained.json")
    content = json.loads(record.read_text())["content"]
    assert content["unpinned"] == {
        "repository": "Harvard/gigaword",
        "revision": BRANCH,
        "commit": COMMIT,
    }
    (copy / "origin.json").unlink()
    again = bench("run", "--task", "gigaword", "--method", "mle", "--preset", "small", *results, "--json", *SHORT)
    assert len(json.loads(again.out)["stored"]) == 1
