"""A canary in twelve places is found in no file that a run leaves, and in nothing that it prints."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bench.base import credentials
from bench.base.files import write_atomic
from bench.base.keys import key_of
from bench.errors import StoreError
from bench.leaderboards.render.page.data import inflated, unpacked
from tests.bench import logicnlg_folder
from tests.bench.own import FOCAL, Own
from tests.conftest import TINY, Ended
from tests.leaderboards.handmade import PROVENANCE, ready
from tests.leaderboards.test_samples import written

Bench = Callable[..., Ended]
CANARY = "canary-5f2c-never-to-be-seen"
RAISES = FOCAL.replace(
    "        super().__init__(backbone)\n",
    "        super().__init__(backbone)\n"
    "        try:\n"
    "            raise KeyError('cause: {canary}')\n"
    "        except KeyError as cause:\n"
    "            raise RuntimeError('text: HF_TOKEN={canary}') from cause\n",
)


@pytest.fixture(autouse=True)
def nothing_learnt(monkeypatch: pytest.MonkeyPatch) -> None:
    """What one test learns, no other knows."""
    monkeypatch.setattr(credentials, "_LEARNT", {})


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    """The canary is the value of a credential in the environment."""
    monkeypatch.setenv("SOME_TOKEN", CANARY)


def contents(root: Path) -> Iterator[tuple[Path, bytes]]:
    """Yield every file below a folder, and what is packed in it."""
    for path in root.rglob("*"):
        if not path.is_file():
            continue
        data = path.read_bytes()
        yield path, data
        if path.suffix == ".gz":
            yield path, gzip.decompress(data)
        if path.suffix == ".html":
            text = data.decode().partition('id="board"')[2].partition(">")[2].partition("<")[0]
            yield path, inflated(text).encode()


def assert_nowhere(ended: Ended, *folders: Path) -> None:
    """Fail where the canary was printed or is in a file."""
    assert CANARY not in ended.out + ended.err
    assert [path for folder in folders for path, data in contents(folder) if CANARY.encode() in data] == []


def run(bench: Bench, results: Path, *more: str, method: str = "mle") -> Ended:
    """One tiny run, of which everything is said."""
    arguments = [word for word in TINY if word != "--quiet"]
    arguments[arguments.index("mle")] = method
    return bench(*arguments[:-4], *more, "--results", str(results), *arguments[-4:])


@pytest.mark.parametrize("named", [True, False], ids=["by name", "by value"])
def test_exception_text_and_cause(
    bench: Bench, own: Own, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: bool
) -> None:
    """The text names its credential; of the cause only the value can tell."""
    text = RAISES.replace("{canary}", CANARY)
    if named:
        text = text.replace(f"'cause: {CANARY}'", f"'password={CANARY}'")
    else:
        monkeypatch.setenv("SOME_TOKEN", CANARY)
        text = text.replace("HF_TOKEN=", "")
    own.write("leaky_loss", text)
    ended = run(bench, tmp_path / "results", method="leaky_loss:Focal")
    assert ended.code == 1
    assert "RuntimeError: text: " in ended.err
    (note,) = (tmp_path / "results").rglob("failed.json")
    kept = json.loads(note.read_text())["content"]["traceback"]
    assert "KeyError" in kept
    if not named:
        assert_nowhere(ended, tmp_path / "results")
        assert kept.count("***") >= 2
    shown = bench("store", "status", "--results", str(tmp_path / "results"))
    assert "text: " in shown.out
    assert CANARY not in shown.out + ended.out + ended.err
    listed = bench("store", "status", "--results", str(tmp_path / "results"), "--json")
    assert CANARY not in listed.out


@pytest.mark.parametrize("more", [("--set", "method.api_key={}"), ("--config", "run.yaml")], ids=str)
def test_an_option_of_another_type(
    bench: Bench, own: Own, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: tuple[str, str]
) -> None:
    """The message quotes what came; it was given under the name of a credential."""
    monkeypatch.chdir(tmp_path)
    Path("run.yaml").write_text(f"task: ambiguous_template\nset:\n  method.api_key: {CANARY}\n")
    own.write("leaky_loss", FOCAL.replace("gamma: float = 2", "gamma: float = 2, api_key: int = 0"))
    ended = run(bench, tmp_path / "results", more[0], more[1].format(CANARY), method="leaky_loss:Focal")
    assert ended.code == 2
    assert "option 'api_key' is a whole number, not '***'" in ended.err
    assert_nowhere(ended, *tmp_path.glob("results"))


@pytest.mark.parametrize("how", ["--set", "yaml", "default"])
def test_option(bench: Bench, own: Own, tmp_path: Path, how: str) -> None:
    """A configuration is stored, so a credential in it is refused before anything is made."""
    default = CANARY if how == "default" else ""
    own.write("leaky_loss", FOCAL.replace("gamma: float = 2", f"gamma: float = 2, api_key: str = '{default}'"))
    more = []
    if how == "--set":
        more = ["--set", f"method.api_key={CANARY}"]
    elif how == "yaml":
        (tmp_path / "run.yaml").write_text(f"task: ambiguous_template\nset:\n  method.api_key: {CANARY}\n")
        more = ["--config", str(tmp_path / "run.yaml")]
    ended = run(bench, tmp_path / "results", *more, method="leaky_loss:Focal")
    assert ended.code == 2
    assert len(ended.complaints) == 1
    assert "'method.api_key' holds a credential, and configurations are stored" in ended.err
    assert_nowhere(ended, *tmp_path.glob("results"))


@pytest.mark.parametrize(
    "words",
    [
        ("--hf-token", CANARY),
        (f"--hf-token={CANARY}",),
        ("--set", f"method.secret={CANARY}"),
        ("--set", f"trainer.lr={CANARY}", f"trainer.password={CANARY}"),
        ("--data-dir", f"https://me:{CANARY}@host/data"),
        ("--config", f"https://host/run.yaml?token={CANARY}"),
        ("--backbone", f"https://me:{CANARY}@host/model"),
        ("--task", f"api_key={CANARY}"),
    ],
    ids=str,
)
def test_command_line_and_addresses(bench: Bench, tmp_path: Path, words: tuple[str, ...]) -> None:
    """Whatever is wrong with it, the line that says so does not repeat it."""
    ended = run(bench, tmp_path / "results", *words)
    assert ended.code in (2, 3)
    assert len(ended.complaints) == 1
    assert_nowhere(ended, tmp_path)


def test_a_broken_configuration(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "run.yaml").write_text(f"task: logicnlg\nset:\n  api_key: {CANARY}\n  api_key: {CANARY}: x\n")
    ended = bench("run", "--config", str(tmp_path / "run.yaml"))
    assert ended.code == 2
    assert CANARY not in ended.err


def test_environment_keys_of_services_and_the_page(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """W&B's key, the hub's token and another one: a whole run, mirrored, with its page."""
    wandb = pytest.importorskip("wandb")
    wandb.teardown()
    for name in ("WANDB_API_KEY", "HF_TOKEN", "SOME_PASSWORD"):
        monkeypatch.setenv(name, CANARY)
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_DIR", str(tmp_path))
    monkeypatch.setenv("WANDB_DATA_DIR", str(tmp_path / "staged"))
    ended = run(bench, tmp_path / "results", "--logger", "wandb,csv", "--set", f"execution.log_dir={tmp_path / 'logs'}")
    wandb.teardown()  # later tests of this process, and their children, would write here
    assert ended.code == 0
    assert (tmp_path / "results" / "leaderboard.html").is_file()
    assert list((tmp_path / "wandb").rglob("*.wandb"))
    assert list((tmp_path / "logs").rglob("metrics.csv"))
    assert_nowhere(ended, tmp_path)


def test_data_row(bench: Bench, tmp_path: Path, known: None) -> None:
    """A text of the data is learned, stored and shown as it is: so it is refused before that."""
    data = logicnlg_folder.write(tmp_path / "data")
    path = data / "logicnlg" / "train_lm.json"
    content = json.loads(path.read_text())
    next(iter(content.values()))[0][0] += f" {CANARY}"
    path.write_text(json.dumps(content))
    ended = bench("run", "--task", "logicnlg", "--method", "mle", "--preset", "small", "--data-dir", str(data),
                  "--results", str(tmp_path / "results"))  # fmt: skip
    assert ended.code == 3
    assert "train: a row holds the value of the credential 'SOME_TOKEN'; take it out of the data" in ended.err
    assert_nowhere(ended, *tmp_path.glob("results"), *tmp_path.glob("no-cache"))


def test_model_text(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, known: None) -> None:
    """Rows are evidence: they are stored to the byte or, with a credential in them, not at all."""
    from bench.cells import work

    real = work.evaluate

    def leaking(*arguments: Any) -> Iterator[dict[str, Any]]:
        for row in real(*arguments):
            yield {**row, "text": f"said {CANARY}"}

    monkeypatch.setattr(work, "evaluate", leaking)
    ended = run(bench, tmp_path / "results")
    assert ended.code == 1
    assert "holds the value of the credential 'SOME_TOKEN', so it is not stored" in ended.err
    assert list((tmp_path / "results").rglob("trained.json"))
    assert not list((tmp_path / "results").rglob("rows-*"))
    assert_nowhere(ended, tmp_path)
    monkeypatch.delenv("SOME_TOKEN")
    monkeypatch.setattr(work, "evaluate", real)
    assert run(bench, tmp_path / "results").code == 0


def test_what_an_older_release_has_stored_is_not_shown(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The value becomes known only afterwards: names, texts and reasons in records stay where they are."""
    results = tmp_path / "results"
    for method in ("mle", "trime"):
        ready(results, method, backbone=f"of {CANARY}", task_options={"note": CANARY})
        written(results, method, {f"r {CANARY}": f"{method} {CANARY}"}, prompt=CANARY)
    monkeypatch.setenv("SOME_TOKEN", CANARY)
    where = ("--results", str(results))
    commands = [("store", "status", *where), ("store", "status", *where, "--json"), ("samples", *where)]
    commands += [("report", *where, "--format", form) for form in ("terminal", "markdown", "latex", "csv", "json")]
    commands.append(("report", *where, "--format", "html", "--output", str(tmp_path / "page.html")))
    for command in commands:
        ended = bench(*command)
        assert (ended.code, ended.complaints) == (0, []), ended.err
        assert CANARY not in ended.out + ended.err, command
    pages = [path for path in tmp_path.glob("*.html") if path.is_file()] + list(results.glob("*.html"))
    assert pages
    for page in pages:
        board = page.read_text().partition('id="board"')[2].partition(">")[2].partition("<")[0]
        assert CANARY not in page.read_text() + json.dumps(unpacked(board))


