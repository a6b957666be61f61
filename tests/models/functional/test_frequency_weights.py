"""FACE as functions: the golden vectors of all four forms over three steps, and numbers worked by hand.

The vectors come from the released code in float64 (`orig`) and from F2-Softmax's version of it (`f2code`), whose loss
is divided by all positions, padding included.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from bench.models.functional.frequency_weights import counted, frequency_weights, overuse_weights, until_end

FOLDER = Path(__file__).parents[2] / "golden" / "face"
CASES = sorted(path.stem for path in FOLDER.glob("*.json"))
EXACT = {"rtol": 1e-9, "atol": 1e-12}


def load(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text())
    return found


def steps(name: str) -> list[tuple[Tensor, Tensor, dict[str, Any]]]:
    """Logits [B, T, V], targets [B, T] and what is expected of each step."""
    case = load(name)
    found = []
    for given, expected in zip(case["inputs"]["steps"], case["outputs"]["steps"], strict=True):
        logits, targets = torch.tensor(given["logits"], dtype=torch.float64), torch.tensor(given["targets"])
        if targets.ndim == 1:
            logits, targets = logits[None], targets[None]
        found.append((logits, targets, expected))
    return found


def released_counts(name: str, logits: Tensor, targets: Tensor) -> Tensor:
    """What the released code counts of one batch."""
    given = load(name)["inputs"]
    if "f2code" in name:
        return counted(logits.argmax(-1), given["vocab"], [given["pad"]])
    tokens = targets if name.startswith("face_g") else logits.argmax(-1)
    return counted(until_end(tokens, [given["end"]], [given["start"]]), given["vocab"])


@pytest.mark.parametrize("name", CASES)
def test_golden(name: str) -> None:
    """Frequencies, weights and loss after each of three steps; the current batch is counted first."""
    given = load(name)["inputs"]
    frequency = torch.zeros(given["vocab"], dtype=torch.int64)
    for logits, targets, expected in steps(name):
        frequency += released_counts(name, logits, targets)
        assert frequency.tolist() == expected["word_freq"]
        nll = -logits.log_softmax(-1).gather(2, targets[:, :, None]).squeeze(2)
        wanted = torch.tensor(expected["weight"], dtype=torch.float64)
        if "_gpo" in name or "_opo" in name:
            found = weights = overuse_weights(frequency, logits.argmax(-1).flatten(), targets.flatten())
        else:
            found = frequency_weights(frequency)
            weights = found[targets].flatten()
        torch.testing.assert_close(found, wanted, **EXACT)
        real = targets.flatten() != given["pad"]
        total = (weights * nll.flatten())[real].sum()
        if "f2code" in name:
            torch.testing.assert_close(float(total / targets.numel()), expected["loss"], **EXACT)
        else:
            torch.testing.assert_close(float(total), expected["loss_sum"], **EXACT)
            torch.testing.assert_close(float(total / real.sum()), expected["loss"], **EXACT)


@pytest.mark.parametrize("frequency", [[0, 0, 0], [5, 5, 5], [1]])
def test_nothing_to_compare(frequency: list[int]) -> None:
    """Where the rule is 0/0, a step is a step of maximum likelihood."""
    assert frequency_weights(torch.tensor(frequency)).tolist() == [1.0] * len(frequency)
