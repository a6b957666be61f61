"""Families: a tiny random model of every text family of the installed `transformers`, made from its configuration.

    python -m tests.models.backbones.families       what the forward check says of each, a line a family
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn
from transformers import AutoModelForCausalLM, AutoModelForSeq2SeqLM
from transformers.models.auto.configuration_auto import CONFIG_MAPPING
from transformers.models.auto.modeling_auto import (
    MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
    MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES,
)

from bench.cells.generation import new_cache
from bench.models.backbones.backbone import Backbone
from bench.models.backbones.forward_check import cached_difference, forward_differences, why_inexact
from bench.models.backbones.hub import adapter_of

MAPPINGS = {
    "decoder-only": (MODEL_FOR_CAUSAL_LM_MAPPING_NAMES, AutoModelForCausalLM),
    "encoder-decoder": (MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES, AutoModelForSeq2SeqLM),
}

SIZES: dict[str, Any] = {
    "vocab_size": 96, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
    "hidden_size": 32, "d_model": 32, "n_embd": 32, "dim": 32, "embedding_size": 32, "word_embed_proj_dim": 32,
    "num_hidden_layers": 2, "num_layers": 2, "n_layers": 2, "n_layer": 2, "encoder_layers": 2, "decoder_layers": 2,
    "num_encoder_layers": 2, "num_decoder_layers": 2,
    "num_attention_heads": 4, "num_heads": 4, "n_heads": 4, "n_head": 4, "attention_heads": 4,
    "encoder_attention_heads": 4, "decoder_attention_heads": 4, "num_encoder_attention_heads": 4,
    "num_decoder_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8, "d_kv": 8, "rotary_dim": 4,
    "intermediate_size": 48, "ffn_dim": 48, "d_ff": 48, "encoder_ffn_dim": 48, "decoder_ffn_dim": 48, "n_inner": 48,
    "dff": 48, "moe_intermediate_size": 16, "shared_expert_intermediate_size": 16,
    "max_position_embeddings": 64, "n_positions": 64, "n_ctx": 64, "max_seq_len": 64, "sliding_window": 32,
    "num_experts": 4, "num_local_experts": 4, "n_routed_experts": 4, "num_experts_per_tok": 2, "n_group": 1,
    "topk_group": 1, "q_lora_rank": 16, "kv_lora_rank": 16, "qk_rope_head_dim": 8, "qk_nope_head_dim": 8,
    "v_head_dim": 8, "dropout": 0.0,
}  # fmt: skip
"""Small values of fields that many configurations share."""

MLA: dict[str, Any] = {"head_dim": None}
OWN: dict[str, dict[str, Any]] = {
    name: MLA
    for name in (
        "axk1", "axk2", "deepseek_v2", "deepseek_v3", "deepseek_v32", "glm4_moe_lite", "glm_moe_dsa", "minicpm3",
        "youtu",
    )
}  # fmt: skip
"""What a family needs besides; None leaves a shared field out."""

LARGEST = 4_000_000
"""Parameters of a model that is still tiny."""


def config_of(family: str, architecture: str) -> Any:
    """Return a small configuration of a family."""
    kind = CONFIG_MAPPING[family]
    fields = set(inspect.signature(kind.__init__).parameters)
    for base in kind.__mro__:
        fields.update(getattr(base, "__annotations__", {}))
    values = {name: value for name, value in SIZES.items() if name in fields} | OWN.get(family, {})
    if architecture == "encoder-decoder":
        values.setdefault("decoder_start_token_id", 2)
    return kind(**{name: value for name, value in values.items() if value is not None})


def tiny(family: str, architecture: str) -> Backbone:
    """Return a tiny backbone of a family with random weights that have opinions.

    Raises:
        ValueError: the small configuration is not small.
    """
    _, auto = MAPPINGS[architecture]
    with torch.device("meta"):
        size = sum(parameter.numel() for parameter in auto.from_config(config_of(family, architecture)).parameters())
    if size > LARGEST:
        raise ValueError(f"{size:,} parameters")
    torch.manual_seed(0)
    model = auto.from_config(config_of(family, architecture))
    generator = torch.Generator().manual_seed(0)
    for parameter in model.parameters():
        if parameter.ndim > 1:
            nn.init.normal_(parameter, std=0.15, generator=generator)
    return adapter_of(model)(model.eval(), None)

if __name__ == "__main__":
    import sys, signal, warnings
    from transformers.utils import logging
    warnings.simplefilter("ignore"); logging.set_verbosity_error()
    for arch, (names, _) in MAPPINGS.items():
        for n in names:
            if sys.argv[1:] and n not in sys.argv[1:]: continue
            try: b = tiny(n, arch)
            except Exception as e:
                import traceback
                print(arch[:3], n, "BUILD", type(e).__name__, " ".join(str(e).split())[:300], flush=True); continue
            why = why_inexact(b, new_cache)
            d = max(forward_differences(b).values()) if why is None else ""
            print(arch[:3], n, why or "exact", d, flush=True)
