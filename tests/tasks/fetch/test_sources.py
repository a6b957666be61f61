"""Where a task's rows come from, in which order, and which copies the hub has."""

import re
from pathlib import Path

import pytest

from bench.errors import DataError, MissingError
from bench.tasks import TASKS
from bench.tasks.fetch import hub, sources
from bench.tasks.fetch.hub_copies import HUB, HubCopy
from bench.tasks.fetch.sources import resolve


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    made = {name: tmp_path / name for name in ("given", "environment", "cache")}
    for place in made.values():
        (place / "logicnlg").mkdir(parents=True)
    monkeypatch.setenv("BENCH_DATA", str(made["environment"]))
    monkeypatch.setenv("BENCH_CACHE", str(made["cache"]))
    return made


def test_the_order_is_argument_environment_cache_sample(
    places: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert resolve("logicnlg", places["given"]).folder == places["given"] / "logicnlg"
    assert resolve("logicnlg").folder == places["environment"] / "logicnlg"
    monkeypatch.delenv("BENCH_DATA")
    assert resolve("logicnlg").folder == places["cache"] / "logicnlg"
    assert resolve("xsum").folder is None
    assert "built-in sample" in resolve("xsum").why


def test_the_sample_is_taken_by_its_name_although_other_rows_are_here(places: dict[str, Path]) -> None:
    assert resolve("logicnlg", "sample", fetch=True).folder is None


@pytest.mark.parametrize("how", ["argument", "environment"])
def test_a_root_that_is_not_there_is_an_error_and_never_the_sample(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    given, name = (Path("nowhere"), "--data-dir") if how == "argument" else (None, "BENCH_DATA")
    monkeypatch.setenv("BENCH_DATA", "" if how == "argument" else "nowhere")
    with pytest.raises(MissingError, match=f"^{name} names 'nowhere', which is no folder"):
        resolve("logicnlg", given)


def brought(copy: HubCopy, folder: Path) -> str:
    assert copy is HUB["xsum"]
    folder.mkdir()
    return "hub: somewhere"


def refused(copy: HubCopy, folder: Path) -> str:
    raise DataError("row 3 is no table")


@pytest.fixture
def empty(places: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("BENCH_DATA")
    monkeypatch.setattr(sources, "hub_reachable", lambda: True)
    return places["cache"] / "xsum"


def test_the_hub_is_asked_after_the_cache_and_kept_there(empty: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub, "fetch", brought)
    assert resolve("xsum").folder is None
    assert resolve("xsum", fetch=True) == sources.Source(empty, "hub: somewhere")
    monkeypatch.setattr(hub, "fetch", refused)
    assert resolve("xsum", fetch=True).why == f"cache: {empty}", "what is in the cache is not asked for again"


def test_a_hub_that_fails_or_is_not_there_leaves_the_sample_and_says_why(
    empty: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub, "fetch", refused)
    found = resolve("xsum", fetch=True)
    assert found.folder is None
    assert "row 3 is no table" in found.why
    monkeypatch.setattr(sources, "hub_reachable", lambda: False)
    found = resolve("xsum", fetch=True)
    assert found.folder is None
    assert "the hub is not reachable" in found.why


@pytest.mark.parametrize("task", HUB)
def test_a_copy_is_pinned_or_says_that_it_is_not(task: str) -> None:
    assert task in TASKS
    copy = HUB[task]
    assert re.fullmatch(r"[\w.-]+/[\w.-]+", copy.repository)
    assert copy.revision == "refs/convert/parquet" or re.fullmatch(r"[0-9a-f]{40}", copy.revision)
    assert copy.note.startswith("https://")
    assert set(copy.files) in ({"train", "validation", "test"}, {"train", "test"})