def test_no_file_is_written_with_one(tmp_path: Path, known: None) -> None:
    with pytest.raises(StoreError, match="'.*file' holds the value of the credential 'SOME_TOKEN'"):
        write_atomic(tmp_path / "file", f"x {CANARY}".encode())
    assert not list(tmp_path.iterdir())


def test_records_lose_them_and_keep_their_hash(tmp_path: Path, known: None) -> None:
    from bench.store.store import Store

    cell = Store(tmp_path).cell("t", "m", key_of("k"))
    cell.write_failed(
        {"key": "k", "status": "failed", "error": f"x {CANARY}", "n_tokens": 7}, {**PROVENANCE, "token": "t"}
    )
    assert cell.failed() == {"key": "k", "status": "failed", "error": "x ***", "n_tokens": 7}
    assert CANARY not in next(tmp_path.rglob("failed.json")).read_text()


@pytest.mark.parametrize(
    "code",
    [
        "import bench.commands.list as m; from bench.cli import program\n"
        "def listing(*_): raise RuntimeError('password=' + CANARY + chr(27) + '[31m')\n"
        "m.listing = listing; sys.argv[1:] = ['list']; sys.exit(program())",
        "import runpy; sys.argv[1:] = ['/no/folder?token=' + CANARY + chr(27) + '[31m/job']\n"
        "import os; os.environ |= {'RANK': '0', 'WORLD_SIZE': '1'}\n"
        "runpy.run_module('bench.launch.ranks', run_name='__main__')",
    ],
    ids=["program", "rank"],
)
def test_the_trace_of_a_whole_process(tmp_path: Path, code: str) -> None:
    """What Python itself prints when a process dies goes through the same outlet, into a terminal or a log."""
    command = [sys.executable, "-c", f"import sys; CANARY = {CANARY!r}; {code}"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert "Traceback" in ended.stderr
    assert "=***" in ended.stderr
    assert CANARY not in ended.stdout + ended.stderr
    assert "\x1b" not in ended.stderr
