"""Compiled: the body of a model through `torch.compile` while it is trained, for the setting `execution.compile`.

The heads stay as they are: they work in buffers of their own, and differentiate inside the forward pass.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from bench.errors import UsageError
from bench.models.backbones.backbone import Backbone
from bench.models.backbones.causal import Causal
from bench.models.backbones.encoder_decoder import T5, EncoderDecoder

__all__ = ["compiled_body"]


@contextmanager
def compiled_body(backbone: Backbone, is_compiled: bool = True) -> Iterator[None]:
    """Compile the body of a backbone for the time of a `with` block; steps of generation are not.

    Args:
        backbone: whose body runs over whole batches.
        is_compiled: whether to do it at all.

    Raises:
        UsageError: the backbone is none that can be compiled.
    """
    if not is_compiled:
        yield
        return
    body = _body_of(backbone)
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
