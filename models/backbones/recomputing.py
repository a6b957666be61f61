"""Recomputing: of each layer only its input is kept for the backward pass, and all else is computed again there.

Losses and gradients are the same in every bit: what is drawn, as for dropout, is drawn again, with each part of a layer
in training or evaluation mode as it was. The library's own switch (`gradient_checkpointing_enable`) does nothing on a
model in evaluation mode, in which some losses score texts.

Source: Chen et al. 2016, "Training Deep Nets with Sublinear Memory Cost"; `torch.utils.checkpoint`.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
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


@contextmanager
def in_modes(modes: Sequence[tuple[nn.Module, bool]]) -> Iterator[None]:
    """Put modules in training or evaluation mode, each in its own, until the end of the block."""
    before = [(part, part.training) for part, _ in modes]
    try:
        for part, training in modes:
            part.training = training
        yield
    finally:
        for part, training in before:
            part.training = training


def recomputing(kind: type[nn.Module]) -> type[nn.Module]:
    """Return a class of layers that keep their inputs alone; its name stays, by which the library knows them."""

    def call(self: nn.Module, *given: Any, **named: Any) -> Any:
        run = partial(kind.__call__, self)
        if not torch.is_grad_enabled():
            return run(*given, **named)
        modes = [(part, part.training) for part in self.modules()]  # a loss that scores texts changes them back

        def contexts() -> tuple[Any, Any]:  # of the forward pass and of the second one
            return nullcontext(), in_modes(modes)

        return checkpoint(run, *given, use_reentrant=False, context_fn=contexts, **named)

    return type(kind.__name__, (kind,), {"__call__": call})
