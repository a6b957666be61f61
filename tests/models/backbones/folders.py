"""Texts of a task, and folders with tiny random models and their tokenizers, as a publisher would save them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from transformers import (
    BartConfig,
    BartForConditionalGeneration,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    MambaConfig,
    MambaForCausalLM,
)

from bench.tasks.encode.tokenizers import train_bpe, word_tokenizer

TEXTS = ("I went to Athens and Iraq before, and I love one of the places more, which is", "the cat sat on the mat")


class Texts:
    """What a backbone needs of a task."""

    def __init__(self, *markers: str, lines: Sequence[str] = TEXTS) -> None:
        self.markers, self.lines = markers, list(lines)

    def tokenizer(self, vocabulary: int) -> Any:
        return train_bpe(self.lines * 4, vocabulary)

    def word_tokenizer(self, vocabulary: int) -> Any:
        return word_tokenizer(self.lines, vocabulary)

    def reference_embeddings(self, tokenizer: Any, width: int, seed: int) -> Tensor | None:
        return None


def save_model(kind: str, folder: Path, texts: tuple[str, ...] = TEXTS, dtype: torch.dtype = torch.float32) -> Path:
    """Save a model of a kind: `gpt2`, `llama`, `mamba` or `bart`."""
    tokenizer = train_bpe(list(texts) * 4, 300)
    ids = {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0, "vocab_size": len(tokenizer)}
    torch.manual_seed(0)
    model(kind, ids).to(dtype).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def model(kind: str, ids: dict[str, int]) -> Any:
    """A model of two layers and a width of 16."""
    if kind == "gpt2":
        return GPT2LMHeadModel(GPT2Config(n_positions=128, n_embd=16, n_layer=2, n_head=2, **ids))
    if kind == "llama":
        return LlamaForCausalLM(
            LlamaConfig(
                hidden_size=16, intermediate_size=32, num_hidden_layers=2, num_attention_heads=2,
                max_position_embeddings=128, tie_word_embeddings=False, **ids,
            )
        )  # fmt: skip
    if kind == "mamba":
        return MambaForCausalLM(MambaConfig(hidden_size=16, num_hidden_layers=1, initializer_range=0.5, **ids))
    return BartForConditionalGeneration(
        BartConfig(
            d_model=16, encoder_layers=2, decoder_layers=2, encoder_attention_heads=2, decoder_attention_heads=2,
            encoder_ffn_dim=32, decoder_ffn_dim=32, max_position_embeddings=128, decoder_start_token_id=2,
            forced_eos_token_id=None, **ids,
        )
    )  # fmt: skip
