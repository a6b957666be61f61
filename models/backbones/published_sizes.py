"""The published sizes of pretrained models: their configurations, without a download and without weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["SIZES", "published_config"]


def gpt2() -> Any:
    """GPT-2 small: 12 layers of 768, 50,257 tokens, 124 M (Radford et al. 2019, Table 2)."""
    from transformers import GPT2Config

    return GPT2Config(vocab_size=50257, n_positions=1024, n_embd=768, n_layer=12, n_head=12)


def gpt2_large() -> Any:
    """GPT-2 large: 36 layers of 1,280, 50,257 tokens, 774 M (Radford et al. 2019, Table 2)."""
    from transformers import GPT2Config

    return GPT2Config(vocab_size=50257, n_positions=1024, n_embd=1280, n_layer=36, n_head=20)


def bart_large() -> Any:
    """BART large: 12 + 12 layers of 1,024, 50,265 tokens, 406 M (Lewis et al. 2020, section 4)."""
    from transformers import BartConfig

    return BartConfig(
        vocab_size=50265,
        max_position_embeddings=1024,
        d_model=1024,
        encoder_layers=12,
        decoder_layers=12,
        encoder_attention_heads=16,
        decoder_attention_heads=16,
        encoder_ffn_dim=4096,
        decoder_ffn_dim=4096,
    )


def llama2_7b() -> Any:
    """LLaMA-2 7B: 32 layers of 4,096, 32,000 tokens, embeddings not tied, 6.7 B (Touvron et al. 2023, Table 1)."""
    from transformers import LlamaConfig

    return LlamaConfig(
        vocab_size=32000,
        hidden_size=4096,
        intermediate_size=11008,
        num_hidden_layers=32,
        num_attention_heads=32,
        num_key_value_heads=32,
        max_position_embeddings=4096,
        rms_norm_eps=1e-5,
        tie_word_embeddings=False,
    )


SIZES: dict[str, Callable[[], Any]] = {
    "gpt2": gpt2,
    "gpt2-large": gpt2_large,
    "bart-large": bart_large,
    "llama2-7b": llama2_7b,
}
"""What makes the configuration of a pretrained backbone, by the backbone's name."""


def published_config(name: str) -> Any:
    """Return the configuration of a pretrained backbone.

    Args:
        name: one of `SIZES`.

    >>> published_config("gpt2").n_layer
    12
    """
    return SIZES[name]()
