"""A backbone that answers with given logits: golden arrays go in as states, golden losses come out of a class.

The golden vectors of tests/golden/modern: inputs are float32, values and gradients float64. `rows` [B, T] is nan where
there is no loss; `grad_logits` is the gradient of the sum over rows.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from bench.models.backbones.backbone import Backbone, Batch, LinearHead, Step
from bench.models.backbones.causal import strictly_past
from bench.models.core.objective import Objective
from bench.models.core.sliced_loss import summed
from bench.models.core.states import IGNORED, States, TokenSlice


class GivenLogits(Backbone):
    """Decoder-only; its head is the identity.

    Args:
        logits: [N, V] of the positions that carry a target, row after row.
        special: ids of `bos`, `eos` and `pad`.
    """

    architecture = "decoder-only"

    def __init__(self, logits: Tensor, **special: int) -> None:
        config = SimpleNamespace(**{f"{name}_token_id": token for name, token in special.items()})
        super().__init__(SimpleNamespace(config=config), None)
        self.logits = nn.Parameter(logits.detach().clone())
        self.weight = nn.Parameter(torch.eye(logits.shape[1], dtype=logits.dtype))

    def states(self, batch: Batch) -> States:
        targets, mask = batch["labels"][:, 1:], batch["attention_mask"]
        places = (targets != IGNORED).nonzero(as_tuple=True)
        hidden = self.logits.new_zeros((*targets.shape, self.width)).index_put(places, self.logits)
        tokens = batch["input_ids"][:, 1:]
        return States(hidden, targets, hidden, tokens, strictly_past(mask), targets != IGNORED)

    def extend(self, step: Step) -> TokenSlice:
        raise NotImplementedError

    def head(self, hidden: Tensor) -> Tensor:
        return hidden @ self.weight.t()

    def linear_head(self) -> LinearHead:
        return LinearHead(self.weight)

    def embedding(self) -> Tensor:
        return self.weight

    def head_parameters(self) -> list[nn.Parameter]:
        return [self.weight]

    @property
    def vocabulary_size(self) -> int:
        return self.weight.shape[0]

    @property
    def width(self) -> int:
        return self.weight.shape[0]


def batch_of(targets: Tensor) -> Batch:
    """Rows with these targets [B, T], IGNORED where there is none, behind a start token."""
    start = targets.new_full((len(targets), 1), IGNORED)
    labels = torch.cat([start, targets], dim=1)
    return {"input_ids": labels.clamp_min(0), "attention_mask": torch.ones_like(labels), "labels": labels}


FOLDER = Path(__file__).parents[1] / "golden" / "modern"


@dataclass(frozen=True)
class ModernCase:
    """One case of a family.

    Args:
        params: the numbers it was made with, such as gamma.
        arrays: by name, float arrays as float64.
    """

    params: dict[str, Any]
    arrays: dict[str, Tensor]

    def __getitem__(self, name: str) -> Tensor:
        """Return an array."""
        return self.arrays[name]


@cache
def modern_case(name: str) -> ModernCase:
    """Read a case by its name, such as `scalegrad_0`."""
    about = next(case for case in json.loads((FOLDER / "index.json").read_text()) if case["name"] == name)
    with np.load(FOLDER / about["file"]) as file:
        arrays = {key: torch.from_numpy(file[key]) for key in file.files}
    doubles = {key: values.double() if values.is_floating_point() else values for key, values in arrays.items()}
    return ModernCase(about["params"], doubles)


Make = Callable[[GivenLogits], Objective]


def step_of(case: ModernCase, make: Make, *, plain: bool = False) -> tuple[Tensor, Tensor]:
    """Return the total loss of a case and its gradient by the logits of positions with a target, [N, V].

    Args:
        case: with `logits` [B, T, V] and `targets` [B, T].
        make: makes the objective.
        plain: over logits in the graph, in place of the head in its fast form.
    """
    backbone = GivenLogits(case["logits"][case["targets"] != IGNORED])
    objective, batch = make(backbone), batch_of(case["targets"])
    if plain:
        total = summed(backbone.states(batch), objective.position_loss, objective.head_parameters(), 5).total
    else:
        total = objective.step_loss(batch).total
    (gradient,) = torch.autograd.grad(total, [backbone.logits])
    return total.detach(), gradient


def assert_golden(name: str, make: Make, suffix: str = "") -> None:
    """Compare value and gradient of a class with a golden case, in both forms of the head.

    Args:
        name: of the case, such as `scalegrad_0`.
        make: makes the objective.
        suffix: of the arrays of a variant, such as `_as_coded`.
    """
    case = modern_case(name)
    real = case["targets"] != IGNORED
    for plain in (False, True):
        total, gradient = step_of(case, make, plain=plain)
        torch.testing.assert_close(total, case[f"rows{suffix}"][real].sum(), rtol=1e-9, atol=1e-9)
        torch.testing.assert_close(gradient, case[f"grad_logits{suffix}"][real], rtol=2e-6, atol=2e-6)
