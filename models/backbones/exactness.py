"""Exactness: a backbone is refused whose distribution is not that of its model of `transformers`."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import shorten

import torch

from bench.errors import UsageError
from bench.models.backbones.backbone import Backbone
from bench.models.backbones.forward_check import DRAWS, NewCache, cached_difference, forward_differences

__all__ = ["TOLERANCE", "refuse_inexact", "why_inexact"]

TOLERANCE = 1e-4
"""Largest difference of log-probabilities of float32 weights, in nats."""


def refuse_inexact(backbone: Backbone, name: str, new_cache: NewCache) -> None:
    """Refuse a backbone that is not exact.

    Args:
        backbone: over a model of `transformers`, in float32.
        name: of the backbone, for the message.
        new_cache: makes the cache of generation.

    Raises:
        UsageError: it differs by more than `TOLERANCE`, or its model does not run as states and a head.
    """
    why = why_inexact(backbone, new_cache)
    if why is None:
        return
    model = backbone.model
    raise UsageError(
        f"backbone '{name}' (family {model.config.model_type}, {type(model).__name__}) is refused: {why}; expected the "
        f"log-probabilities of the library's own model, to {TOLERANCE:.0e} nats. Take a family that docs/families.md "
        "calls exact, or bring an adapter of your own (models/backbones/README.md)"
    )


def why_inexact(backbone: Backbone, new_cache: NewCache) -> str | None:
    """Return why a backbone is not exact, or None.

    Args:
        backbone: over a model of `transformers`.
        new_cache: makes the cache of generation.
    """
    forward = lasting(lambda draw: forward_fault(backbone, draw))
    if forward is not None:
        return forward
    return lasting(lambda draw: cached_fault(backbone, new_cache, draw))


def lasting(fault_of: Callable[[int], str | None]) -> str | None:
    """Return a fault that every set of tokens shows, or None.

    A router of experts may stand on the edge for one token, where rounding decides which expert is asked.
    """
    fault = None
    for draw in DRAWS:
        fault = fault_of(draw)
        if fault is None:
            return None
    return fault


def forward_fault(backbone: Backbone, draw: int) -> str | None:
    """Return what is wrong with the forward pass on one set of tokens, or None."""
    try:
        differences = forward_differences(backbone, draw)
    except torch.OutOfMemoryError:
        raise
    except Exception as error:  # whatever a family's own code says to arguments it does not know
        return f"its model does not run as states and a head ({first_line(error)})"
    situation = max(differences, key=differences.__getitem__)
    if differences[situation] > TOLERANCE:
        return f"{differences[situation]:.2g} nats of difference in {situation}"
    return None


def cached_fault(backbone: Backbone, new_cache: NewCache, draw: int) -> str | None:
    """Return what is wrong with generation on one set of tokens, or None."""
    try:
        difference = cached_difference(backbone, new_cache, draw)
    except torch.OutOfMemoryError:
        raise
    except Exception as error:
        return f"generation with its cache is not ours ({first_line(error)})"
    if difference > TOLERANCE:
        return f"generation with its cache is not ours ({difference:.2g} nats from a full forward pass)"
    return None


def first_line(error: Exception) -> str:
    """Name an error and what it says first."""
    said = str(error).strip() or "no message"
    return f"{type(error).__name__}: {shorten(said.splitlines()[0], 80, placeholder=' ...')}"
