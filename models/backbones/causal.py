"""Decoder-only backbones: GPT-2, LLaMA and their like.

Shapes: B rows, T tokens of a row (so T - 1 positions predict a token), D width of a state.
"""

from typing import Any, ClassVar, TypeVar

import numpy as np
import torch
from torch import Tensor

from bench.models.backbones.backbone import Backbone, Batch, Step
from bench.models.backbones.library_inputs import cache_keyword, causal_mask, takes_ready_masks
from bench.models.core.cpu_copy import Array, CpuTokens, kept_arrays
from bench.models.core.states import IGNORED, History, States, TokenSlice, last_slice

Mask = TypeVar("Mask", Tensor, Array)


class Causal(Backbone):
    """A decoder-only model: the memory is the row's own earlier states, labelled with the tokens that followed."""

    architecture: ClassVar[str] = "decoder-only"

    @property
    def body(self) -> Any:
        """The model without its head."""
        if self.model.base_model is not self.model:
            return self.model.base_model
        return self.model.model  # Llama 4 of text has another name for its body than `base_model_prefix`

    def hidden(self, batch: Batch) -> Tensor:
        """State behind every token, [B, T, D]."""
        ids, mask = batch["input_ids"], batch["attention_mask"]
        self.refuse_longer(ids.shape[1], "rows")
        attention = mask
        if takes_ready_masks(self.model.config):
            attention = causal_mask(mask)
        hidden = self.body(
            input_ids=ids, attention_mask=attention, position_ids=positions(mask), use_cache=False
        ).last_hidden_state
        return self.logit_rule.scaled(hidden)

    def states(self, batch: Batch) -> States:
        """Position t predicts token t+1; entry m holds state m and token m+1, readable strictly later."""
        return self.states_of(self.hidden(batch), batch)

    def states_of(self, hidden: Tensor, batch: Batch) -> States:
        """Return the states of a batch from the output of `hidden`, [B, T, D]."""
        ids, mask = batch["input_ids"], batch["attention_mask"]
        targets = batch["labels"][:, 1:]
        cpu = None
        if arrays := kept_arrays(batch, "labels", "input_ids", "attention_mask"):
            labels, known_ids, known_mask = arrays
            cpu = CpuTokens(targets, labels[:, 1:], lambda: known_ids[:, 1:], lambda: strictly_past_array(known_mask))
        return States(
            hidden=hidden[:, :-1],
            targets=targets,
            memory=hidden[:, :-1],
            memory_tokens=ids[:, 1:],
            readable=strictly_past(mask),
            labelled=targets != IGNORED,
            history=History(ids, ahead=1, mask=mask, labels=batch["labels"]),
            cpu=cpu,
        )

    def extend(self, step: Step) -> TokenSlice:
        """Entry m holds state m and token m+1: the last state reads all entries but itself."""
        attention = step.mask
        if attention is not None and takes_ready_masks(self.model.config):
            attention = causal_mask(attention, step.ids.shape[1])
        body = self.body
        hidden = body(
            input_ids=step.ids,
            attention_mask=attention,
            position_ids=step.positions,
            use_cache=True,
            **{cache_keyword(body): step.cache},
        ).last_hidden_state
        hidden = self.logit_rule.scaled(hidden)
        states, tokens = step.cache.append("hidden", hidden), step.cache.append("tokens", step.ids)  # [B, T, D], [B, T]
        mask = step.mask
        if mask is None:
            mask = torch.ones_like(tokens)
        return last_slice(hidden[:, -1], states[:, :-1], tokens[:, 1:], both_real(mask), history=step.history)


def positions(mask: Tensor) -> Tensor:
    """Position of each token counted from the first real one, 0 on padding, [B, T]; generation counts the same."""
    return (mask.long().cumsum(-1) - 1).clamp_min(0)


def strictly_past(mask: Tensor) -> Tensor:
    """Which entries each position may read, [B, T-1, T-1]: earlier ones whose state and token are both real."""
    real = both_real(mask)
    steps = real.shape[1]
    past = torch.ones(steps, steps, dtype=torch.bool, device=mask.device).tril(-1)
    return past[None] & real[:, None, :]


def strictly_past_array(mask: Array) -> Array:
    """`strictly_past` of an array."""
    real = both_real(mask)
    past = np.tri(real.shape[1], k=-1, dtype=bool)
    return past & real[:, None, :]


def both_real(mask: Mask) -> Mask:
    """Which entries have a real state and a real token after it, [B, T-1]."""
    return (mask[:, :-1] > 0) & (mask[:, 1:] > 0)
