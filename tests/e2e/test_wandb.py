"""Weights & Biases is a view: what it shows is what is stored, and whatever it does no result feels it."""

from __future__ import annotations

import json
import platform
import socket
import struct
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bench.cells import lightning_loggers
from tests.conftest import Ended
from tests.e2e import children, stores

wandb = pytest.importorskip("wandb")

Bench = Callable[..., Ended]
Run = Callable[..., int]
SECRET = "canary-5f2c"
HEADER, BLOCK = 7, 32 * 1024  # of a .wandb file: ':W&B', a magic number, a version; then LevelDB log blocks
FULL, FIRST, MIDDLE, LAST = 1, 2, 3, 4


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


def warnings(ended: Ended) -> list[str]:
    return [line for line in ended.err.splitlines() if line.startswith("warning:")]


def payloads(path: Path) -> Iterator[bytes]:
    """Yield the records of a LevelDB log behind W&B's header."""
    data = path.read_bytes()
    assert data[:4] == b":W&B"
    place, whole = HEADER, b""
    while place < len(data):
        if BLOCK - place % BLOCK < HEADER:  # too little room for a record: filled up
            place += BLOCK - place % BLOCK
            continue
        _, size, kind = struct.unpack_from("<IHB", data, place)
        piece = data[place + HEADER : place + HEADER + size]
        whole = piece if kind in (FULL, FIRST) else whole + piece
        if kind in (FULL, LAST):
            yield whole
        place += HEADER + size


def named(items: Any) -> dict[str, Any]:
    """Return the values of W&B's items by key."""
    return {item.key or "/".join(item.nested_key): json.loads(item.value_json) for item in items}


def copied(folder: Path) -> dict[str, dict[str, Any]]:
    """Read offline runs back: by run id the run record, configuration, history, summary and exit code."""
    from wandb.proto.wandb_internal_pb2 import Record

    wandb.teardown()  # only now is the last run's file whole
    found: dict[str, dict[str, Any]] = {}
    for path in folder.glob("wandb/offline-run-*/run-*.wandb"):
        about: dict[str, Any] = {"history": [], "summary": {}, "config": {}, "files": path.parent / "files"}
        for payload in payloads(path):
            record = Record.FromString(payload)
            if record.HasField("run"):
                about["run"] = record.run
                about["config"] |= named(record.run.config.update)
            if record.HasField("config"):
                about["config"] |= named(record.config.update)
            if record.HasField("history"):
                about["history"].append(named(record.history.item))
            if record.HasField("summary"):
                about["summary"] |= named(record.summary.update)
            if record.HasField("exit"):
                about["exit"] = record.exit.exit_code
        found[about["run"].run_id] = about
    return found


def series(about: dict[str, Any], name: str) -> list[tuple[int, float]]:
    """Return step and value of each point of a curve, in the order in which they were logged."""
    return [(row["trainer/global_step"], row[name]) for row in about["history"] if name in row]


def rounded(curve: list[list[float]]) -> list[Any]:
    """Return a stored curve, whose values are rounded, to compare with what was logged."""
    return [(step, pytest.approx(loss, abs=5e-7)) for step, loss in curve]


def stored(results: Path, key: str) -> dict[str, Any]:
    """Curve, configuration and scores of a stored cell."""
    (folder,) = results.glob(f"*/*/{key}")
    trained = json.loads((folder / "trained.json").read_text())["content"]
    scores = {}
    for path in folder.glob("scores-*"):
        content = json.loads(path.read_text())["content"]
        decoding = content["of"]["decoding"]
        for value in content["values"]:
            if value["value"] is not None:
                scores[f"test/{value['name']}" + (f"/{decoding['name']}" if decoding else "")] = value["value"]
    return {"train": trained["train"], "config": trained["config"], "scores": scores}


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WANDB_MODE", "offline")


@pytest.mark.usefixtures("offline")
def test_what_it_shows_is_what_is_stored_and_nothing_else(bench: Bench, folder: Path, matrix: Path) -> None:
    """A run for each of ours; no environment, command line, packages, machine or output."""
    results = folder / "results"
    ended = bench(*arguments(results))
    assert (ended.code, warnings(ended)) == (0, [])
    assert stores.contents(results) == expected(matrix)
    cells = copied(folder)
    assert set(cells) == {path.name for path in results.glob("*/*/*")}
    for key, about in cells.items():
        held = stored(results, key)
        run = about["run"]
        assert (run.run_group, run.project) == (f"{held['config']['task']}/trime", "objective-bench")
        shown = {name: value for name, value in about["config"].items() if name != "_wandb"}
        assert shown == json.loads(json.dumps(held["config"]))
        assert series(about, "train/loss") == rounded(held["train"]["curve"])
        assert {name: value for name, value in about["summary"].items() if name in held["scores"]} == held["scores"]
        assert about["exit"] == 0

    (key,) = [path.name for path in results.glob("logicnlg/*/*")]
    samples = table_in(cells[key], "samples", "greedy_*")
    assert {row["id"]: row["text"] for row in samples} == stores.texts(results / "logicnlg" / "trime" / key)
    assert all(row["source"] and row["reference"] for row in samples)

    files = [path for path in (folder / "wandb").rglob("*") if path.is_file()]
    tables = [path for path in files if path.parent.parent.name == "table"]
    assert {path.suffix for path in files if path not in tables} == {".wandb", ".log"}
    assert not [path for path in files if SECRET.encode() in path.read_bytes()]
    for text in (b"--preset", sys.executable.encode(), platform.platform().encode()):
        assert not [path for path in files if path.suffix == ".wandb" and text in path.read_bytes()]

    more = stores.arguments(results, "--logger", "wandb", "--decode", "topk=3", task="logicnlg", method="trime")
    assert bench(*more).code == 0
    assert len(list(folder.glob(f"wandb/*-{key}*"))) == 2, "more predictions go to the same run"


