"""Controls that train nothing: memories, decoders and temperatures, what is chosen for them, and counts as a model."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor

import bench
from bench.cells.plan import make_plan
from bench.config.arguments import RunArguments
from bench.config.resolve import find_method
from bench.decodings.samplers import MinP, Sample, Typical
from bench.decodings.searches import Greedy
from bench.errors import UsageError
from bench.models.backbones.backbone import Batch
from bench.models.core.continuations import Written
from bench.models.core.entry import Compatibility
from bench.models.core.objective import Objective
from bench.models.core.states import IGNORED, TokenSlice, slices
from bench.models.gem import GEM
from bench.models.interpolated import MLEKNN, WEIGHTS, Interpolated
from bench.models.mle import MLE
from bench.models.mle_controls import TEMPERATURES, MLECalibrated, MLETempered
from bench.models.mle_decoded import Decoded, MLEMinP, MLETypical, true_continuation
from bench.models.ngrams import BUCKETS, bigram_log_probs, bucket_of, last_token, unigram_log_probs
from tests.conftest import Bench
from tests.models import still
from tests.models.test_objectives import batch_of, codec, made, rows

METHODS = ("mle.cache", "mle.knn")
KINDS = ("small-causal", "small-encdec")


def batches(kind: str) -> list[Batch]:
    """Two batches of four rows."""
    return [codec(kind).train_batch(list(rows(kind)[at : at + 4])) for at in (0, 4)]  # type: ignore[misc]


def mixed(name: str, kind: str) -> Interpolated:
    objective = made(kind, name, **({"keys": 40, "k": 6} if name == "mle.knn" else {}))
    assert isinstance(objective, Interpolated)
    return objective.eval()


def nll(objective: Interpolated, given: list[Batch]) -> float:
    """Nats of all targets, by the distribution over the whole vocabulary."""
    total = 0.0
    for batch in given:
        for part in slices(objective.states(batch)):
            total -= float(objective.log_probs(part).gather(1, part.targets[:, None]).sum())
    return total


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", METHODS)
def test_the_best_of_the_grid_is_chosen(name: str, kind: str) -> None:
    """By the distribution itself, setting by setting."""
    objective = mixed(name, kind)
    with torch.no_grad():
        found = objective.after_training(batches(kind)[:1], batches(kind)[1:])
        chosen = objective.chosen.clone()
        every = {}
        for sharpness in objective.sharpnesses:
            for weight in WEIGHTS:
                objective.chosen.copy_(torch.tensor([weight, sharpness]))
                every[weight, sharpness] = nll(objective, batches(kind)[1:])
    assert found["weight"] == pytest.approx(float(chosen[0]))
    assert every[found["weight"], found["sharpness"]] == pytest.approx(min(every.values()), rel=1e-6)
    n_tokens = sum(int((batch["labels"] != -100).sum()) for batch in batches(kind)[1:])
    assert found["nll"] * n_tokens == pytest.approx(min(every.values()), rel=1e-6)
    assert found["nll_alone"] * n_tokens == pytest.approx(every[0.0, objective.sharpnesses[0]], rel=1e-6)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", METHODS)
def test_parts_are_those_of_its_own_mixture(name: str, kind: str) -> None:
    """Not the model's scores beside its states, as of a method without a mixture."""
    objective = mixed(name, kind)
    given = batches(kind)
    targets = [token for batch in given for part in slices(objective.states(batch)) for token in part.targets.tolist()]
    if name == "mle.knn":
        objective.prepare(torch.bincount(torch.tensor(targets), minlength=300))
    n_reading = 0
    with torch.no_grad():
        objective.after_training(given, given)
        objective.chosen.copy_(torch.tensor([0.3, objective.sharpnesses[1]]))
        for part in slices(objective.states(given[0])):
            found = objective.components(part)
            assert torch.equal(found["full"], objective.log_probs(part))
            torch.testing.assert_close(torch.logaddexp(found["head"], found["cache"]), found["full"])
            reads = (found["cache"] > -torch.inf).any(1)
            n_reading += int(reads.sum())
            shares = found["cache"][reads].exp().sum(1)
            torch.testing.assert_close(shares, torch.full_like(shares, 0.3), rtol=1e-6, atol=0)
    assert n_reading


