"""Clocks that jump, disks that fill or refuse, odd paths: one clear line, the right code, nothing damaged."""

import builtins
import errno
import io
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from bench.base import files
from bench.store.partial_rows import PARTIAL
from bench.store.state_files import STATE
from tests.bench import logicnlg_folder
from tests.conftest import TINY, Bench, Ended
from tests.e2e import stores

HOUR_S = 3600
READ_ONLY = "/sys"  # refuses new files to everybody, root too


def run(bench: Bench, results: Path, *more: str) -> Ended:
    return bench(*TINY, *more, "--results", str(results))


def cells(results: Path) -> dict[str, bytes]:
    """What a store holds, without its page."""
    return {name: content for name, content in stores.contents(results).items() if name != "leaderboard.html"}


# Clocks -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("jump", [-HOUR_S, HOUR_S, -50 * 365 * 24 * HOUR_S])
def test_a_clock_that_jumps(
    bench: Bench, tiny_store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jump: int
) -> None:
    """Each look at it is another jump on."""
    real, looks = time.time, 0

    def jumping() -> float:
        nonlocal looks
        looks += 1
        return max(0.0, real() + jump * looks)

    results = tmp_path / "results"
    foreign = results / "task" / "method" / "key" / ".model.safetensors.0badc0de-1.tmp"
    foreign.parent.mkdir(parents=True)
    foreign.write_bytes(b"another host writes this")
    monkeypatch.setattr(time, "time", jumping)
    assert run(bench, results).code == 0
    assert looks > 0
    assert foreign.exists()
    foreign.unlink()
    assert cells(results) == cells(tiny_store)


# Disks ------------------------------------------------------------------------------------------------------------


class SmallDisk:
    """A disk with room for so many more bytes, whichever file they go to."""

    def __init__(self, free: int) -> None:
        self.free = free

    def open(self, path: Any, mode: str = "r", **settings: Any) -> Any:
        disk = self

        class File(io.FileIO):
            def write(self, data: Any, /) -> int:
                disk.free -= len(data)
                if disk.free < 0:
                    super().write(bytes(data)[: disk.free])
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                return super().write(data)

        return File(path, mode.replace("b", "")) if "w" in mode else builtins.open(path, mode, **settings)


OFFSETS = 50


@pytest.mark.parametrize("place", range(3, OFFSETS, 10))
def test_a_disk_that_is_full_at_any_offset(
    bench: Bench, store_copy: Path, monkeypatch: pytest.MonkeyPatch, place: int
) -> None:
    """Of the bytes of a second cell; the first is there already, and the same command makes good what is missing."""
    before = cells(store_copy)
    size = sum(path.stat().st_size for path in store_copy.rglob("*") if path.is_file() and path.suffix != ".html")
    more = ("--seeds", "1")
    with monkeypatch.context() as patch:
        patch.setattr(files, "open", SmallDisk(size * place // OFFSETS).open, raising=False)
        ended = run(bench, store_copy, *more)
    assert ended.code == 1
    assert len(ended.complaints) == 1
    assert "no space left to write" in ended.complaints[0]
    assert "Traceback" not in ended.err
    after = cells(store_copy)
    assert {name: after[name] for name in before} == before
    assert not list(store_copy.rglob("*.tmp"))
    assert run(bench, store_copy, *more).code == 0
    whole = cells(store_copy)
    assert {name: whole[name] for name in before} == before
    passing = ("failed.json", f"/{STATE}/", f"/{PARTIAL}/")  # the note of a failure and half-done work go
    kept = {name: content for name, content in after.items() if not any(part in name for part in passing)}
    assert kept.items() <= whole.items()
    assert len(whole) == 2 * len(before)


def test_output_on_a_full_disk(tmp_path: Path) -> None:
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "bench", "list"]
        ended = subprocess.run(command, cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert ended.returncode == 1
    assert ended.stderr.startswith("bench: the operating system reports: No space left on device")
    assert len(ended.stderr.splitlines()) == 1


def test_a_results_folder_that_refuses_is_told_before_training(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bench.cells.work.train_and_evaluate", lambda *_, **__: pytest.fail("trained for nothing"))
    (tmp_path / "file").touch()
    for results, why in ((Path(READ_ONLY, "x"), "not allowed to write"), (tmp_path / "file" / "x", "cannot write")):
        ended = run(bench, results)
        assert (ended.code, ended.out) == (1, "")
        assert len(ended.complaints) == 1
        assert f"{why} '{results}" in ended.complaints[0]
        assert "Traceback" not in ended.err


def test_a_read_only_store_of_what_is_there_already(
    bench: Bench, store_copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing has to be written for it but the page; who waits for that is told by the exit code."""
    before = cells(store_copy)

    def refuse(*_: Any, **__: Any) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(files, "open", refuse, raising=False)
    ended = run(bench, store_copy)
    assert ended.code == 1
    assert "mle" in ended.out
    assert "choose another folder with --results" in "".join(ended.complaints)
    assert cells(store_copy) == before


# Home -------------------------------------------------------------------------------------------------------------


def test_a_home_that_is_read_only(
    bench: Bench, tiny_store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is kept there is kept to save time; only exemplars of large data need it, and say so."""
    monkeypatch.delenv("BENCH_CACHE")
    monkeypatch.setenv("HOME", READ_ONLY)
    ended = run(bench, tmp_path / "results")
    assert (ended.code, ended.complaints) == (0, [])
    assert cells(tmp_path / "results") == cells(tiny_store)
    kept = Path(__file__).parents[3] / "leaderboards" / "runs" / "first-screen"
    ended = bench("report", "--results", str(kept))
    assert (ended.code, ended.err) == (0, "")


# Paths ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["two words", "결과 äöü", "-a'b\"c x[1] *"])
def test_paths_with_blanks_and_any_letters(
    bench: Bench, tiny_store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    place = tmp_path / name
    place.mkdir()
    monkeypatch.setenv("HOME", str(place))
    monkeypatch.setenv("BENCH_CACHE", str(place / "a cache"))
    data = logicnlg_folder.write(place / "data")
    results = place / "results"
    ended = run(bench, results, "--data-dir", str(data))
    assert (ended.code, ended.complaints) == (0, [])
    assert cells(results) == cells(tiny_store)
    for command in (["store", "status", "--results"], ["score"], ["store", "verify"]):
        ended = bench(*command, str(results))
        assert (ended.code, ended.complaints) == (0, []), command
    ended = bench("run", "--task", "logicnlg", "--method", "mle", "--preset", "small", "--data-dir", str(data),
                  "--results", str(results), "--dry-run", "--quiet")  # fmt: skip
    assert (ended.code, ended.complaints) == (0, [])
