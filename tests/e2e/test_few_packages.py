"""A run on a machine that lacks packages which only some commands need, as a borrowed one with a GPU may."""

import os
import subprocess
import sys
from pathlib import Path

from bench.store.store import Store

LACKING = ("datasets", "wandb", "nltk", "rouge_score", "rouge_score_rs", "spacy", "mauve", "peft")
PROGRAM = """
import sys
for name in sys.argv[1].split(","):
    sys.modules[name] = None
from bench.cli import program
sys.argv = ["bench", *sys.argv[2:]]
sys.exit(program())
"""


def test_a_cell_is_trained_and_scored(tmp_path: Path) -> None:
    """What cannot be scored says so; the rest has its numbers."""
    tiny = ["--set", "trainer.steps=2", "backbone.width=16", "trainer.batch_size=4", "--limit", "6", "--quiet"]
    words = ["run", "--task", "logicnlg", "--method", "mle", "--preset", "small", *tiny]
    command = [sys.executable, "-W", "ignore", "-c", PROGRAM, ",".join(LACKING), *words]
    environment = {**os.environ, "BENCH_CACHE": str(tmp_path / "cache"), "BENCH_DATA": "", "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (cell,) = Store(tmp_path / "results").cells()
    values = {value["name"]: value["value"] for scores in cell.all_scores() for value in scores["values"]}
    assert values["ppl/token"] > 1
    assert None in values.values()  # no verifier here
