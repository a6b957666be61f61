"""Greedy: the most probable token, one after the other, in a loop that hardly waits for the device.

The same texts as the library's loop. That one asks after every token whether all texts have ended, and a GPU that is
asked has to finish its work first. Here tokens go into a tensor that is made before the first, and on a GPU the end of
the texts is looked at every 16 tokens; what was written behind an end is cut off by the caller.

Shapes: B rows, P tokens of the prompt (1, the start token, for encoder-decoder), N tokens to be written.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import torch
from torch import Tensor

from bench.decodings.core.decoding import Decoding
from bench.generation.continuation import end_tokens, history_of, start_token
from bench.generation.reference_reader import new_caches
from bench.models.backbones.backbone import Batch, Step
from bench.models.backbones.causal import positions
from bench.models.core.objective import Objective
from bench.models.core.states import TokenSlice

__all__ = ["greedy"]

LOOK = {"cpu": 1}
"""Tokens between two looks at whether all texts have ended, by kind of device; 16 where a look has to wait for it."""


def greedy(
    objective: Objective, decoding: Decoding, batch: Batch, limit: int, reference: Objective | None = None
) -> Tensor:
    """Continue each row of a batch with its most probable tokens.

    Args:
        objective: in evaluation mode.
        decoding: what the objective makes its distribution for; without processors.
        batch: as `bench.generation.generation.generate` takes it.
        limit: N.
        reference: a frozen model that reads along, as `tokens.reference`.

    Returns:
        [B, n] new tokens, n at most N; behind a row's first end token they mean nothing.
    """
    texts = TextBuffer(objective, batch, limit, reference)
    device = texts.ids.device
    ends, looks_each = end_tokens(objective.backbone.model.config), LOOK.get(device.type, 16)
    ended = torch.zeros(len(texts.ids), dtype=torch.bool, device=device)
    for written in range(1, limit + 1):
        scores = objective.decode_log_probs(texts.read(), decoding)  # [B, V]
        token = scores.float().argmax(1)
        texts.write(token)
        for end in ends:
            ended |= token == end
        if written % looks_each == 0 and bool(ended.all()):
            break
    return texts.new


class TextBuffer:
    """The texts of a batch in a tensor that has room for all that will be written.

    Args:
        objective: method and backbone.
        batch: as `generate` takes it.
        limit: N.
        reference: a frozen model that reads along, or None.
    """

    def __init__(self, objective: Objective, batch: Batch, limit: int, reference: Objective | None) -> None:
        self.backbone, config = objective.backbone, objective.backbone.model.config
        self.cache, self.reader = new_caches(config, reference)
        self.reads_source = bool(config.is_encoder_decoder)
        prompt, mask = batch["input_ids"], batch["attention_mask"]
        if self.reads_source:
            encoder = self.backbone.model.get_encoder()
            encoded = encoder(input_ids=prompt, attention_mask=mask, return_dict=True)
            self.given = Step(
                ids=prompt,
                cache=self.cache,
                mask=mask,
                source=prompt,
                encoded=encoded,
                exemplar=batch.get("exemplar_ids"),
                exemplar_mask=batch.get("exemplar_mask"),
            )
            prompt = prompt.new_full((len(prompt), 1), start_token(config))
        else:
            self.given = Step(ids=prompt, cache=self.cache, mask=mask)
            mask = torch.cat([mask, mask.new_ones(len(mask), limit)], dim=1)
            self.positions = positions(mask)  # [B, P + N]
        self.mask = mask  # [B, P + N]; of encoder-decoders that of the source
        self.start = self.length = prompt.shape[1]  # columns of the prompt, and of what is written so far
        self.n_read = 0
        self.ids = torch.cat([prompt, prompt.new_zeros(len(prompt), limit)], dim=1)  # [B, P + N]

    @property
    def new(self) -> Tensor:
        """What was written, [B, n]."""
        return self.ids[:, self.start : self.length]

    def write(self, token: Tensor) -> None:
        """Put a token behind each text, [B]."""
        self.ids[:, self.length] = token
        self.length += 1

    def read(self) -> TokenSlice:
        """Run the model over what it has not read; return the last position of each text."""
        so_far, mask, places = self.ids[:, : self.length], self.mask, None
        if not self.reads_source:
            mask, places = self.mask[:, : self.length], self.positions[:, self.n_read : self.length]
        step = replace(
            self.given,
            ids=so_far[:, self.n_read :],
            mask=mask,
            positions=places,
            history=history_of(so_far, mask, self.start, reads_source=self.reads_source),
        )
        self.n_read = self.length
        tokens = self.backbone.extend(step)
        if self.reader is None:
            return tokens
        return replace(tokens, reference_slice=partial(self.reader.rows, step, so_far))