def table_in(about: dict[str, Any], kind: str, name: str) -> list[dict[str, Any]]:
    """The rows of the only table with a name."""
    (path,) = (about["files"] / "media" / "table" / kind).glob(f"{name}.table.json")
    content = json.loads(path.read_text())
    return [dict(zip(content["columns"], line, strict=True)) for line in content["data"]]


@pytest.mark.ddp
def test_what_other_processes_train_is_one_run(run: Run, log: Path, folder: Path) -> None:
    """The first of them sends the curve."""
    asked = stores.arguments(
        folder / "results",
        *("--logger", "wandb", "--devices", "2"),
        task="ambiguous_template",
        method="trime",
        sets=("trainer.validate=1",),
    )
    places = {"WANDB_DIR": str(folder), "WANDB_DATA_DIR": str(folder / "staged")}
    assert run(asked, children.ForkedWorkers(), WANDB_MODE="offline", **places) == 0, children.read(log)
    ((key, about),) = copied(folder).items()
    held = stored(folder / "results", key)["train"]
    assert series(about, "train/loss") == rounded(held["curve"])
    for name in ("nll", "ppl", "loss"):
        found = [(step, columns[name]) for step, columns in held["validation"]]
        assert series(about, f"validation/{name}") == found
    assert len(held["curve"]) > 0
    assert len(held["validation"]) > 0
    assert about["exit"] == 0


@pytest.mark.usefixtures("offline")
def test_a_control_that_reads_a_run_has_one_of_its_own(bench: Bench, folder: Path) -> None:
    """Both have the key of the run, and numbers of the same names."""
    asked = stores.arguments(folder / "results", "--logger", "wandb", task="logicnlg", method="mle,mle.decoupled")
    assert bench(*asked).code == 0
    (cell,) = (folder / "results").glob("logicnlg/mle/*")
    runs = copied(folder)
    assert set(runs) == {cell.name, f"{cell.name}-mle.decoupled"}
    names = [{n for n in about["summary"] if n.startswith("test/bleu-1/")} for about in runs.values()]
    assert sorted(names, key=str) == [{"test/bleu-1/decoupled:greedy"}, {"test/bleu-1/greedy"}]


def broken(*_: Any, **__: Any) -> Any:
    raise RuntimeError("the service is down\nand this is its trace")


class TestFailures:
    @pytest.mark.parametrize("where", ["init", "Run.log", "Run.finish"])
    def test_a_call_that_raises(
        self, bench: Bench, folder: Path, matrix: Path, monkeypatch: pytest.MonkeyPatch, where: str
    ) -> None:
        """Wherever it breaks: one warning, the same results."""
        monkeypatch.setenv("WANDB_MODE", "offline")
        monkeypatch.setattr(f"wandb.{where}", broken)
        ended = bench(*arguments(folder / "results"))
        assert ended.code == 0
        assert warnings(ended) == [
            "warning: logger 'wandb' is off for this run (RuntimeError: the service is down); results are not touched"
        ]
        assert stores.contents(folder / "results") == expected(matrix)

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

    @pytest.mark.parametrize("silent", [pytest.param(False, marks=pytest.mark.slow), True], ids=["refuses", "silent"])
    def test_nobody_answers(
        self, bench: Bench, folder: Path, matrix: Path, monkeypatch: pytest.MonkeyPatch, silent: bool
    ) -> None:
        """A key, and a server that refuses, or takes the connection and never says a word.

        W&B's own default waits 90 seconds and then ends the program.
        """
        monkeypatch.setenv("WANDB_API_KEY", "0123456789" * 4)
        monkeypatch.setattr(lightning_loggers, "TIMEOUT_S", 1)
        with socket.create_server(("127.0.0.1", 0)) as server:
            monkeypatch.setenv("WANDB_BASE_URL", f"http://127.0.0.1:{server.getsockname()[1]}")
            if not silent:
                server.close()
            ended = bench(*arguments(folder / "results"))
            wandb.teardown()
        assert ended.code == 0
        assert len(warnings(ended)) == 1
        assert stores.contents(folder / "results") == expected(matrix)

    def test_a_failed_cell_is_a_failed_run(self, bench: Bench, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """In the project that the environment names; a run that somebody else has open goes on."""
        monkeypatch.setenv("WANDB_MODE", "offline")
        monkeypatch.setenv("WANDB_PROJECT", "mine")
        method = "tests.e2e.methods:Raises"
        somebodys = wandb.init(id="somebodys", settings=wandb.Settings(silent=True))
        given = stores.arguments(folder / "results", "--logger", "wandb", task="ambiguous_template", method=method)
        assert bench(*given).code == 1
        assert wandb.run is somebodys
        somebodys.finish()
        runs = copied(folder)
        assert runs.pop("somebodys")["history"] == []
        assert [(about["exit"], about["run"].project) for about in runs.values()] == [(1, "mine")]
