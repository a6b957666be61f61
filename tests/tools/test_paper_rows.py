"""tools/paper_rows.py: what is run for a table, and slices that go on from each other."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bench.store.store import Store
from tools import paper_rows
from tools.paper_rows import ROWS, TRY_AGAIN, main

pytestmark = pytest.mark.usefixtures("sample_data")
DATA = os.environ.get("BENCH_DATA", "")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Commands in place of being run; each slice ends well."""
    commands: list[list[str]] = []

    def noted(words: list[str], seconds: float) -> int:
        commands.append([*words, f"{seconds:g} s"])
        return 0

    monkeypatch.setattr(paper_rows, "slice_of", noted)
    return commands


def test_both_tables_in_their_recipes(asked: list[list[str]]) -> None:
    assert main([]) == 0
    texts = [" ".join(words) for words in asked]
    assert [row.task in text for row, text in zip(ROWS, texts, strict=True)] == [True, True]
    assert "--backbone gpt2 " in texts[0] + " "
    assert "--seeds 0,1,42" in texts[0]
    assert "--set execution.state_every=120 540 s" in texts[0]
    assert texts[0].endswith("540 s")


def test_weights_scratch_and_a_share_of_the_steps(asked: list[list[str]], tmp_path: Path) -> None:
    main(["histalign/table1", "--weights", str(tmp_path)])
    main(["histalign/table1", "--scratch", "--scale", "0.01", "--seeds", "42", "--method", "mle"])
    main(["f2softmax/table1", "--scale", "0.01", "--set", "trainer.batch_size=2"])
    main(["f2softmax/table1", "--scale", "0.01", "--method", "mle"])  # nothing in it is fine-tuned
    weights, scratch, decoder, alone = [" ".join(words) for words in asked]
    assert f" backbone.path={tmp_path}" in weights
    assert "--backbone gpt2-scratch --set execution.state_every=120 trainer.epochs=0.05 " in scratch
    assert "--seeds 42" in scratch
    assert "finetuned" not in alone
    assert "trainer.batch_size=2 trainer.epochs=0.1 finetuned:trainer.steps=15" in decoder


def test_what_cannot_be_is_said(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for arguments, said in (
        (["histalign/table2"], "no such table as histalign/table2; there are: histalign/table1, f2softmax/table1"),
        (["histalign/table1", "typo"], "no such table as typo"),
        (["--weights", str(tmp_path / "no")], "--weights names no folder"),
        (["--weights", str(tmp_path), "--scratch"], "exclude each other"),
    ):
        with pytest.raises(SystemExit):
            main(arguments)
        assert said in capsys.readouterr().err


def test_a_slice_that_fails_ends_it(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    codes = iter([0, TRY_AGAIN])
    monkeypatch.setattr(paper_rows, "slice_of", lambda *given: next(codes))
    assert main([]) == TRY_AGAIN
    assert "f2softmax/table1: there is more to do" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.skipif(not DATA, reason="BENCH_DATA names no folder with data")
def test_slices_end_as_one_run(tmp_path: Path) -> None:
    """GPT-2's architecture, a hundredth of the steps, two methods: cut into slices, the same weights and scores."""
    tiny = ["trainer.steps=8", "trainer.batch_size=8", "evaluation.rows=8"]
    options = ["histalign/table1", "--scratch", "--seeds", "0", "--method", "mle,histalign.released", "--set", *tiny]
    environment = {**os.environ, "BENCH_DATA": DATA, "OMP_NUM_THREADS": "2", "BENCH_CACHE": str(tmp_path / "cache")}
    codes = {}
    for name, seconds in (("whole", "3000"), ("sliced", "45")):
        codes[name] = [TRY_AGAIN]
        while codes[name][-1] == TRY_AGAIN:
            assert len(codes[name]) < 40
            words = [*options, "--seconds", seconds, "--results", str(tmp_path / name)]
            done = subprocess.run([sys.executable, "-m", "tools.paper_rows", *words], env=environment)
            codes[name].append(done.returncode)
    assert codes["whole"] == [TRY_AGAIN, 0]
    assert len(codes["sliced"]) > 2, "the machine is too fast for slices of 45 seconds"
    assert codes["sliced"][-1] == 0
    found = {name: contents(tmp_path / name) for name in codes}
    assert len(found["whole"]) == 2
    assert found["whole"] == found["sliced"]


def contents(results: Path) -> dict[str, str]:
    """Return what each cell of a store is and scores."""
    found = {}
    for cell in Store(results).cells():
        scores = sorted(json.dumps(content["values"], sort_keys=True) for content in cell.all_scores())
        found[cell.path.parent.name] = json.dumps([cell.trained(), scores], sort_keys=True)
    return found
