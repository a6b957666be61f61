"""README and docs show true output: tables are made again from stored runs, examples in Python are run."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from bench.cli import main
from bench.models import METHODS
from bench.store.snapshot import MANIFEST, SCORES, STATISTICS
from bench.store.snapshot import RUNS as RUNS_TABLE
from bench.store.store import Store
from bench.tasks import TASKS
from tools.regenerate import (
    BLOCK,
    CLAIMS,
    PAGE,
    ROOT,
    RUNS,
    SHOWING,
    claims,
    page,
    snapshots,
)

README = (ROOT / "README.md").read_text(encoding="utf-8")
PYTHON = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
SHOWN = [found for path in SHOWING for found in BLOCK.findall(path.read_text(encoding="utf-8"))]
PLACE = re.compile(r'"/|[A-Z]:\\\\|/home/|/Users/')
"""The beginning of an absolute path."""


def test_the_number_of_methods_and_tasks() -> None:
    trained = sum(not entry.baseline for entry in METHODS.values())
    assert f"{trained} methods (`bench list methods`), {len(TASKS)} tasks (`bench list tasks`" in README


@pytest.mark.parametrize(("command", "shown"), SHOWN)
def test_a_shown_table_is_what_the_command_prints(
    command: str, shown: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    assert main(command.split()[1:]) == 0
    printed = "\n".join(line.rstrip() for line in capsys.readouterr().out.splitlines()).strip()
    assert printed in shown, f"a page is behind: make boards puts the output of `{command}` in its place"


@pytest.mark.slow
def test_the_committed_page_is_made_of_the_committed_records() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "leaderboards/index.html is behind: make boards"
    assert PAGE.stat().st_size <= 300_000


@pytest.mark.slow
def test_the_committed_evidence_is_made_of_the_committed_records(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert CLAIMS.read_text(encoding="utf-8") == claims(), "leaderboards/claims.md is behind: make boards"


def test_records_hold_no_weights_and_no_texts() -> None:
    assert sorted(RUNS.iterdir()) == snapshots()
    for path in snapshots():
        assert sorted(file.name for file in path.iterdir()) == sorted([MANIFEST, RUNS_TABLE, SCORES, STATISTICS])
        if Store(path).files.submitted_by:
            assert sum(file.stat().st_size for file in path.iterdir()) <= 200_000, "docs/submit.md has the limit"
        for cell in Store(path).cells():
            for name in cell.names("*"):
                assert name.partition("-")[0] in {"trained.json", "scores", "grid"}
                assert not PLACE.search(json.dumps(cell.record(name))), "a path of somebody's machine"


def test_the_example_method_trains_and_is_scored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (code,) = re.findall(r"```python\n# focal\.py\n(.*?)```", README, re.DOTALL)
    (tmp_path / "readme_focal.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("BENCH_DATA", "")
    settings = ["--limit", "8", "--set", "trainer.steps=1", "trainer.batch_size=4", "backbone.vocabulary=400"]
    results = tmp_path / "results"
    asked = ["run", "--task", "logicnlg", "--method", "readme_focal:Focal", "--results", str(results), "--quiet"]
    assert main([*asked, *settings]) == 0
    assert len(list(results.glob("logicnlg/focal/*/scores-*.json"))) == len(TASKS["logicnlg"].load().info.metrics)


def test_the_board_of_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.setenv("MPLBACKEND", "Agg")
    (code,) = re.findall(r"```python\n(import bench\n\nboard = .*?)```", PYTHON, re.DOTALL)
    (drawing,) = re.findall(r"```python\n(values = board.*?)```", PYTHON, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "leaderboards").symlink_to(ROOT / "leaderboards")
    names: dict[str, Any] = {}
    exec(compile(code + drawing, "python.md", "exec"), names)
    assert {"trime", "mle"} <= set(names["frame"].method)
    assert not names["differences"].only_the_objective.any()  # each was tuned, and has a learning rate of its own
    assert (tmp_path / "bleu-3.svg").is_file()
    assert (tmp_path / "board.html").is_file()


def test_the_example_metric_gives_what_it_says() -> None:
    (code,) = re.findall(r"```python\n(from bench\.metrics.*?)```", PYTHON, re.DOTALL)
    names: dict[str, Any] = {}
    exec(compile(code, "python.md", "exec"), names)
    (said,) = re.findall(r'"rouge-1": (tensor\(.*?\))', code)
    assert repr(names["values"]["rouge-1"]) == said


@pytest.mark.slow
@pytest.mark.usefixtures("sample_data")
@pytest.mark.filterwarnings("ignore")  # of Lightning, in a loop that is not ours: on the machine, its loggers, torch
def test_the_trainer_of_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In fewer steps than the page says."""
    (code,) = re.findall(r"```python\n(import bench\nfrom lightning.*?)```", PYTHON, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(compile(code.replace("=300", "=4").replace("=50", "=2"), "python.md", "exec"), names)
    assert names["trainer"].global_step == 4
    assert type(names["best"]) is type(names["objective"])
