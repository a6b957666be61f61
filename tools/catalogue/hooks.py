"""Hooks: which of `Objective`'s a class fills itself, or has from another method."""

from __future__ import annotations

import inspect
from typing import Any

from bench.models.core.objective import Objective
from tools.catalogue.docstrings import cell, code, prose, read_docstring

__all__ = ["HOOKS", "hook_rows"]

HOOKS = (
    "log_probs",
    "row_loss",
    "head_loss",
    "memory_terms",
    "position_loss",
    "batch_terms",
    "loss",
    "step_loss",
    "resolved",
    "decode_log_probs",
    "decoding_note",
    "prepare",
    "warm_start",
    "after_training",
    "end_of_step",
)
"""In the order in which `Objective` has them."""


def hook_rows(kind: type[Any]) -> list[list[str]]:
    """Return a row for each hook that is not the default: its name, what the class says of it, and whose it is."""
    rows = []
    for name in HOOKS:
        owner = next((base for base in kind.__mro__ if name in vars(base)), Objective)
        if owner in Objective.__mro__:
            continue
        said = read_docstring(inspect.getdoc(vars(owner)[name])).lead
        rows.append([code(name), cell(said or prose(owner.__name__)), code(owner.__name__)])
    return rows
