"""Compiled: the body of a model through `torch.compile` while it is trained, for the setting `execution.compile`.

The heads stay as they are: they work in buffers of their own, and differentiate inside the forward pass.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from bench.errors import UsageError
from bench.models.backbones.backbone import Backbone
from bench.models.backbones.causal import Causal
from bench.models.backbones.encoder_decoder import T5, EncoderDecoder

__all__ = ["compiled_body", "compiler"]

COMPILERS = ("c++", "g++", "clang++")
"""What makes machine code for a CPU; a GPU needs none."""


@contextmanager
def compiled_body(backbone: Backbone, device: torch.device, is_compiled: bool = True) -> Iterator[None]:
    """Compile the body of a backbone for the time of a `with` block; steps of generation are not.

    Args:
        backbone: whose body runs over whole batches.
        device: that it will run on.
        is_compiled: whether to do it at all.

    Raises:
        UsageError: the backbone is none that can be compiled, or there is no compiler for the device.
    """
    if not is_compiled:
        yield
        return
    body = _body_of(backbone)
    if device.type == "cpu" and compiler() is None:
        raise UsageError(
            f"execution.compile on a CPU needs a C++ compiler; there is none of {', '.join(COMPILERS)}: install one, "
            f"name it in CXX, or leave it out"
        )
    plain = body.forward
    compiled = torch.compile(plain, dynamic=True)  # lengths differ from batch to batch

    def forward(*inputs: Any, **named: Any) -> Any:
        if named.get("use_cache"):
            return plain(*inputs, **named)
        return compiled(*inputs, **named)

    body.forward = forward
    try:
        yield
    finally:
        del body.forward  # that of its class is behind it


def compiler() -> str | None:
    """Return the C++ compiler that there is, or None."""
    names: tuple[str, ...] = COMPILERS
    if named := os.environ.get("CXX"):
        names = (named,)
    found = (shutil.which(name) for name in names)
    return next((path for path in found if path), None)


def _body_of(backbone: Backbone) -> Any:
    """Return the model without its head.

    Raises:
        UsageError: the backbone is recurrent, or of the user's own, or has encoder and decoder apart.
    """
    if isinstance(backbone, Causal):
        return backbone.body
    if isinstance(backbone, EncoderDecoder) and not isinstance(backbone, T5):
        return backbone.model.base_model
    raise UsageError(
        f"execution.compile takes decoder-only and encoder-decoder models of transformers, but not T5; the backbone "
        f"is a {type(backbone).__name__}: leave it out"
    )
