"""Encoder-decoder backbones: BART and its like."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import torch
from torch import Tensor

from bench.models.backbones.backbone import Backbone, Batch, LinearHead, Step, output_embedding
from bench.models.core.states import IGNORED, Rows, States, last_rows


class EncoderDecoder(Backbone):
    """An encoder-decoder model: the memory is the encoder's states, labelled with the input tokens.

    Source: HistAlign section 4.3. Begin and end tokens of the source stay in the memory, as in the released code.
    """

    architecture: ClassVar[str] = "encoder-decoder"

    def states(self, batch: Batch) -> States:
        """Position t predicts labels[:, t]; every real source token is readable at every position."""
        labels, mask = batch["labels"], batch["attention_mask"]
        out = self.model.base_model(
            input_ids=batch["input_ids"],
            attention_mask=mask,
            decoder_input_ids=self.shifted(labels),
            use_cache=False,
        )
        memory = out.encoder_last_hidden_state
        return States(
            hidden=out.last_hidden_state,
            targets=labels,
            memory=memory,
            memory_tokens=batch["input_ids"],
            readable=(mask > 0)[:, None, :].expand(-1, labels.shape[1], -1),
            labelled=torch.ones_like(mask, dtype=torch.bool),
        )

    def extend(self, step: Step) -> Rows:
        """Every real source token is readable; the encoder has run once, before the first step."""
        assert step.source is not None
        assert step.mask is not None
        hidden = self.model.base_model(
            attention_mask=step.mask,
            decoder_input_ids=step.ids,
            encoder_outputs=step.encoded,
            past_key_values=step.cache,
            use_cache=True,
        ).last_hidden_state
        return last_rows(hidden[:, -1], step.encoded.last_hidden_state, step.source, step.mask > 0)

    def shifted(self, labels: Tensor) -> Tensor:
        """Decoder inputs: the target moved right behind the start token, padding in place of ignored labels."""
        config = self.model.config
        start = labels.new_full((labels.shape[0], 1), config.decoder_start_token_id)
        return torch.cat([start, labels[:, :-1].masked_fill(labels[:, :-1] == IGNORED, config.pad_token_id)], dim=1)

    def head(self, hidden: Tensor) -> Tensor:
        """Logits of the softmax head with BART's fixed bias."""
        return super().head(hidden) + self.model.final_logits_bias.to(hidden.dtype)

    def linear_head(self) -> LinearHead | None:
        """The same with BART's fixed bias."""
        found = output_embedding(self.model)
        return found and replace(found, offset=self.model.final_logits_bias.flatten())
