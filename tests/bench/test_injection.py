"""Sixty payloads as names, settings, errors, ids and texts of one store: no form of output has one that is active."""

from __future__ import annotations

import csv
import io
import json
import re
import types
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from bench.base.keys import key_of
from bench.cells.loggers.logged_run import logged_run
from bench.cells.loggers.logs import Logs
from bench.cells.progress import Progress
from bench.leaderboards.render.page.data import unpacked
from bench.store.store import Store
from tests.bench.payloads import PAYLOADS, active
from tests.conftest import Ended
from tests.leaderboards.boards import LATEX
from tests.leaderboards.handmade import PROVENANCE, config, ready
from tests.leaderboards.render.test_html import Reader
from tests.leaderboards.test_samples import written

Bench = Callable[..., Ended]
HALVES = set("\ud83d\udc80")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cell for every payload that failed with it, one that has it as its backbone, and texts that say it."""
    results = tmp_path_factory.mktemp("hostile") / "results"
    ready(results, "mle")
    for number, payload in enumerate(PAYLOADS):
        content = {
            "key": f"{number}",
            "status": "failed",
            "error": payload,
            "config": config("mle", 0, backbone=payload),
        }
        Store(results).cell("logicnlg", "mle", key_of([number])).write_failed(content, PROVENANCE)
        ready(results, "trime", bleu=number + 1.0, backbone=payload, task_options={"style": payload})
    for method in ("mle", "histalign"):
        written(results, method, {f"r{n:02} {text}": f"{method} {text} x" for n, text in enumerate(PAYLOADS)})
    return results


def report(bench: Bench, store: Path, form: str) -> str:
    ended = bench("report", "--results", str(store), "--format", form)
    assert (ended.code, ended.err) == (0, "")
    assert not active(ended.out)
    return ended.out


def test_terminal(bench: Bench, store: Path) -> None:
    assert len([line for line in report(bench, store, "terminal").splitlines() if "trime" in line]) >= 50


def test_markdown(bench: Bench, store: Path) -> None:
    text = report(bench, store, "markdown")
    assert not re.search(r"(?<!\\)[<>`\[]", text)
    lines = [re.sub(r"\\.", "", line) for line in text.splitlines() if line.startswith("|")]
    assert len({line.count("|") for line in lines if "trime" in line}) == 1


def test_latex(bench: Bench, store: Path) -> None:
    text = report(bench, store, "latex")
    assert set(re.findall(r"\\([a-zA-Z]+)", text)) <= LATEX
    assert not re.search(r"(?<!\\)[#%]", text)


def test_comma_separated(bench: Bench, store: Path) -> None:
    lines = list(csv.reader(io.StringIO(report(bench, store, "csv"), newline="")))
    assert len({len(line) for line in lines}) == 1
    for line in lines[1:]:
        words = [cell for cell in line if not re.fullmatch(r"-?[\d.e+-]+", cell)]
        assert not [cell for cell in words if cell.startswith(("=", "+", "-", "@", "\t", "\r"))]


def test_json(bench: Bench, store: Path) -> None:
    found = json.loads(report(bench, store, "json"))
    shown = {row["backbone"] for table in found["tables"] for row in table["methods"]}
    assert len(shown.intersection(PAYLOADS)) >= 50


def test_page(bench: Bench, store: Path, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    assert bench("report", "--results", str(store), "--format", "html", "--output", str(path)).code == 0
    text = path.read_text()
    read = Reader(text)
    assert not active(text)
    assert {tag for tag, _ in read.elements if tag in ("script", "img", "iframe", "object", "base")} == {"script"}
    assert len(read.all("script")) == 3
    assert not [name for _, attrs in read.elements for name in attrs if name.startswith("on")]
    board = unpacked(text.partition('id="board">')[2].partition("<")[0])
    assert any(sample["id"].startswith("r00") for table in board["tables"] for sample in table["samples"])


@pytest.mark.parametrize(
    "command", [["store", "status"], ["store", "status", "--json"], ["samples", "--n", "60"]], ids=" ".join
)
def test_status_and_samples(bench: Bench, store: Path, command: list[str]) -> None:
    ended = bench(*command, "--results", str(store))
    assert (ended.code, ended.complaints) == (0, [])
    assert not active(ended.out)
    if command == ["status"]:
        cells = ended.out.splitlines()
        assert len([line for line in cells if line.startswith("failed ")]) == 60
        assert all(line.startswith(("failed ", "ok ")) for line in cells)  # no name begins a line of its own


def test_one_row_with_a_hostile_name(bench: Bench, store: Path) -> None:
    for command in (["--row", "\x1b[31mr\u202e"], ["--methods", "m\x1b]0;x\x07le"], ["--task", "a\x9b31m\nb"]):
        ended = bench("samples", "--results", str(store), *command)
        assert ended.code == 2
        assert not active(ended.err)


class Sent:
    """In place of a run on W&B: keeps whatever it is given."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.config = self

    def take(self, *given: Any, **named: Any) -> Sent:
        self.texts.append(json.dumps([given, named], default=str, ensure_ascii=False))
        return self

    init = log = update = finish = define_metric = Table = take


