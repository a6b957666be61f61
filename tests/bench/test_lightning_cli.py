"""`python -m bench.lightning`: Lightning's own command line trains the same objectives to the same weights."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import pytest

from bench.base.keys import sha256
from bench.cli import main
from bench.errors import BlockedError
from bench.lightning import CLI
from bench.store.checkpoints import save_checkpoint

pytestmark = pytest.mark.usefixtures("sample_data")

SETS = {
    "trainer.steps": 3,
    "trainer.batch_size": 6,
    "backbone.width": 16,
    "backbone.vocabulary": 300,
    "backbone.layers": 1,
    "backbone.heads": 2,
    "evaluation.rows": 6,
}
TRAINER = {
    "accelerator": "cpu",
    "logger": "false",
    "enable_checkpointing": "false",
    "enable_progress_bar": "false",
    "enable_model_summary": "false",
}


def words(command: str, folder: Path, *more: str) -> list[str]:
    """Return a command line that trains little."""
    given = [f"--trainer.{name}={value}" for name, value in TRAINER.items()]
    ours = ["--data=LogicNLG", "--limit=30", f"--results={folder}", f"--set={json.dumps(SETS)}"]
    return [command, *ours, *given, f"--trainer.default_root_dir={folder / 'logs'}", *more]


def program(*given: str) -> CLI:
    """Run it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return CLI(list(given))


def test_it_ends_with_the_weights_of_bench_run(tmp_path: Path) -> None:
    """Steps, clipping and precision that nobody names are the recipe's."""
    sets = [f"{name}={value}" for name, value in SETS.items()]
    command = ["run", "--task", "logicnlg", "--method", "histalign", "--preset", "small", "--limit", "30", "--quiet"]
    given = [*command, "--results", str(tmp_path), "--set", *sets, "method.alpha=0.25"]
    assert main(given) == 0
    ended = program(*words("fit", tmp_path, "--model=HistAlign", "--model.alpha=0.25"))
    (record,) = tmp_path.glob("logicnlg/histalign/*/trained.json")
    stored = json.loads(record.read_text())["content"]["model"]["checkpoint_sha256"]
    assert sha256(save_checkpoint(ended.model)) == stored
    assert ended.trainer.global_step == SETS["trainer.steps"]


def test_a_file_and_the_other_commands(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text("model:\n  class_path: FACE\n  init_args:\n    form: gpo\n")
    sets = [f"{name}={value}" for name, value in SETS.items()]
    command = ["run", "--task", "logicnlg", "--method", "mle", "--preset", "small", "--limit", "30", "--quiet"]
    assert main([*command, "--results", str(tmp_path), "--set", *sets]) == 0
    ended = program(*words("validate", tmp_path, f"--config={file}"))
    assert ended.model.form == "gpo"
    assert ended.trainer.callback_metrics["val/loss"] > 0


def test_what_is_fine_tuned_needs_its_parent(tmp_path: Path) -> None:
    with pytest.raises(BlockedError, match="is fine-tuned from"):
        program(*words("fit", tmp_path, "--model=FACE"))


def test_a_baseline_is_no_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        program(*words("fit", tmp_path, "--model=Lead"))
    assert "Lead" in capsys.readouterr().err