def test_batches_that_are_read_are_spread_evenly_over_the_training_text() -> None:
    """With room for a third of the targets, every third of nine equal batches is read."""
    objective = mixed("mle.knn", "small-encdec")
    assert isinstance(objective, MLEKNN)
    given, read = [batches("small-encdec")[0]] * 9, []
    targets = [token for part in slices(objective.states(given[0])) for token in part.targets.tolist()]
    objective.most_keys = 3 * len(targets) - 2
    objective.prepare(torch.bincount(torch.tensor(9 * targets), minlength=300))
    states = objective.states
    objective.states = lambda batch: read.append(batch) or states(batch)  # type: ignore[method-assign]
    with torch.no_grad():
        found = objective.after_training(given, [])
    assert found["keys"] == len(objective.values) == objective.most_keys
    assert len(read) == 3
    assert objective.values.tolist() == (3 * targets)[: objective.most_keys]
    assert objective.keys.abs().sum(1).gt(0).all()


def neighbours(kind: str = "small-causal", **options: int) -> MLEKNN:
    objective = made(kind, "mle.knn", **{"keys": 40, "k": 6, **options}).eval()
    assert isinstance(objective, MLEKNN)
    return objective


def rows_of_a_batch(objective: Objective, number: int, kind: str = "small-causal") -> TokenSlice:
    return next(slices(objective.states(batches(kind)[number])))


def fill(objective: MLEKNN, n: int) -> TokenSlice:
    """Put the first n states of a batch into the datastore; its other places are empty."""
    rows = rows_of_a_batch(objective, 0)
    objective.values.fill_(-1)
    objective.keys[:n], objective.values[:n] = rows.hidden[:n], rows.targets[:n]
    objective.index()
    return rows


@torch.no_grad()
def test_empty_places_take_no_part_in_a_search() -> None:
    """They lie at the origin, which is nearer to a state than most of the keys."""
    objective = neighbours()
    fill(objective, 10)
    rows = rows_of_a_batch(objective, 1)
    scores, tokens, readable = objective.entries(rows)
    every = (rows.hidden.float()[:, None] - objective.keys[:10].float()).square().sum(2)
    torch.testing.assert_close(-scores * objective.mean_distance, every.sort(1).values[:, :6].to(scores.dtype))
    assert readable.all()
    assert torch.equal(tokens, objective.values[every.argsort(1)[:, :6]])
    fill(objective, 0)
    torch.testing.assert_close(objective.log_probs(rows), objective.logits(rows).log_softmax(1))


def scaled(states: Any, factor: float) -> Any:
    return replace(states, hidden=factor * states.hidden)


@torch.no_grad()
def test_states_too_large_for_a_key_are_refused() -> None:
    objective = neighbours()
    objective.keys = objective.keys.half()
    states = objective.states
    objective.states = lambda batch: scaled(states(batch), 1e6)  # type: ignore[method-assign]
    with pytest.raises(UsageError, match=r"up to 65,504; a state of this model has larger ones.*leave mle.knn out"):
        objective.after_training(batches("small-causal"), batches("small-causal"))


@torch.no_grad()
def test_a_checkpoint_alone_is_enough(tmp_path: Path) -> None:
    objective = neighbours()
    fill(objective, 10)
    torch.save({"state_dict": objective.state_dict()}, tmp_path / "model.ckpt")
    again = MLEKNN.load_from_checkpoint(tmp_path / "model.ckpt", backbone=objective.backbone, keys=40, k=6)
    assert torch.equal(again.values, objective.values)
    assert torch.equal(again.keys, objective.keys.half())


def test_cells_take_the_weights_of_mle_as_they_are(bench: Bench, tmp_path: Path) -> None:
    """Whatever number of steps a run asks for; the record says what was chosen."""
    small = ("trainer.steps=3", "backbone.width=16", "backbone.layers=1", "trainer.batch_size=4", "method.keys=50")
    ended = bench("run", "--task", "logicnlg", "--method", ",".join(("mle", *METHODS)), "--limit", "12", "--quiet",
                  "--set", *small, "--results", str(tmp_path))  # fmt: skip
    assert ended.code == 0, ended.err
    for name in METHODS:
        (file,) = (tmp_path / "logicnlg" / name).glob("*/trained.json")
        record = json.loads(file.read_text())
        content = record.get("content", record)
        assert content["train"]["steps"] == 0
        assert content["train"]["after_training"]["nll"] <= content["train"]["after_training"]["nll_alone"]
        assert content["start"]["config"]["method"] == "mle"


