"""Autocast: mixed precision, by the name that a trainer takes."""

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch

MIXED = {"bf16-mixed": torch.bfloat16, "16-mixed": torch.float16}
"""Precisions that run float32 weights under autocast of this type."""


def autocast(precision: str, device: torch.device) -> AbstractContextManager[Any]:
    """Return the context in which a model of this precision is called; for whole precisions it changes nothing.

    Args:
        precision: as `trainer.precision` names it.
        device: that is computed on.
    """
    if precision in MIXED:
        return torch.autocast(device.type, dtype=MIXED[precision])
    return nullcontext()
