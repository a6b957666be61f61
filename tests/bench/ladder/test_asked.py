"""bench/ladder: what cannot be is refused before anything is read, and which methods a ladder has."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bench.errors import UsageError
from bench.ladder import methods
from bench.ladder.asked import default_epochs
from bench.ladder.costs import within_budget
from bench.ladder.methods import chosen_methods
from bench.ladder.rungs import PlannedRung, finetuned_share, refuse_repeated_text
from bench.ladder.sizes import size_near
from tests.conftest import Ended

Bench = Callable[..., Ended]


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        (["--rungs", "4"], "--rungs 4 is more than the 3 sizes of --sizes cpu"),
        (["--rungs", "1"], "a ladder has two rungs or more, not 1"),
        (["--seeds", "1"], "--seeds takes how many seeds there are, 2 or more"),
        (["--epochs", "5,1,1"], "--epochs takes a number above 0 and at most 4 for each rung"),
        (["--epochs", "0,1,1"], "--epochs takes a number above 0"),
        (["--epochs", "1,1"], "--epochs takes a number for each of 3 rungs, not 2"),
        (["--budget", "8"], "--budget takes hours or minutes above 0, such as 8h or 90m, not '8'"),
        (["--budget", "0h"], "--budget takes hours or minutes above 0"),
        (["--sizes", "large"], "--sizes takes cpu or gpu"),
        (["--set", "trainer.steps=5"], "a ladder decides trainer.steps itself"),
        (["--set", "mle:optim.lr=1"], "a ladder decides trainer.lr itself"),
        (["--methods", "mel"], "no method 'mel'"),
        (["--methods", "mle"], "a ladder compares mle with other methods; --methods has none"),
        (["--methods", "seq2seq,lead"], "seq2seq has a backbone of its own, bilstm"),
        (["--report", "--estimate"], "give one of them"),
        (["--output", "ladder.md"], "--output goes with --report"),
    ],
)
def test_wrong_arguments_are_one_clear_line(bench: Bench, tmp_path: Path, typed: list[str], message: str) -> None:
    ended = bench("ladder", "--task", "text", "--results", str(tmp_path / "results"), *typed)
    assert ended.code == 2
    assert len(ended.complaints) == 1
    assert message in ended.err
    assert not (tmp_path / "results").exists()


def test_the_baseline_is_first_and_why_others_are_left_out_is_said() -> None:
    chosen, left_out = chosen_methods(["trime", "unigram", "mle.untrained", "mle", "adadec"])
    assert chosen == ["mle", "trime"]
    assert left_out["unigram"] == left_out["mle.untrained"] == "trains no weights"
    assert "has a backbone of its own" in left_out["adadec"]


def test_more_than_twelve_methods_are_refused() -> None:
    with pytest.raises(UsageError, match="a ladder has at most 12 methods, not"):
        chosen_methods(["*"])


def test_one_of_each_gradient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(methods, "one_gradient", lambda: {"the same": ["trime", "histalign"]})
    chosen, left_out = chosen_methods(["histalign", "face", "trime"])
    assert chosen == ["mle", "histalign", "face"]
    assert left_out == {"trime": "has the gradient of histalign"}


def test_a_budget_drops_methods_from_the_end() -> None:
    hours = {"mle": 1.0, "face": 3.0, "trime": 0.5, "f2softmax": 0.25}
    assert within_budget(hours, None) == list(hours)
    assert within_budget(hours, 4.75) == list(hours)
    assert within_budget(hours, 4.7) == ["mle", "face", "trime"]
    assert within_budget(hours, 4.4) == ["mle", "face"], "the one before is dropped too, though it is cheap"
    with pytest.raises(UsageError, match="has no room for mle and face, which take 4.00 hours"):
        within_budget(hours, 3.9)


def rung(steps: int, finetuned_steps: int) -> PlannedRung:
    """A rung of 100 rows in steps of 10."""
    return PlannedRung(size_near(0.1), steps, finetuned_steps, rows=100, batch_size=10, scale=1.0)


def test_epochs_are_capped_with_those_of_a_fine_tuning() -> None:
    refuse_repeated_text(rung(40, 0))
    refuse_repeated_text(rung(36, 4))
    with pytest.raises(UsageError, match=r"would read its 100 training rows 4\.10 times"):
        refuse_repeated_text(rung(36, 5))


def test_larger_models_have_no_more_epochs() -> None:
    epochs = default_epochs(5)
    assert list(epochs) == sorted(epochs, reverse=True)


def test_a_recipe_without_steps_fine_tunes_as_long_as_it_trains() -> None:
    assert finetuned_share({"trainer.epochs": 3}) == finetuned_share({"trainer.steps": 30}) == 1.0
