"""Weights & Biases is a view: it has what is stored and nothing else, and whatever it does no result feels it.

The values that loggers are given are compared with what is stored in test_loggers.py.
"""

import json
import platform
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bench.cells import loggers
from tests.conftest import Bench
from tests.e2e import stores
from tests.e2e.test_loggers import warnings

wandb = pytest.importorskip("wandb")

SECRET = "canary-5f2c"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where W&B writes; a secret in the environment that must not get there."""
    for name in ("WANDB_API_KEY", "WANDB_BASE_URL", "WANDB_MODE", "WANDB_PROJECT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("WANDB_DIR", str(tmp_path))
    monkeypatch.setenv("WANDB_DATA_DIR", str(tmp_path / "staged"))
    monkeypatch.setenv("SECRET_TOKEN", SECRET)
    wandb.teardown()  # what an earlier test of this process has set up writes elsewhere
    yield tmp_path
    wandb.teardown()


def arguments(results: Path, *more: str) -> list[str]:
    """One cell of each task."""
    return stores.arguments(results, "--logger", "wandb", *more, method="trime")


def expected(matrix: Path) -> dict[str, bytes]:
    """What the same cells hold without W&B."""
    return {name: content for name, content in stores.contents(matrix).items() if "/trime/" in name}


def offline_runs(folder: Path) -> dict[str, bytes]:
    """What offline runs hold, by their id."""
    wandb.teardown()  # only now is the last run's file whole
    return {path.stem.removeprefix("run-"): path.read_bytes() for path in folder.glob("wandb/*/run-*.wandb")}


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WANDB_MODE", "offline")


@pytest.mark.usefixtures("offline")
def test_it_has_what_is_stored_and_nothing_else(bench: Bench, folder: Path, matrix: Path) -> None:
    """A run for each of ours; no environment, command line, packages, machine or output."""
    results = folder / "results"
    ended = bench(*arguments(results))
    assert (ended.code, warnings(ended)) == (0, [])
    assert stores.contents(results) == expected(matrix)
    runs = offline_runs(folder)
    cells = {path.name: path for path in results.glob("*/*/*")}
    assert runs.keys() == cells.keys()
    for key, content in runs.items():
        for text in (f"{cells[key].parts[-3]}/trime", "objective-bench", "train/loss", "batch_size", "test/"):
            assert text.encode() in content, text

    (key,) = [path.name for path in results.glob("logicnlg/*/*")]
    (table,) = folder.glob(f"wandb/*{key}/files/media/table/samples/greedy_*.table.json")
    content = json.loads(table.read_text())
    samples = [dict(zip(content["columns"], line, strict=True)) for line in content["data"]]
    assert {row["id"]: row["text"] for row in samples} == stores.texts(results / "logicnlg" / "trime" / key)

    files = [path for path in (folder / "wandb").rglob("*") if path.is_file()]
    assert {path.suffix for path in files if path.parent.parent.name != "table"} == {".wandb", ".log"}
    assert not [path for path in files if SECRET.encode() in path.read_bytes()]
    for text in ("--preset", sys.executable, platform.platform()):
        assert not [key for key, content in runs.items() if text.encode() in content]

    more = stores.arguments(results, "--logger", "wandb", "--decode", "topk=3", task="logicnlg", method="trime")
    assert bench(*more).code == 0
    assert len(list(folder.glob(f"wandb/*-{key}*"))) == 2, "more predictions go to the same run"


@pytest.mark.usefixtures("offline")
def test_a_control_that_reads_a_run_has_one_of_its_own(bench: Bench, folder: Path) -> None:
    """Both have the key of the run, and numbers of the same names."""
    asked = stores.arguments(folder / "results", "--logger", "wandb", task="logicnlg", method="mle,mle.decoupled")
    assert bench(*asked).code == 0
    (cell,) = (folder / "results").glob("logicnlg/mle/*")
    runs = offline_runs(folder)
    assert set(runs) == {cell.name, f"{cell.name}-mle.decoupled"}
    assert b"test/bleu-1/decoupled:greedy" not in runs[cell.name]
    assert b"test/bleu-1/decoupled:greedy" in runs[f"{cell.name}-mle.decoupled"]


class TestFailures:
    @pytest.mark.parametrize("is_installed", [False, True])
    def test_not_installed_or_no_key(
        self, bench: Bench, folder: Path, matrix: Path, monkeypatch: pytest.MonkeyPatch, is_installed: bool
    ) -> None:
        if is_installed:
            monkeypatch.setenv("HOME", str(folder))
            monkeypatch.setenv("NETRC", str(folder / "netrc"))
            monkeypatch.setenv("WANDB_BASE_URL", "http://127.0.0.1:9")
        else:
            monkeypatch.setitem(sys.modules, "wandb", None)
        ended = bench(*arguments(folder / "results"))
        assert ended.code == 0
        assert len(warnings(ended)) == 1
        assert stores.contents(folder / "results") == expected(matrix)

    def test_nobody_answers(self, bench: Bench, folder: Path, matrix: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A key, and a server that takes the connection and sends nothing: W&B's default waits 90 seconds for it."""
        monkeypatch.setenv("WANDB_API_KEY", "0123456789" * 4)
        monkeypatch.setattr(loggers, "TIMEOUT_S", 1)
        with socket.create_server(("127.0.0.1", 0)) as server:
            monkeypatch.setenv("WANDB_BASE_URL", f"http://127.0.0.1:{server.getsockname()[1]}")
            ended = bench(*arguments(folder / "results"))
            wandb.teardown()
        assert ended.code == 0
        assert len(warnings(ended)) == 1
        assert stores.contents(folder / "results") == expected(matrix)

    @pytest.mark.usefixtures("offline")
    def test_a_failed_cell_is_a_failed_run(self, bench: Bench, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """In the project that the environment names; a run that somebody else has open goes on."""
        monkeypatch.setenv("WANDB_PROJECT", "mine")
        codes, finish = [], wandb.Run.finish

        def noted(run: Any, exit_code: int | None = None, **more: Any) -> None:
            codes.append(exit_code)
            finish(run, exit_code, **more)

        monkeypatch.setattr(wandb.Run, "finish", noted)
        method = "tests.e2e.methods:Raises"
        somebodys = wandb.init(id="somebodys", settings=wandb.Settings(silent=True))
        given = stores.arguments(folder / "results", "--logger", "wandb", task="ambiguous_template", method=method)
        assert bench(*given).code == 1
        assert (wandb.run, codes) == (somebodys, [1])
        somebodys.finish()
        runs = offline_runs(folder)
        assert b"train/loss" not in runs.pop("somebodys")
        assert [b"mine" in content for content in runs.values()] == [True]
