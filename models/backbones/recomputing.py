"""Recomputing: of each layer only its input is kept for the backward pass, and all else is computed again there.

Losses and gradients are the same in every bit: what is drawn, as for dropout, is drawn again. The library's own switch
(`gradient_checkpointing_enable`) does nothing on a model in evaluation mode, in which some losses score texts.

Source: Chen et al. 2016, "Training Deep Nets with Sublinear Memory Cost"; `torch.utils.checkpoint`.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from bench.errors import UsageError
from bench.models.backbones.backbone import Backbone


@contextmanager
def recomputed(backbone: Backbone, is_on: bool = True) -> Iterator[None]:
    """Compute the activations of a backbone's layers again in the backward pass, until the end of the block.

    Raises:
        UsageError: it has no layers.
    """
    layers: list[Any] = backbone.layers() if is_on else []
    if is_on and not layers:
        raise UsageError(
            f"execution.activation_checkpointing is for the layers of a model of transformers; "
            f"{type(backbone.model).__name__} has none, so leave the setting out"
        )
    kinds = [type(layer) for layer in layers]
    for layer, kind in zip(layers, kinds, strict=True):
        layer.__class__ = recomputing(kind)
    try:
        yield
    finally:
        for layer, kind in zip(layers, kinds, strict=True):
            layer.__class__ = kind


def recomputing(kind: type[nn.Module]) -> type[nn.Module]:
    """Return a class of layers that keep their inputs alone; its name stays, by which the library knows them."""

    def call(self: nn.Module, *given: Any, **named: Any) -> Any:
        run = partial(kind.__call__, self)
        if not torch.is_grad_enabled():
            return run(*given, **named)
        return checkpoint(run, *given, use_reentrant=False, **named)

    return type(kind.__name__, (kind,), {"__call__": call})
