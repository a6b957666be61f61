"""On a GPU: losses, gradients and texts are those of a processor, and nothing waits for the device."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import torch

from bench.config.decoding import parse
from bench.config.resolve import find_method, method_names
from bench.generation.generation import generate
from bench.models.core.cpu_copy import moved
from bench.models.core.objective import Objective
from tests.models import still
from tools.heads import Size, differences, forms, has_head, objective_of
from tools.steps import Setting, objective_over_body, step_of

pytestmark = pytest.mark.gpu

NAMES = [name for name in method_names(["all"], controls=False) if has_head(name)]
SIZE = Size(batch=4, positions=64, width=64, vocabulary=2000)
CPU = torch.device("cpu")


@contextmanager
def no_waiting(device: torch.device) -> Iterator[None]:
    """A question to the GPU is an error, where there is one."""
    if device.type == "cuda":
        torch.cuda.set_sync_debug_mode("error")
    try:
        yield
    finally:
        if device.type == "cuda":
            torch.cuda.set_sync_debug_mode("default")


@pytest.mark.parametrize("name", NAMES)
def test_heads_agree(name: str, device: torch.device) -> None:
    """Every form gives the value and the gradients of the fused form on a processor."""
    loss, gradients = forms(objective_of(name, SIZE, CPU))["fused"]()
    for form, run in forms(objective_of(name, SIZE, device)).items():
        found = run()
        there = (found[0].cpu(), [gradient.cpu() for gradient in found[1]])
        assert max(differences(there, (loss, gradients))) < 1e-4, form


@pytest.mark.parametrize("name", NAMES)
def test_bf16_is_near(name: str, device: torch.device) -> None:
    """A first loss in bf16-mixed is within 1 % of the one in fp32."""
    exact = float(step_of(name, SIZE, Setting(2, device))()[0])
    mixed = float(step_of(name, SIZE, Setting(2, device, "bf16-mixed"))()[0])
    assert mixed == pytest.approx(exact, rel=1e-2)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", still.KINDS)
def test_no_loss_waits(kind: str, name: str, device: torch.device) -> None:
    """The driver itself says so. One loss before warms up what is made once."""
    objective = over(name, kind, device)
    given = still.batch(kind)
    tensors = {key: value.to(device) for key, value in given.items()}
    batch = moved(given, {**given, **tensors})
    for guarded in (CPU, device):
        with no_waiting(guarded):
            objective.loss(objective.backbone.states(batch)).total.backward()


def over(name: str, kind: str, device: torch.device) -> Objective:
    """A method over a tiny model."""
    objective = find_method(name).objective(still.backbone(kind, dtype=torch.float32)).train()
    if objective.uses_token_counts:
        objective.prepare(torch.arange(objective.backbone.vocabulary_size) + 1)
    return objective.to(device)


@pytest.mark.parametrize("decoding", ["greedy", "beam=3", "nucleus=0.9", "contrastive_search=4"])
@pytest.mark.parametrize("name", ["mle", "histalign", "trime"])
def test_texts_agree(name: str, decoding: str, device: torch.device) -> None:
    """The tokens are those that a processor writes, near ties apart; draws are made on the CPU."""
    written = []
    for place in (CPU, device):
        objective = objective_over_body(name, SIZE, Setting(2, place))
        ids = torch.randint(3, SIZE.vocabulary, (8, 10), generator=torch.Generator().manual_seed(0)).to(place)
        batch = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
        written.append(generate(objective, batch, parse(decoding)[0], 12, range(8)))
    same = sum(first == second for first, second in zip(*written, strict=True))
    assert same >= 7, written
