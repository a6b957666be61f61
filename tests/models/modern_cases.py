"""The golden vectors of tests/golden/modern: what each case was made with, and what came out.

Inputs are float32, values and gradients float64. `rows` [B, T] is nan where there is no loss; `grad_logits` is the
gradient of the sum over rows.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

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
