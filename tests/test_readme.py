"""README shows true output: its tables are made again from the stored runs, its example method is run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bench.cli import main
from bench.tasks import TASKS
from tests.regenerate import BLOCK, CLAIMS, PAGE, PLACE, ROOT, RUNS, claims, opened, page

README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(("command", "shown"), BLOCK.findall(README))
def test_a_shown_table_is_what_the_command_prints(
    command: str, shown: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    assert main(command.split()[1:]) == 0
    printed = "\n".join(line.rstrip() for line in capsys.readouterr().out.splitlines()).strip()
    assert printed in shown, f"README is behind: put the output of `{command}` in its place"


def test_the_committed_page_is_made_of_the_committed_records() -> None:
    kept, made = (opened(text) for text in (PAGE.read_text(encoding="utf-8"), page()))
    assert kept == made, "leaderboards/index.html is behind: make boards"


def test_the_committed_evidence_is_made_of_the_committed_records(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert CLAIMS.read_text(encoding="utf-8") == claims(), "leaderboards/claims.md is behind: make boards"


def test_records_hold_no_weights_and_no_texts() -> None:
    kept = {path.name.partition("-")[0] for path in RUNS.rglob("*") if path.is_file()}
    assert kept <= {"trained.json", "config.yaml", "scores", "grid", "items"}
    configs = [path.read_text(encoding="utf-8") for path in RUNS.rglob("config.yaml")]
    assert not [text for text in configs if PLACE.search(text)], "a path of somebody's machine"


def test_there_are_shown_tables() -> None:
    assert len(BLOCK.findall(README)) >= 2


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


@pytest.mark.parametrize("name", ["ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "LICENSE", "constraints.txt"])
def test_a_file_the_readme_leans_on_is_there(name: str) -> None:
    assert (ROOT / name).is_file()


def test_the_makefile_has_the_commands_the_readme_names() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"`make ([a-z-]+)", README)) <= targets
    assert "make test" in (ROOT / ".ci" / "run").read_text()
