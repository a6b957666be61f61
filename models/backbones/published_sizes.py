"""The published sizes of pretrained models: their configurations, without a download and without weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["PUBLISHED", "published_config"]

SMOLLM2_135M: Mapping[str, Any] = {
    "vocab_size": 49152,
    "hidden_size": 576,
    "intermediate_size": 1536,
    "num_hidden_layers": 30,
    "num_attention_heads": 9,
    "num_key_value_heads": 3,
    "max_position_embeddings": 8192,
    "tie_word_embeddings": True,
}

PUBLISHED: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "openai-community/gpt2": ("GPT2Config", {}),
    "openai-community/gpt2-medium": ("GPT2Config", {"n_embd": 1024, "n_layer": 24, "n_head": 16}),
    "openai-community/gpt2-large": ("GPT2Config", {"n_embd": 1280, "n_layer": 36, "n_head": 20}),
    "openai-community/gpt2-xl": ("GPT2Config", {"n_embd": 1600, "n_layer": 48, "n_head": 25}),
    "facebook/bart-base": (
        "BartConfig",
        {
            "d_model": 768,
            "encoder_layers": 6,
            "decoder_layers": 6,
            "encoder_attention_heads": 12,
            "decoder_attention_heads": 12,
            "encoder_ffn_dim": 3072,
            "decoder_ffn_dim": 3072,
        },  # fmt: skip
    ),
    "facebook/bart-large": ("BartConfig", {}),
    "meta-llama/Llama-2-7b-hf": ("LlamaConfig", {"max_position_embeddings": 4096}),
    "HuggingFaceTB/SmolLM2-135M": ("LlamaConfig", SMOLLM2_135M),
    "smollm2-135m-instruct-q4": ("LlamaConfig", SMOLLM2_135M),
}
"""By hub id or name of a converted model: the configuration class of `transformers` and its settings.

The defaults of `GPT2Config`, `BartConfig` and `LlamaConfig` are GPT-2 small (124 M; Radford et al. 2019), BART large
(406 M; Lewis et al. 2020) and LLaMA 7B, whose sizes LLaMA-2 7B has too (6.7 B; Touvron et al. 2023).
"""


def published_config(hub: str) -> Any:
    """Return the configuration of a pretrained model.

    Args:
        hub: an id of `PUBLISHED`.

    >>> published_config("openai-community/gpt2-large").n_layer
    36
    """
    import transformers

    kind, sizes = PUBLISHED[hub]
    return getattr(transformers, kind)(**sizes)
