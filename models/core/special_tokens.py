"""Special tokens: their ids, as a backbone's configuration states them."""

from __future__ import annotations

from typing import Literal

from bench.models.backbones.backbone import Backbone


def special_tokens(backbone: Backbone, kind: Literal["bos", "eos", "pad"]) -> tuple[int, ...]:
    """Return the ids of the start, end or padding tokens.

    Args:
        backbone: any; a model without a configuration has no special tokens.
        kind: start (`bos`), end (`eos`) or padding (`pad`).

    Returns:
        No id, one id, or several: some models have more than one end token.
    """
    ids = getattr(getattr(backbone.model, "config", None), f"{kind}_token_id", None)
    if ids is None:
        return ()
    if isinstance(ids, list | tuple):
        return tuple(int(token) for token in ids)
    return (int(ids),)
