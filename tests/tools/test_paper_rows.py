"""tools/paper_rows.py: what is run for a table, and slices that go on from each other."""

from pathlib import Path

import pytest

from tools import paper_rows
from tools.paper_rows import ROWS, TRY_AGAIN, main

pytestmark = pytest.mark.usefixtures("sample_data")


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


def test_a_slice_that_fails_ends_it(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    codes = iter([0, TRY_AGAIN])
    monkeypatch.setattr(paper_rows, "slice_of", lambda *given: next(codes))
    assert main([]) == TRY_AGAIN
    assert "f2softmax/table1: there is more to do" in capsys.readouterr().out