def test_there_is_nothing_to_train(tmp_path: Path, sample_data: None) -> None:
    with pytest.raises(UsageError, match="'mle.cache' trains nothing, so there is no objective to make"):
        bench.make("logicnlg", "mle.cache", results=tmp_path)


NAMES = ("mle.penalty", "mle.min_p", "mle.typical")


def decoder(name: str, kind: str = "small-encdec") -> Decoded:
    objective = made(kind, name).eval()
    assert isinstance(objective, Decoded)
    return objective


@pytest.mark.parametrize(("name", "sampler"), [("mle.min_p", MinP(p=0.2)), ("mle.typical", Typical(tau=0.5))])
def test_tokens_that_the_sampler_cuts_away_are_ruled_out(name: str, sampler: MinP | Typical) -> None:
    objective = decoder(name)
    objective.chosen.fill_(0.2 if name == "mle.min_p" else 0.5)
    with torch.no_grad():
        rows = rows_of_a_batch(objective, 0, "small-encdec")
        whole, cut = objective.log_probs(rows), objective.decode_log_probs(rows, Sample())
    kept = sampler.kept(whole)
    assert torch.equal(cut.isfinite(), kept)
    assert 0 < kept.sum() < kept.numel()
    torch.testing.assert_close(cut, whole.masked_fill(~kept, -torch.inf).log_softmax(1))


def test_the_key_of_a_penalty_has_the_decoding_it_is_chosen_under(bench: Bench, tmp_path: Path) -> None:
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
    assert objective.remarks() == ["validation text chose 1, no penalty: the numbers are those of mle"]
    with torch.no_grad():
        rows = rows_of_a_batch(objective, 0, kind)
        whole = objective.log_probs(rows)
        assert torch.equal(objective.decode_log_probs(rows, Greedy()), whole.log_softmax(1))  # a penalty of 1
        objective.chosen.fill_(1.5)
        assert objective.remarks() == []
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


def test_cells_decode_with_what_was_chosen(bench: Bench, tmp_path: Path) -> None:
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


@torch.no_grad()
@pytest.mark.parametrize("kind", still.KINDS)
def test_the_best_temperature_is_chosen(kind: str) -> None:
    """Against the likelihood at every temperature; a random model is best at the flattest."""
    objective, given = MLECalibrated(still.backbone(kind)), [still.batch(kind)]
    alone = torch.cat([nll for _, nll in objective.nll(objective.states(given[0]))])
    found = objective.after_training([], given)
    by_hand = {}
    for temperature in TEMPERATURES:
        objective.chosen.fill_(temperature)
        by_hand[temperature] = float(torch.cat([nll for _, nll in objective.nll(objective.states(given[0]))]).mean())
    best = min(by_hand, key=lambda temperature: by_hand[temperature])
    assert found["temperature"] == best
    assert found["at_edge"] == (best in (TEMPERATURES[0], TEMPERATURES[-1]))
    assert found["nll"] == pytest.approx(by_hand[best], rel=1e-12)
    assert found["nll_alone"] == pytest.approx(float(alone.mean()), rel=1e-12)
    assert found["targets"] == len(alone)


@torch.no_grad()
@pytest.mark.parametrize("kind", still.KINDS)
def test_is_the_model_at_its_temperature(kind: str) -> None:
    """Likelihoods and samples are of softmax(z / T); what is greedy stays, and without validation text so does all."""
    backbone = still.backbone(kind)
    likelihood, calibrated = MLE(backbone), MLECalibrated(backbone)
    (rows,) = slices(backbone.states(still.batch(kind)), 999)
    torch.testing.assert_close(calibrated.log_probs(rows), likelihood.log_probs(rows))
    assert calibrated.after_training([], [])["temperature"] == 1.0
    calibrated.chosen.fill_(1.6)
    expected = (backbone.head(rows.hidden) / 1.6).log_softmax(1)
    torch.testing.assert_close(calibrated.log_probs(rows), expected, rtol=1e-6, atol=1e-6)  # T is kept in float32
    torch.testing.assert_close(calibrated.decode_log_probs(rows, Sample()), calibrated.log_probs(rows))
    best = [objective.decode_log_probs(rows, Greedy()).argmax(1) for objective in (likelihood, calibrated)]
    assert torch.equal(*best)


