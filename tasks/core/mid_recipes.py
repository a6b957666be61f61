"""The recipe of the preset `mid`: a pretrained model of 135 M parameters, fine-tuned on real rows.

A run should take at most 40 minutes on one thread of a CPU; docs/real_models.md says what was timed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["MID"]

MID: Mapping[str, Any] = {
    "backbone": "smollm2-135m-instruct-q4",
    "trainer.batch_size": 16,
    "trainer.lr": 2e-5,
    "trainer.warmup": 0.1,
    "trainer.weight_decay": 0.0,
    "evaluation.rows": 300,
    "evaluation.batch_size": 50,
}
