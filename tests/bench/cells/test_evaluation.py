"""Evaluation: spectra, merged predictions of several processes, and metrics that need a missing model."""

from dataclasses import replace
from typing import Any

import pytest
import torch

from bench.cells.build import build
from bench.cells.evaluation import evaluate, merge, shared_states, spectrum_of
from bench.cells.plan import make_plan
from bench.cells.score import computed, is_incomplete
from bench.config.arguments import RunArguments
from bench.errors import BenchError
from bench.metrics import METRICS
from bench.metrics.likelihood.matrix_rank import rank_of, singular_values
from bench.models.core.states import slices
from bench.store.files import StoredRows
from tests.models.test_objectives import KINDS, made, states_of


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("method", ["mle", "trime", "label_smoothing"])
def test_singular_values_and_ranks_are_those_of_the_whole_matrix(method: str, kind: str) -> None:
    objective = made(kind, method).double().eval()
    with torch.no_grad():
        rows = list(slices(states_of(objective, kind)))
        matrix = torch.cat([objective.log_probs(piece) for piece in rows])
        whole = singular_values(matrix)
        shape, values = spectrum_of(objective, rows)
    assert shape == tuple(matrix.shape)
    assert torch.allclose(values, whole, rtol=0, atol=1e-10 * float(whole[0]))
    for precision in ("float32", "float64"):
        assert rank_of(values, shape, precision) == rank_of(whole, shape, precision)


@pytest.mark.usefixtures("sample_data")
def test_predictions_have_the_precision_of_the_run() -> None:
    """bf16 has 8 bits: likelihoods are within 1 % of those of float32, and not equal."""
    sets = ("trainer.precision=bf16-mixed", "backbone.width=16", "backbone.layers=1")
    (cell,) = make_plan(RunArguments(("ambiguous_template",), ("mle",), sets=sets, limit=12)).cells
    objective, codec = build(cell)
    what = next(what for what in cell.evaluations.values() if what.kind == "likelihood")
    exact, rounded = (
        [row["nll_sum"] for row in evaluate(objective, cell.task, codec, replace(what, precision=precision))]
        for precision in ("32-true", what.precision)
    )
    assert rounded == pytest.approx(exact, rel=1e-2)
    assert rounded != exact


@pytest.mark.usefixtures("sample_data")
def test_an_infinite_likelihood_is_refused_with_its_row(monkeypatch: pytest.MonkeyPatch) -> None:
    (cell,) = make_plan(RunArguments(("ambiguous_template",), ("mle",), limit=12)).cells
    objective, codec = build(cell)
    what = next(what for what in cell.evaluations.values() if what.kind == "likelihood")
    real = type(objective).nll

    def impossible(self: Any, states: Any) -> Any:
        for tokens, nll in real(self, states):
            yield tokens, nll.masked_fill(tokens.start + tokens.group == 3, torch.inf)

    monkeypatch.setattr(type(objective), "nll", impossible)
    with pytest.raises(
        BenchError, match=r"likelihood of row '.+' is inf, expected a finite number; .* models/entmax.py"
    ):
        list(evaluate(objective, cell.task, codec, what))


@pytest.mark.usefixtures("sample_data")
def test_one_pass_gives_the_rows_of_two(monkeypatch: pytest.MonkeyPatch) -> None:
    (cell,) = make_plan(RunArguments(("ambiguous_template",), ("mle",), limit=12)).cells
    objective, codec = build(cell)
    both = [what for what in cell.evaluations.values() if what.kind in ("likelihood", "probe")]
    both = [replace(what, ids=both[1].ids) for what in both]
    apart = [list(evaluate(objective, cell.task, codec, what)) for what in both]
    passes = []
    real = type(objective.backbone).states
    monkeypatch.setattr(type(objective.backbone), "states", lambda self, batch: passes.append(1) or real(self, batch))
    shared = shared_states(both)
    together = [list(evaluate(objective, cell.task, codec, what, shared=shared)) for what in both]
    assert together == apart
    assert len(passes) == 1
    assert shared == {}, "what both have read is not held any longer"


@pytest.mark.usefixtures("sample_data")
def test_other_rows_share_nothing() -> None:
    (cell,) = make_plan(RunArguments(("ambiguous_template",), ("mle",), limit=12)).cells
    likelihood, probe, *_ = cell.evaluations.values()
    assert shared_states([likelihood, replace(probe, ids=probe.ids[1:])]) is None
    assert shared_states([likelihood]) is None


IDS = ("a", "b", "c", "d")


def rows(*names: str) -> list[dict[str, Any]]:
    return [{"id": name, "value": ord(name)} for name in names]


@pytest.mark.parametrize(
    "parts",
    [
        [rows(*"abcd")],
        [rows(*"dcba")],
        [rows(*"ca"), rows(*"bd")],
        [rows(), rows("d"), rows(), rows(*"bca"), rows(), rows()],
    ],
)
def test_any_parts_give_the_same_rows_sorted_by_id(parts: Any) -> None:
    assert merge(parts, IDS, "x") == rows(*IDS)


@pytest.mark.parametrize(
    ("parts", "says"),
    [
        ([rows(*"abc")], "expected 4 rows, one per id; got 3 rows with 3 ids, 1 missing and 0 not required"),
        ([rows(*"abcd"), rows("a")], "got 5 rows with 4 ids, 0 missing and 0 not required"),
        ([rows(*"abce")], "got 4 rows with 4 ids, 1 missing and 1 not required"),
        ([], "got 0 rows with 0 ids, 4 missing"),
    ],
)
def test_anything_else_is_refused(parts: Any, says: str) -> None:
    with pytest.raises(BenchError, match=f"^cell, probe: .*{says}"):
        merge(parts, IDS, "cell, probe")


def test_nothing_is_loaded_for_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BENCH_TAPEX", raising=False)
    entry = replace(METRICS["tapex"], target="no.such.module:family")
    texts = [{"id": str(i), "text": "a b"} for i in range(3)]
    values, sums = computed(entry, StoredRows("key", {"split": "test"}, texts, "0" * 64), {})
    [value] = values["values"]
    assert (value["name"], value["value"], value["n"], value["higher_is_better"]) == ("tapex-acc", None, 3, True)
    assert "|not applicable: needs microsoft/tapex-large-finetuned-tabfact in the hub cache, or" in value["signature"]
    assert is_incomplete(values)
    assert not sums
