"""Greedy: the most probable token, one after the other, in a loop that hardly waits for the device.

The same texts as the library's loop. That one asks after every token whether all texts have ended, and a GPU that is
asked has to finish its work first. Here tokens go into a tensor that is made before the first, and on a GPU the end of
the texts is looked at every 16 tokens; what was written behind an end is cut off by the caller.

Shapes: B rows, P tokens of the prompt, N tokens to be written.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from bench.config.decoding import Decoding
from bench.models.backbones.backbone import Batch, Step
from bench.models.backbones.causal import positions
from bench.models.core.objective import Objective

__all__ = ["greedy"]

LOOK = {"cpu": 1}
"""Tokens between two looks at whether all texts have ended, by kind of device; 16 where a look has to wait for it."""


def greedy(
    objective: Objective, batch: Batch, decoding: Decoding, cache: Any, limit: int, ends: Sequence[int]
) -> Tensor:
    """Continue each row of a batch with its most probable tokens.

    Args:
        objective: in evaluation mode.
        batch: as `bench.cells.generation.generate` takes it.
        decoding: what the objective makes its distribution for.
        cache: an empty one of `bench.cells.generation`.
        limit: N.
        ends: end tokens.

    Returns:
        [B, n] new tokens, n at most N; behind a row's first end token they mean nothing.
    """
    steps = _prompted(objective, batch, cache, limit)
    device = batch["input_ids"].device
    looks_each = LOOK.get(device.type, 16)
    texts = torch.zeros(len(batch["input_ids"]), limit, dtype=torch.long, device=device)
    ended = torch.zeros(len(texts), dtype=torch.bool, device=device)
    step = next(steps)
    for written in range(1, limit + 1):
        scores = objective.decode_log_probs(objective.backbone.extend(step), decoding)  # [B, V]
        token = scores.float().argmax(1)
        texts[:, written - 1] = token
        for end in ends:
            ended |= token == end
        if written == limit or (written % looks_each == 0 and bool(ended.all())):
            return texts[:, :written]
        step = replace(next(steps), ids=token[:, None])
    return texts


def _prompted(objective: Objective, batch: Batch, cache: Any, limit: int) -> Iterator[Step]:
    """Yield what the backbone is handed in each step but for the new tokens: first the prompt, or the start token."""
    ids, mask = batch["input_ids"], batch["attention_mask"]
    if objective.backbone.architecture == "encoder-decoder":
        model = objective.backbone.model
        encoded = model.get_encoder()(input_ids=ids, attention_mask=mask, return_dict=True)
        start = ids.new_full((len(ids), 1), model.config.decoder_start_token_id)
        exemplar, exemplar_mask = batch.get("exemplar_ids"), batch.get("exemplar_mask")
        while True:
            yield Step(start, cache, mask, None, ids, encoded, exemplar, exemplar_mask)
    prompt, width = positions(mask), ids.shape[1]  # [B, P]
    whole_mask = torch.cat([mask, mask.new_ones(len(mask), limit)], dim=1)
    yield Step(ids, cache, mask, prompt)
    for written in range(1, limit + 1):
        yield Step(ids, cache, whole_mask[:, : width + written], prompt[:, -1:] + written)