def test_the_control_of_gem_has_its_temperature() -> None:
    """Likelihoods and samples of `mle.tempered` are of softmax(beta z), beta that of GEM."""
    backbone = still.backbone("gpt2")
    tempered = MLETempered(backbone)
    assert tempered.beta == GEM(backbone).beta == 0.7
    (rows,) = slices(backbone.states(still.batch("gpt2")), 999)
    expected = (0.7 * backbone.head(rows.hidden)).log_softmax(1)
    torch.testing.assert_close(tempered.log_probs(rows), expected)
    torch.testing.assert_close(tempered.decode_log_probs(rows, Sample()), expected)


def counted(texts: Sequence[Sequence[int]]) -> Tensor:
    """A table of the pairs of some texts."""
    pairs = torch.zeros(BUCKETS)
    for text in texts:
        for before, token in zip(text, text[1:], strict=False):
            pairs[bucket_of(torch.tensor(before), torch.tensor(token))] += 1
    return pairs


def test_a_bigram_is_witten_and_bell_s_by_hand() -> None:
    unigram = unigram_log_probs(torch.tensor([3, 1, 0]))  # 4/7, 2/7, 1/7
    pairs = counted([[0, 1, 0, 1, 0, 0]])  # after 0: 1 twice, 0 once; after 1: 0 twice
    found = bigram_log_probs(pairs, unigram, torch.tensor([0, 1, 2, IGNORED])).exp()
    after_0 = [(1 + 2 * 4 / 7) / 5, (2 + 2 * 2 / 7) / 5, (2 * 1 / 7) / 5]  # two kinds, three tokens
    after_1 = [(2 + 4 / 7) / 3, (2 / 7) / 3, (1 / 7) / 3]
    nothing = [4 / 7, 2 / 7, 1 / 7]
    assert found.tolist() == [pytest.approx(row, rel=1e-5) for row in (after_0, after_1, nothing, nothing)]
    assert found.sum(1).tolist() == pytest.approx([1.0] * 4)


def slice_of(written: Sequence[Sequence[int]], prompt: Sequence[Sequence[int]]) -> Any:
    return SimpleNamespace(written=torch.tensor(written), prompt=torch.tensor(prompt))


def test_the_token_before_is_that_of_the_text_or_the_prompt() -> None:
    no = IGNORED
    found = last_token(
        slice_of([[no, no, 5, 6], [no, no, no, no], [no] * 4], [[1, 2, no, no], [no, 3, no, no], [no] * 4])
    )
    assert found.tolist() == [6, 3, IGNORED]
    assert last_token(slice_of([[], []], [[], []])).tolist() == [IGNORED] * 2


@pytest.mark.parametrize("kind", KINDS)
def test_a_bigram_counts_what_it_is_trained_on_and_nothing_else(kind: str) -> None:
    objective: Any = made(kind, "bigram")
    batch = batch_of(kind, rows(kind))
    first = objective.step_loss(batch)
    assert objective.pairs.sum() == 0  # nothing counts before the step
    objective.end_of_step(lambda tensor: 2 * tensor)  # two ranks
    assert objective.pairs.sum() > 0
    second = objective.step_loss(batch)
    assert second.total < first.total
    assert first.total.requires_grad
    assert [name for name, parameter in objective.named_parameters() if parameter.requires_grad] == ["anchor"]
    assert set(objective.state_dict()) >= {"pairs", "counts", "anchor"}
    assert "new_pairs" not in objective.state_dict()
    total = sum(float(nll.sum()) for _, nll in objective.nll(objective.states(batch)))
    assert total == pytest.approx(float(second.total.detach()), rel=1e-5)


@pytest.mark.parametrize("name", ["unigram", "mle.untrained"])
def test_no_override_trains_what_is_untrained(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCH_DATA", "")
    assert find_method(name).untrained
    plan = make_plan(
        RunArguments(("logicnlg",), (name, "mle"), (0,), preset="small", results="nowhere", sets=("trainer.steps=7",))
    )
    assert {cell.method.name: cell.config.trainer.steps for cell in plan.cells} == {name: 0, "mle": 7}
