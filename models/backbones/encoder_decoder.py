"""Encoder-decoder backbones: BART and its like.

Shapes: B rows, S source tokens, T target positions, D width of a state.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import torch
from torch import Tensor

from bench.models.backbones.backbone import (
    Backbone,
    Batch,
    LinearHead,
    Step,
    decoder_inputs,
    output_embedding,
    source_on_host,
)
from bench.models.backbones.masks import causal_mask, source_mask, takes_ready_masks
from bench.models.core.states import Rows, States, last_rows


class EncoderDecoder(Backbone):
    """An encoder-decoder model: the memory is the encoder's states, labelled with the input tokens.

    Source: HistAlign section 4.3. Begin and end tokens of the source stay in the memory, as in the released code.
    """

    architecture: ClassVar[str] = "encoder-decoder"

    def states(self, batch: Batch) -> States:
        """Position t predicts labels[:, t]; every real source token is readable at every position."""
        labels, mask = batch["labels"], batch["attention_mask"]
        masks = {"attention_mask": mask}
        if takes_ready_masks(self.model.config):
            masks = {
                "attention_mask": source_mask(mask),
                "decoder_attention_mask": causal_mask(torch.ones_like(labels[:1])),
            }
        out = self.model.base_model(
            input_ids=batch["input_ids"],
            decoder_input_ids=decoder_inputs(labels, self.model.config),
            use_cache=False,
            **masks,
        )
        memory = out.encoder_last_hidden_state  # [B, S, D]
        return States(
            hidden=out.last_hidden_state,
            targets=labels,
            memory=memory,
            memory_tokens=batch["input_ids"],
            readable=(mask > 0)[:, None, :].expand(-1, labels.shape[1], -1),
            labelled=torch.ones_like(mask, dtype=torch.bool),
            host=source_on_host(batch),
        )

    def extend(self, step: Step) -> Rows:
        """Every real source token is readable; the encoder has run once, before the first step."""
        assert step.source is not None
        assert step.mask is not None
        masks = {"attention_mask": step.mask}
        if takes_ready_masks(self.model.config):
            new = step.ids.shape[1]
            masks = {
                "attention_mask": source_mask(step.mask),
                "decoder_attention_mask": causal_mask(step.ids.new_ones(1, step.cache.get_seq_length() + new), new),
            }
        hidden = self.model.base_model(
            decoder_input_ids=step.ids,
            encoder_outputs=step.encoded,
            past_key_values=step.cache,
            use_cache=True,
            **masks,
        ).last_hidden_state
        return last_rows(hidden[:, -1], step.encoded.last_hidden_state, step.source, step.mask > 0)

    def head(self, hidden: Tensor) -> Tensor:
        """Logits of the softmax head with BART's fixed bias."""
        return super().head(hidden) + self.model.final_logits_bias.to(hidden.dtype)

    def linear_head(self) -> LinearHead | None:
        """The head as one matrix product, with BART's fixed bias as its offset."""
        head = output_embedding(self.model)
        if head is None:
            return None
        return replace(head, offset=self.model.final_logits_bias.flatten())
