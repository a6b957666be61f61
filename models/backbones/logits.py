"""From states to logits: the scale and the soft cap that a model family has behind its layers.

    logits = cap(scale * hidden @ weight.T + bias)        cap(z) = c * tanh(z / c), or z itself

The scale goes on the hidden state, so a head stays one matrix product. The cap is a function of the logits.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

MULTIPLIED_BY = ("logit_scale", "lm_head_multiplier")
"""Fields of a configuration that logits are multiplied by: Cohere; Falcon-H1."""

DIVIDED_BY = ("logits_scaling", "logits_mup_width_multiplier")
"""Fields that logits are divided by: Granite, MiniCPM3; Inkling."""

CAPPED_AT = ("final_logit_softcapping", "logits_soft_cap", "output_logit_soft_cap")
"""Fields of the cap: Gemma and NanoChat; RecurrentGemma; xLSTM."""

MULTIPLIES_BY_LOGITS_SCALING = ("hyperclovax",)
"""Families that multiply by the field that others divide by."""

SCALED_WHEN_TIED = ("umt5", "switch_transformers")
"""Relatives of T5 that scale by width^-0.5 when their embeddings are tied; T5 and LongT5 have a field for it."""


@dataclass(frozen=True)
class LogitRule:
    """What a family does between its last state and its logits besides the output embedding.

    Args:
        scale: of the hidden state.
        soft_cap: c of c * tanh(logits / c), or None.
    """

    scale: float = 1.0
    soft_cap: float | None = None

    def scaled(self, hidden: Tensor) -> Tensor:
        """Hidden states as they meet the output embedding, [..., D]."""
        if self.scale == 1.0:
            return hidden
        return hidden * self.scale

    def capped(self, logits: Tensor) -> Tensor:
        """Logits under the cap, [..., V]."""
        if self.soft_cap is None:
            return logits
        return self.soft_cap * torch.tanh(logits / self.soft_cap)


def logit_rule(config: Any) -> LogitRule:
    """Return the rule that a configuration of `transformers` states; no scale and no cap where it states none.

    Args:
        config: of a model; of a composite one, its decoder's part counts.
    """
    if hasattr(config, "get_text_config"):
        config = config.get_text_config(decoder=True)
    caps = [_number(config, field) for field in CAPPED_AT]
    return LogitRule(_scale(config), next((cap for cap in caps if cap is not None), None))


def _scale(config: Any) -> float:
    """The product of all scales that a configuration states."""
    scale = 1.0
    family = getattr(config, "model_type", "")
    for field in MULTIPLIED_BY:
        scale *= _number(config, field) or 1.0
    for field in DIVIDED_BY:
        number = _number(config, field) or 1.0
        if family in MULTIPLIES_BY_LOGITS_SCALING:
            scale *= number
        else:
            scale /= number
    scales_by_width = getattr(config, "scale_decoder_outputs", False)
    if family in SCALED_WHEN_TIED:
        scales_by_width = config.tie_word_embeddings
    if scales_by_width:
        scale *= config.d_model**-0.5
    return scale


def _number(config: Any, field: str) -> float | None:
    """A field as a number; None where it is missing, empty or a word."""
    value = getattr(config, field, None)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    return None
