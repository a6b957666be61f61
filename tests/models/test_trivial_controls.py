"""models/unigram.py and bigram.py: counts of the training targets as distributions, worked out by hand."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor

from bench.cells.plan import make_plan
from bench.config.arguments import RunArguments
from bench.config.resolve import find_method
from bench.models.core.states import IGNORED
from bench.models.functional.ngram_counts import BUCKETS, bigram_log_probs, bucket_of, unigram_log_probs
from bench.models.ngrams import last_token
from tests.models.test_objectives import KINDS, batch_of, made, rows


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
