"""Encoder-decoder backbones: BART, T5 and their like.

Shapes: B rows, S source tokens, T target positions, N new tokens of a generation step, D width of a state.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import torch
from torch import Tensor

from bench.models.backbones.backbone import (
    Backbone,
    Batch,
    LinearHead,
    Step,
    decoder_inputs,
    output_embedding,
    refuse_longer,
    source_on_cpu,
)
from bench.models.backbones.cache_keyword import cache_keyword
from bench.models.backbones.masks import causal_mask, source_mask, takes_ready_masks
from bench.models.core.states import History, States, TokenSlice, last_slice


class EncoderDecoder(Backbone):
    """An encoder-decoder model: the memory is the encoder's states, labelled with the input tokens.

    Source: HistAlign section 4.3. Begin and end tokens of the source stay in the memory, as in the released code.
    """

    architecture: ClassVar[str] = "encoder-decoder"

    def __init__(self, model: Any, tokenizer: Any) -> None:
        super().__init__(model, tokenizer)
        if getattr(model.config, "decoder_start_token_id", None) is None:
            model.config.decoder_start_token_id = start_token(model)

    def states(self, batch: Batch) -> States:
        """Position t predicts labels[:, t]; every real source token is readable at every position."""
        labels, mask = batch["labels"], batch["attention_mask"]
        refuse_longer(self.max_positions, mask.shape[1], "sources")
        refuse_longer(self.max_positions, labels.shape[1], "targets")
        inputs = decoder_inputs(labels, self.model.config)
        hidden, memory = self.body(inputs, mask, source=batch["input_ids"])  # [B, T, D], [B, S, D]
        return States(
            hidden=self.logit_rule.scaled(hidden),
            targets=labels,
            memory=memory,
            memory_tokens=batch["input_ids"],
            readable=(mask > 0)[:, None, :].expand(-1, labels.shape[1], -1),
            labelled=torch.ones_like(mask, dtype=torch.bool),
            history=History(labels),
            cpu=source_on_cpu(batch),
        )

    def extend(self, step: Step) -> TokenSlice:
        """Every real source token is readable; the encoder has run once, before the first step."""
        assert step.source is not None
        assert step.mask is not None
        hidden, memory = self.body(step.ids, step.mask, encoded=step.encoded, cache=step.cache)
        return last_slice(
            self.logit_rule.scaled(hidden[:, -1]), memory, step.source, step.mask > 0, history=step.history
        )

    def body(
        self, ids: Tensor, mask: Tensor, *, source: Tensor | None = None, encoded: Any = None, cache: Any = None
    ) -> tuple[Tensor, Tensor]:
        """Run the model without its head.

        Args:
            ids: tokens the decoder reads, [B, T] or, on top of a cache, [B, N].
            mask: of the source, [B, S].
            source: its tokens, [B, S]; not needed with `encoded`.
            encoded: what the encoder has made of it.
            cache: of earlier steps, or None for a full pass.

        Returns:
            States of the decoder, [B, T, D] or [B, N, D], and of the encoder, [B, S, D].
        """
        masks = {"attention_mask": mask}
        if takes_ready_masks(self.model.config):
            masks = ready_masks(ids, mask, cache)
        body = self.model.base_model
        out = body(
            input_ids=source,
            decoder_input_ids=ids,
            encoder_outputs=encoded,
            use_cache=cache is not None,
            **{cache_keyword(body): cache},
            **masks,
        )
        return out.last_hidden_state, out.encoder_last_hidden_state

    def head(self, hidden: Tensor) -> Tensor:
        """Logits of the softmax head, with the fixed bias that BART and its like have."""
        logits = self.model.get_output_embeddings()(hidden)
        if self.fixed_bias is not None:
            logits = logits + self.fixed_bias.to(hidden.dtype)
        return self.logit_rule.capped(logits)

    def linear_head(self) -> LinearHead | None:
        """The head as one matrix product, with the fixed bias as its offset; None under a soft cap."""
        if self.logit_rule.soft_cap is not None:
            return None
        head = output_embedding(self.model)
        if head is None or self.fixed_bias is None:
            return head
        return replace(head, offset=self.fixed_bias.flatten())

    @property
    def fixed_bias(self) -> Tensor | None:
        """A bias [1, V] that is not trained, or None."""
        return getattr(self.model, "final_logits_bias", None)


class T5(EncoderDecoder):
    """T5 and its like, whose model with a head holds encoder and decoder itself, with no model without a head inside.

    Source: Raffel et al. 2020; states are scaled by width^-0.5 where input and output embeddings are one matrix.
    """

    def body(
        self, ids: Tensor, mask: Tensor, *, source: Tensor | None = None, encoded: Any = None, cache: Any = None
    ) -> tuple[Tensor, Tensor]:
        """Run encoder and decoder one after the other."""
        if encoded is None:
            encoded = self.model.get_encoder()(input_ids=source, attention_mask=mask)
        memory = encoded.last_hidden_state
        decoder = self.model.get_decoder()
        out = decoder(
            input_ids=ids,
            encoder_hidden_states=memory,
            encoder_attention_mask=mask,
            use_cache=cache is not None,
            **{cache_keyword(decoder): cache},
        )
        return out.last_hidden_state, memory


def ready_masks(ids: Tensor, mask: Tensor, cache: Any) -> dict[str, Tensor]:
    """Return the masks of encoder and decoder that the model takes as they are; arguments as for `body`."""
    new = ids.shape[1]
    steps = new
    if cache is not None:
        steps += cache.get_seq_length()
    return {
        "attention_mask": source_mask(mask),
        "decoder_attention_mask": causal_mask(ids.new_ones(1, steps), new),
    }


def start_token(model: Any) -> int | None:
    """Return the token that decoding starts from, where the configuration names none; None where nothing does.

    It is what the model's own shift of labels puts in front of a text that ends with the end token. mBART moves the
    last label to the front: its own tokenizer ends a text with the end token and then the language, and a checkpoint
    for one language names that as its start.
    """
    generation = getattr(model, "generation_config", None)
    stated: int | None = getattr(generation, "decoder_start_token_id", None)
    if stated is not None or not hasattr(model, "prepare_decoder_input_ids_from_labels"):
        return stated
    end = model.config.eos_token_id
    labels = torch.tensor([[end, end]], device=model.device)
    return int(model.prepare_decoder_input_ids_from_labels(labels=labels)[0, 0])
