"""Shares of verdicts as classes: integer states, nothing before the first pair, directions, unequal lengths."""

import math

import pytest
import torch

from bench.metrics.faithfulness.factcc import factcc, load_factcc
from bench.metrics.faithfulness.sp_acc import Parsed
from bench.metrics.faithfulness.verifier_metrics import DAE, FactCC, NLIAcc, SPAcc, TapasAcc, TapexAcc, percent_true
from tests.metrics import tiny_verifiers

torch.set_num_threads(1)
CLASSES = (FactCC, TapexAcc, TapasAcc, NLIAcc, SPAcc, DAE)


@pytest.fixture(scope="module")
def verifier(tmp_path_factory):
    return load_factcc(str(tiny_verifiers.bert(tmp_path_factory.mktemp("bert"))), device="cpu")


@pytest.mark.parametrize("kind", CLASSES)
def test_states_are_two_integers(kind):
    metric = kind(None)
    assert {name: (state.dtype, state.item()) for name, state in metric.metric_state.items()} == {
        "true": (torch.int64, 0), "n": (torch.int64, 0),
    }  # fmt: skip
    assert metric.half() is metric
    assert metric.true.dtype == torch.int64
    assert (metric.full_state_update, metric.is_differentiable) == (False, False)
    assert metric.higher_is_better is (kind is not DAE)


def test_of_no_verdict_there_is_no_share(verifier):
    metric = FactCC(verifier)
    metric.update([], [])
    assert math.isnan(metric.compute())
    assert (percent_true(torch.tensor(1), torch.tensor(4)).item(), percent_true(torch.tensor(0), torch.tensor(3))) == (
        25,
        0,
    )
    assert metric.compute().dtype == torch.float64


def test_claims_are_counted_not_summaries(verifier):
    documents, summaries = ["the river rose", "it fell"], ["It rose. It fell. the year", "no one was hurt"]
    for unit, n in (("sentence", 4), ("summary", 2)):
        metric = FactCC(verifier, unit)
        metric.update(documents, summaries)
        verdicts = [one for some in factcc(documents, summaries, verifier, unit) for one in some]
        assert (metric.n.item(), metric.true.item()) == (n, sum(verdicts))
    with pytest.raises(ValueError, match="a document per summary"):
        metric.update(documents, summaries[:1])
    assert metric.n.item() == 2, "nothing is counted of what is refused"


def test_a_sentence_without_a_program_fails():
    metric = SPAcc(None)  # it ranks nothing
    metric.update([Parsed("it rose", (), "aldra")])
    assert metric.compute().item() == 0