def test_names_on_wandb(monkeypatch: pytest.MonkeyPatch) -> None:
    wandb = pytest.importorskip("wandb")
    sent = Sent()
    for name in ("init", "Table"):
        monkeypatch.setattr(wandb, name, sent.take)
    place = "bench.cells.loggers.logged_run.described"
    monkeypatch.setattr(place, lambda cell: config("mle", 0, backbone=cell.label))
    logs = Logs(["wandb"], Path("logs"), pytest.fail)
    for payload in PAYLOADS:
        cell: Any = types.SimpleNamespace(
            key="k", label=payload, method=types.SimpleNamespace(only_reads=False, name="m"),
            config=types.SimpleNamespace(task=payload, method=payload),
        )  # fmt: skip
        with logs.run(partial(logged_run, cell)) as opened:
            opened.train(1, {f"loss {payload}": 1.0})
            of = {"decoding": {"name": payload}}
            opened.scores([{"of": of, "values": [{"name": payload, "value": 1.0}]}], 1)
            opened.table(payload, [payload], [[payload]])
    begun, told = ["init", "define_metric", "define_metric", "config"], ["train", "scores", "Table", "table", "finish"]
    assert len(sent.texts) == len(begun + told) * len(PAYLOADS)
    assert not [text for text in sent.texts if active("".join(strings(json.loads(text))))]


def strings(content: Any) -> list[str]:
    """Every text in a JSON content."""
    if isinstance(content, dict):
        content = [*content, *content.values()]
    if isinstance(content, list):
        return [text for part in content for text in strings(part)]
    return [content] if isinstance(content, str) else []


@pytest.mark.parametrize("payload", PAYLOADS, ids=range(60))
def test_progress_on_a_terminal(payload: str) -> None:
    """The bar and its colours stay; names and reasons are text."""
    screen = Screen()
    with Progress(stream=screen) as progress:
        progress.cell(1, 2, payload)
        progress.stage(payload)
        progress.warn(payload)
        progress.failed(payload)
        progress.bar.refresh()
    text = re.sub(r"\x1b\[[0-9;]*m|\x1b\[\?25[hl]|\x1b\[2K|\x1b\[1A|\r", "", screen.getvalue())
    assert not active(text)
    assert "warning: " in text
    if active(payload) and len(payload) > 2:
        assert payload not in screen.getvalue()
    if payload == "[red]x[/red]":
        assert text.count(payload) >= 4


class Screen(io.StringIO):
    """A terminal."""

    def isatty(self) -> bool:
        return True


def test_commands_that_print_texts(bench: Bench, tmp_path: Path) -> None:
    """`bench list --data`, and a bad row's name and reason on stderr."""
    (tmp_path / "text").mkdir(parents=True)
    allowed = [payload for payload in PAYLOADS if "\0" not in payload and not set(payload) & HALVES]
    texts = [f"{payload} and more words that fill a row of ten {payload}" for payload in allowed]
    lines = "".join(json.dumps({"text": text}) + "\n" for text in texts)
    for split in ("train", "valid", "test"):
        (tmp_path / "text" / f"{split}.jsonl").write_text(lines)
    for more in ((), ("--json",)):
        ended = bench("list", "--data", "text", "--data-dir", str(tmp_path), *more, "--set", "task.prompt_words=2",
                      "task.words=10")  # fmt: skip
        assert not active(ended.out + ended.err)
        assert ended.code == 0, ended.err
