"""A process that makes no model does without Lightning, and one that makes one gives the same results."""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from bench.base import lightning
from bench.cli import main

METHODS = "mle,histalign,f2softmax,adadec"
PLAN = ("run", "--task", "logicnlg", "--method", METHODS, "--preset", "small", "--dry-run", "--json")
SHOWS_IMPORTS = """
import sys
from bench.cli import program
sys.argv = ["bench", *sys.argv[1:]]
program()
print(*sorted({"lightning", "transformers"} & set(sys.modules)), file=sys.stderr)
"""


def alone(words: Sequence[str], folder: Path) -> tuple[str, str]:
    """Run a command in a process of its own; return what it printed and which heavy packages were imported."""
    command = [sys.executable, "-c", SHOWS_IMPORTS, *words, "--results", str(folder)]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    return ended.stdout, ended.stderr.splitlines()[-1]


@pytest.mark.usefixtures("sample_data")
def test_a_dry_run_plans_the_same_without_lightning(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nor with transformers, once the sizes of the models are in the cache."""
    assert main([*PLAN, "--results", str(tmp_path)]) == 0
    plan, imported = alone(PLAN, tmp_path)
    assert imported == ""
    assert json.loads(plan) == json.loads(capsys.readouterr().out)


@pytest.mark.slow
def test_a_run_imports_lightning_to_train_and_not_again_when_all_is_stored(tmp_path: Path) -> None:
    words = "run --task logicnlg --method mle --preset small --set trainer.steps=2 --set trainer.validate=1 --limit 4"
    first, imported = alone(words.split(), tmp_path / "stored")
    assert imported == "lightning transformers"
    again, imported = alone(words.split(), tmp_path / "stored")
    assert imported == ""
    assert again == first
    assert main([*words.split(), "--quiet", "--results", str(tmp_path / "lightning from the start")]) == 0
    late, early = (checkpoint_of(tmp_path / name) for name in ("stored", "lightning from the start"))
    assert late == early


def checkpoint_of(results: Path) -> tuple[str, bytes]:
    """Return the name and the content of the only checkpoint of a results folder."""
    (path,) = results.glob("*/*/*/model-*")
    return path.name, path.read_bytes()


def test_postponing_changes_nothing_where_lightning_is_there() -> None:
    before = lightning.LightningModule
    lightning.postpone()
    lightning.use_lightning()
    assert lightning.LightningModule is before
    assert before.__module__.startswith("lightning.pytorch")


def test_an_objective_has_no_trainer_where_nothing_is_trained() -> None:
    planned = lightning.plain_module()()
    with pytest.raises(RuntimeError, match="only plans, without Lightning"):
        planned.trainer  # noqa: B018
