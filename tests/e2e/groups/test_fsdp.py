"""Sharded processes give what one gives: losses, norms of gradients and weights to rounding, and the same files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from bench.store.state_files import StateFiles
from tests.e2e.groups.test_ddp import Trained, on_ranks, weights_of
from tests.e2e.tiny import Training

pytestmark = pytest.mark.ddp

CLOSE = 1e-5
"""Largest difference of a loss, a norm or a weight from those of one process."""

slow = pytest.mark.slow


def assert_close(one: Trained, other: Trained) -> None:
    """Equal losses, norms and weights, and a checkpoint of the same tensors."""
    assert [step for step, _ in one[1]["curve"]] == [step for step, _ in other[1]["curve"]]
    losses = [[loss for _, loss in found["curve"]] for _, found in (one, other)]
    assert losses[0] == pytest.approx(losses[1], abs=CLOSE)
    assert one[1]["norms"] == pytest.approx(other[1]["norms"], abs=CLOSE, rel=2.5e-7)  # two units of float32
    assert one[0].keys() == other[0].keys()
    for name, weight in one[0].items():
        assert float((weight - other[0][name]).abs().max()) <= CLOSE, name


@pytest.mark.parametrize(
    ("method", "backbone", "more"),
    [
        ("histalign", "llama", {"accumulate": 2, "checkpointing": True}),
        ("mle", "llama", {}),
        pytest.param("trime", "llama", {"selects": True}, marks=slow),
        pytest.param("f2softmax", "llama", {}, marks=slow),
        pytest.param("histalign", "lora", {"checkpointing": True}, marks=slow),
        pytest.param("mle", "small-encdec", {"selects": True}, marks=slow),
        pytest.param("histalign", "small-causal", {}, marks=slow),  # its head is its embedding
    ],
)
def test_two_shares_are_one_model(
    environment: dict[str, str], tmp_path: Path, method: str, backbone: str, more: dict[str, Any]
) -> None:
    """Five rows a step: three and two of uneven length, on two ranks."""
    if backbone == "lora":
        pytest.importorskip("peft")
    precision = "64-true" if backbone.startswith("small") else "32-true"
    training = Training(method, backbone, precision=precision, **more)
    first, second = on_ranks(replace(training, world=2, strategy="fsdp"), environment, tmp_path / "out")
    assert_close(weights_of(replace(training, accumulate=1, checkpointing=False)), first)
    assert second[1]["curve"] == first[1]["curve"]
    if training.selects:
        assert first[1]["kept"]["of"] == 4
    else:
        assert all(torch.equal(weight, second[0][name]) for name, weight in first[0].items())


def taken_up(training: Training, environment: dict[str, str], out: Path) -> Trained:
    """Go on from the state after the third step: that after the sixth is removed."""
    newest, *_ = StateFiles(Path(training.states)).paths()
    newest.unlink()
    if training.world == 1:
        return weights_of(training)
    return on_ranks(training, environment, out)[0]


def test_a_sharded_training_is_taken_up_by_any_strategy(environment: dict[str, str], tmp_path: Path) -> None:
    """By the same one bit for bit, with its moments and the best step; by one process to rounding."""
    folder = tmp_path / "states"
    training = Training("histalign", "llama", selects=True, world=2, strategy="fsdp", states=str(folder))
    weights, found = on_ranks(training, environment, tmp_path / "out")[0]
    again = taken_up(training, environment, tmp_path / "again")
    assert all(torch.equal(weight, again[0][name]) for name, weight in weights.items())
    assert (again[1]["curve"], again[1]["validation"]) == (found["curve"], found["validation"])
    assert again[1]["norms"] == found["norms"][3:]
    alone = taken_up(replace(training, world=1, strategy="ddp"), environment, tmp_path / "alone")
    assert_close((weights, {**found, "norms": found["norms"][3:]}), alone)
