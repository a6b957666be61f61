"""A process that only plans does without Lightning, and plans the same."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from bench.base import lightning
from bench.cli import main

PLAN = ("run", "--task", "logicnlg", "--method", "mle,histalign,f2softmax", "--preset", "small", "--dry-run", "--json")
SHOWS_LIGHTNING = """
import sys
from bench.cli import program
sys.argv = ["bench", *sys.argv[1:]]
program()
print("lightning" in sys.modules, file=sys.stderr)
"""


def alone(words: Sequence[str], folder: Path) -> tuple[str, str]:
    """Run a command in a process of its own; return what it printed and whether Lightning was imported."""
    command = [sys.executable, "-c", SHOWS_LIGHTNING, *words, "--results", str(folder)]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    return ended.stdout, ended.stderr.splitlines()[-1]


@pytest.mark.usefixtures("sample_data")
def test_a_dry_run_plans_the_same_without_lightning(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan, imported = alone(PLAN, tmp_path)
    assert imported == "False"
    capsys.readouterr()
    assert main([*PLAN, "--results", str(tmp_path)]) == 0
    assert json.loads(plan) == json.loads(capsys.readouterr().out)


def test_a_search_is_planned_without_lightning(tmp_path: Path) -> None:
    words = "run --task logicnlg --method mle --grid optim.lr=1e-3,2e-3 --dry-run"
    plan, imported = alone(words.split(), tmp_path)
    assert plan.count("to train") == 2
    assert imported == "False"


@pytest.mark.slow
def test_samples_are_shown_without_lightning(tmp_path: Path) -> None:
    training = "run --task logicnlg --method mle --preset small --set trainer.steps=1 --limit 4 --quiet"
    assert main([*training.split(), "--results", str(tmp_path)]) == 0
    shown, imported = alone(["samples", "--task", "logicnlg"], tmp_path)
    assert "mle" in shown
    assert imported == "False"


def test_standing_in_changes_nothing_where_lightning_is_there() -> None:
    before = lightning.LightningModule
    lightning.stand_in()
    assert lightning.LightningModule is before
    assert before.__module__.startswith("lightning.pytorch")


def test_an_objective_has_no_trainer_where_nothing_is_trained() -> None:
    planned = lightning.planned_module()()
    with pytest.raises(RuntimeError, match="only plans, without Lightning"):
        planned.trainer  # noqa: B018


def test_an_unknown_class_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Trainer'"):
        lightning.Trainer  # noqa: B018
