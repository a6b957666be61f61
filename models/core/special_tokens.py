"""Special tokens: their ids, as a backbone's configuration states them."""

from __future__ import annotations

from typing import Literal

from bench.models.backbones.backbone import Backbone


def special_tokens(backbone: Backbone, kind: Literal["bos", "eos", "pad"]) -> tuple[int, ...]:
    """Return the ids of the start, end or padding tokens; a model may have none, and several ends.

    Args:
        backbone: any; one without a configuration has no special tokens.
        kind: which.
    """
    found = getattr(getattr(backbone.model, "config", None), f"{kind}_token_id", None)
    if found is None:
        return ()
    return tuple(int(token) for token in found) if isinstance(found, list | tuple) else (int(found),)
