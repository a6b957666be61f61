"""Encoder-decoder backbones: BART, T5 and their like.

Shapes: B rows, S source tokens, T target positions, N new tokens of a generation step, D width of a state.
"""

from typing import Any, ClassVar

import torch
from torch import Tensor

from bench.models.backbones.backbone import Backbone, Batch, Step, decoder_inputs, states_of_source
from bench.models.backbones.library_inputs import cache_keyword, causal_mask, takes_ready_masks
from bench.models.core.states import States, TokenSlice, last_slice


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
        self.refuse_longer(mask.shape[1], "sources")
        self.refuse_longer(labels.shape[1], "targets")
        inputs = decoder_inputs(labels, self.model.config)
        hidden, memory = self.body(inputs, mask, source=batch["input_ids"])  # [B, T, D], [B, S, D]
        return states_of_source(batch, self.logit_rule.scaled(hidden), memory)

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
        decoder = self.model.get_decoder()
        attention, given = mask, {cache_keyword(decoder): cache}
        if takes_ready_masks(self.model.config):
            steps = ids.shape[1] + (0 if cache is None else cache.get_seq_length())
            attention = (mask > 0)[:, None, None, :]
            given["attention_mask"] = causal_mask(ids.new_ones(1, steps), ids.shape[1])
        if encoded is None:
            encoded = self.model.get_encoder()(input_ids=source, attention_mask=attention)
        out = decoder(
            input_ids=ids,
            encoder_hidden_states=encoded.last_hidden_state,
            encoder_attention_mask=attention,
            use_cache=cache is not None,
            **given,
        )
        return out.last_hidden_state, encoded.last_hidden_state


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
