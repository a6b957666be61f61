"""bench/training/compiled.py: a compiled body gives the same losses; what cannot be compiled is refused by name."""

from __future__ import annotations

import shutil
from typing import Any

import pytest
import torch

from bench.errors import UsageError
from bench.models.core.cpu_copy import moved
from bench.models.mle import MLE
from bench.training.compiled import compiled_body
from tests.models import still, tiny_bilstm


def losses_of(objective: MLE, kind: str) -> list[float]:
    """Losses of three steps of SGD on batches of different lengths."""
    trained = torch.optim.SGD(objective.parameters(), lr=0.01)
    losses = []
    for count in (5, 3, 4):
        batch: Any = still.batch(kind, count=count)
        loss = objective.loss(objective.states(moved(batch, batch)))
        mean = loss.total / loss.n_target_tokens
        trained.zero_grad()
        mean.backward()
        trained.step()
        losses.append(mean.item())
    return losses


def counting_backend(seen: list[int]) -> Any:
    """A backend of `torch.compile` that counts graphs and runs them as they are."""

    def backend(graph: Any, inputs: Any) -> Any:
        seen.append(1)
        return graph.forward

    return backend


@pytest.mark.slow
@pytest.mark.parametrize("kind", still.KINDS)
def test_the_body_is_compiled_for_whole_batches_only(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Graphs are made in training and not in generation; afterwards, the body is what it was."""
    from bench.decodings.searches import Greedy
    from bench.generation.generation import generate

    seen: list[int] = []
    original = torch.compile
    monkeypatch.setattr(torch, "compile", lambda run, **how: original(run, backend=counting_backend(seen), **how))
    objective = MLE(still.backbone(kind, dtype=torch.float32))
    batch: Any = still.batch(kind)
    expected = objective.states(batch).hidden
    prompts: Any = {"input_ids": torch.tensor([[5, 6, 7]]), "attention_mask": torch.ones(1, 3, dtype=torch.long)}
    with compiled_body(objective.backbone):
        written = generate(objective, prompts, Greedy(), 3)
        assert not seen
        torch.testing.assert_close(objective.states(batch).hidden, expected)
        assert seen
    assert "forward" not in vars(objective.backbone.model.base_model)
    assert generate(objective, prompts, Greedy(), 3) == written


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("c++") is None, reason="needs a C++ compiler")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", still.KINDS)
def test_losses_are_those_of_the_plain_body(kind: str) -> None:
    plain, compiled = (MLE(still.backbone(kind, dtype=torch.float32)).train() for _ in range(2))
    with compiled_body(compiled.backbone):
        found = losses_of(compiled, kind)
    assert found == pytest.approx(losses_of(plain, kind), rel=1e-5)


def test_a_recurrent_backbone_is_refused() -> None:
    with pytest.raises(UsageError, match="execution.compile takes .* a BiLSTM"), compiled_body(tiny_bilstm.tiny()):
        pass
