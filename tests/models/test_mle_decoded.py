"""models/mle_decoded.py and the decoders on it: the cut is the decoder's own, validation text chooses its number."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from bench.config.resolve import find_method
from bench.decodings.samplers import MinP, Sample, Typical
from bench.decodings.searches import Greedy
from bench.models.core.continuations import Written
from bench.models.core.entry import Compatibility
from bench.models.core.states import slices
from bench.models.mle_decoded import Decoded, MLEMinP, MLETypical, true_continuation
from tests.conftest import Ended
from tests.models.test_interpolated import batches
from tests.models.test_objectives import made

NAMES = ("mle.penalty", "mle.min_p", "mle.typical")


def decoder(name: str, kind: str = "small-encdec") -> Decoded:
    objective = made(kind, name).eval()
    assert isinstance(objective, Decoded)
    return objective


def first_rows(objective: Decoded, kind: str = "small-encdec"):
    return next(iter(slices(objective.states(batches(kind)[0]))))


@pytest.mark.parametrize(("name", "sampler"), [("mle.min_p", MinP(p=0.2)), ("mle.typical", Typical(tau=0.5))])
def test_tokens_that_the_sampler_cuts_away_are_ruled_out(name: str, sampler: MinP | Typical) -> None:
    objective = decoder(name)
    objective.chosen.fill_(0.2 if name == "mle.min_p" else 0.5)
    with torch.no_grad():
        rows = first_rows(objective)
        whole, cut = objective.log_probs(rows), objective.decode_log_probs(rows, Sample())
    kept = sampler.kept(whole)
    assert torch.equal(cut.isfinite(), kept)
    assert 0 < kept.sum() < kept.numel()
    torch.testing.assert_close(cut, whole.masked_fill(~kept, -torch.inf).log_softmax(1))


def test_the_key_of_a_penalty_has_the_decoding_it_is_chosen_under(bench: Callable[..., Ended], tmp_path: Path) -> None:
    asked = ("run", "--task", "text", "--method", "mle.penalty", "--limit", "12", "--results", str(tmp_path),
             "--dry-run", "--json", "--decode", "topk=3")  # fmt: skip
    keys = set()
    for more in ([], ["--set", "method.under=topk=3"]):
        plan = json.loads(bench(*asked, *more).out)
        keys.add(plan["cells"][-1]["key"])
    assert len(keys) == 2


@pytest.mark.parametrize("kind", ["small-causal", "small-encdec"])
def test_a_penalty_is_on_what_was_written_and_on_nothing_else(kind: str) -> None:
    objective = decoder("mle.penalty", kind)
    with torch.no_grad():
        rows = first_rows(objective, kind)
        whole = objective.log_probs(rows)
        assert torch.equal(objective.decode_log_probs(rows, Greedy()), whole.log_softmax(1))  # a penalty of 1
        objective.chosen.fill_(1.5)
        found = objective.decoded(whole, rows, 1.5)
    for row, log_probs, before in zip(found, whole, rows.written.tolist(), strict=True):
        written = {token for token in before if token >= 0}
        expected = [1.5 * float(x) if token in written else float(x) for token, x in enumerate(log_probs)]
        assert row.tolist() == pytest.approx(expected, rel=1e-6)
    assert (rows.written >= 0).any()


def test_the_number_nearest_to_true_texts_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Under .05 every text is the truth; under any other number it is one token again and again."""
    objective = decoder("mle.min_p")

    def written(objective: Decoded, batch, *, decoding: str) -> list[Written]:
        truth = [[token for token in row if token != -100] for row in batch["labels"].tolist()]
        if float(objective.chosen) != pytest.approx(0.05):
            truth = [[7] * len(row) for row in truth]
        assert decoding == "sample"
        return [Written(row, [], tokens) for row, tokens in enumerate(truth)]

    monkeypatch.setattr("bench.models.mle_decoded.write", written)
    found = objective.after_training([], batches("small-encdec"))
    assert (found["chosen"], found["at_edge"]) == (0.05, False)
    assert found["distinct_2"] == found["distinct_2_of_truth"] > 0.2
    assert float(objective.chosen) == pytest.approx(0.05)


def test_the_truth_behind_a_prompt_of_running_text() -> None:
    batch = {"labels": torch.tensor([[-100, 5, 6, 7, 8, -100]]), "attention_mask": torch.tensor([[1, 1, 1, 1, 1, 0]])}
    assert true_continuation(batch, Written(0, [1, 5, 6], [9, 9])) == [7, 8]  # type: ignore[arg-type]
    assert true_continuation(batch, Written(0, [], [9])) == [5]  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", [MLEMinP, MLETypical])
def test_texts_with_a_source_are_not_drawn(kind: type[MLEMinP]) -> None:
    assert kind.why_not(Compatibility("decoder-only", open_ended=True)) is None
    assert "rows with a source" in str(kind.why_not(Compatibility("decoder-only")))


def test_cells_decode_with_what_was_chosen(bench: Callable[..., Ended], tmp_path: Path) -> None:
    """Samplers draw, whatever the run decodes with, as many tokens as it says; a penalty keeps the run's decoding."""
    small = ("trainer.steps=3", "backbone.width=16", "backbone.layers=1", "trainer.batch_size=4",
             "trainer.max_target=24")  # fmt: skip
    ended = bench("run", "--task", "text", "--method", ",".join(NAMES), "--limit", "12", "--quiet",
                  "--decode", "topk=3+max_new_tokens=5,topk=9+max_new_tokens=5", "--set", *small,
                  "--results", str(tmp_path))  # fmt: skip
    assert ended.code == 0, ended.err
    for name in NAMES:
        (file,) = (tmp_path / "text" / name).glob("*/trained.json")
        record = json.loads(file.read_text())
        content = record.get("content", record)
        assert content["train"]["after_training"]["chosen"] in find_method(name).kind.choices
        expected = ["sample+max_new_tokens=5"]
        if name == "mle.penalty":
            expected = ["topk=3+max_new_tokens=5", "topk=9+max_new_tokens=5"]
        assert content["config"]["decodings"] == expected
