"""Tiny random models with peaked distributions, and batches for them."""

from typing import Any

import torch
from torch import Tensor, nn
from transformers import (
    BartConfig,
    BartForConditionalGeneration,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
)

from bench.models.backbones.backbone import Backbone, Batch
from bench.models.backbones.causal import Causal
from bench.models.backbones.encoder_decoder import EncoderDecoder
from bench.models.core.objective import Objective
from bench.models.core.states import TokenSlice
from bench.models.functional.cache import cache_log_probs

VOCABULARY, WIDTH = 97, 32
KINDS = ["gpt2", "llama", "bart"]
END = 2


class CacheLM(Objective):
    """Eq. 3 of HistAlign: it shows whether the memory is right. Similarities are sharpened, so that they matter."""

    name = "cache-lm"
    paper = "for tests"

    def log_probs(self, rows: TokenSlice) -> Tensor:
        return cache_log_probs(self.logits(rows), 3 * rows.similarity(), rows.memory_tokens, rows.readable)


def backbone(kind: str, seed: int = 0, *, pad: int = 0, dtype: torch.dtype = torch.float32, **options: Any) -> Backbone:
    """A two-layer model whose weights are large enough for its distributions to have a clear winner."""
    ids = {"bos_token_id": 1, "eos_token_id": END, "pad_token_id": pad, "vocab_size": VOCABULARY}
    if kind == "gpt2":
        shape = {"n_positions": 64, "n_embd": WIDTH, "n_layer": 2, "n_head": 4}
        model: Any = GPT2LMHeadModel(GPT2Config(**{**ids, **shape, **options}))
    elif kind == "llama":
        shape = {"hidden_size": WIDTH, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
                 "num_key_value_heads": 2, "max_position_embeddings": 64}  # fmt: skip
        model = LlamaForCausalLM(LlamaConfig(**{**ids, **shape, **options}))
    else:
        shape = {"d_model": WIDTH, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4,
                 "decoder_attention_heads": 4, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64,
                 "max_position_embeddings": 64, "decoder_start_token_id": 1, "forced_eos_token_id": None}  # fmt: skip
        model = BartForConditionalGeneration(BartConfig(**{**ids, **shape, **options}))
    generator = torch.Generator().manual_seed(seed)
    for parameter in model.parameters():
        if parameter.ndim > 1:
            nn.init.normal_(parameter, std=0.35, generator=generator)
    return (EncoderDecoder if kind == "bart" else Causal)(model.to(dtype), None)


def texts(count: int, seed: int = 0, longest: int = 11) -> list[list[int]]:
    """Prompts or sources of uneven length, with tokens that repeat."""
    generator = torch.Generator().manual_seed(seed)
    lengths = torch.randint(3, longest + 1, (count,), generator=generator).tolist()
    return [torch.randint(5, 40, (length,), generator=generator).tolist() for length in lengths]


def collate(model: Backbone, given: list[list[int]]) -> Batch:
    """Pad on the left for decoder-only backbones, on the right for sources."""
    longest, pad = max(map(len, given)), model.model.config.pad_token_id
    left = model.architecture == "decoder-only"
    rows = [[pad] * (longest - len(t)) + t if left else t + [pad] * (longest - len(t)) for t in given]
    real = [[0] * (longest - len(t)) + [1] * len(t) if left else [1] * len(t) + [0] * (longest - len(t)) for t in given]
    return {"input_ids": torch.tensor(rows), "attention_mask": torch.tensor(real)}
