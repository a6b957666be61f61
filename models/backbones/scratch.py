"""Scratch: the architectures of pretrained models at their published sizes, with random weights.

They measure what a method costs at real size, and give rows at real size where weights cannot be downloaded. Such rows
never stand for a paper's own, which begin with trained weights.
"""

from collections.abc import Mapping
from typing import Any

import torch

from bench.base.options import checked
from bench.base.seeds import seed_of, seed_torch
from bench.errors import UsageError
from bench.models.backbones import BACKBONES
from bench.models.backbones.backbone import Backbone, TextSource
from bench.models.backbones.causal import Causal
from bench.models.backbones.encoder_decoder import EncoderDecoder
from bench.models.backbones.small import bpe_tokenizer, special_ids

SUFFIX = "-scratch"
"""Ends the name of such a backbone; before it stands the name of the pretrained one."""


@checked("a backbone from scratch")
def scratch(
    name: str, texts: TextSource, seed: int, *, freeze_embeddings: bool = False, tokenizer: str = ""
) -> Backbone:
    """Return a pretrained model's architecture with random weights, and a BPE of the task's own training text.

    The vocabulary has the published number of rows, so that a step costs what it costs. A training text too small for
    so many tokens leaves rows that no text has; a model learns that they do not come.

    Args:
        name: `gpt2-scratch`, `gpt2-large-scratch`, `bart-large-scratch` or `llama2-7b-scratch`.
        texts: the task, which trains the tokenizer.
        seed: of the weights, drawn as `transformers` draws them.
        freeze_embeddings: keep token embeddings and head as they were drawn, as HistAlign A.1 does with trained ones.
        tokenizer: a `tokenizer.json` or the folder of a training, to share its vocabulary.

    Raises:
        UsageError: the tokenizer has more tokens than the published vocabulary.
    """
    config = published_config(BACKBONES[name.removesuffix(SUFFIX)].hub)
    words = bpe_tokenizer(texts, config.vocab_size, tokenizer)
    if len(words) > config.vocab_size:
        raise UsageError(
            f"backbone '{name}' has {config.vocab_size:,} tokens, its tokenizer {len(words):,}; take a smaller one"
        )
    for key, value in special_ids(words).items():
        setattr(config, key, value)
    seed_torch(seed_of(seed, "weights"))
    if config.is_encoder_decoder:
        config.decoder_start_token_id = words.bos_token_id
        config.forced_eos_token_id = None
    model = auto_class(config).from_config(config, dtype=torch.float32)
    backbone = adapter_of(model)(model, words)
    if freeze_embeddings:
        backbone.freeze_embeddings()
    return backbone


def auto_class(config: Any) -> Any:
    """Return the class of `transformers` that makes a language model of a configuration."""
    from transformers import AutoModelForCausalLM, AutoModelForSeq2SeqLM

    return AutoModelForSeq2SeqLM if config.is_encoder_decoder else AutoModelForCausalLM


def adapter_of(model: Any) -> type[Backbone]:
    """Return the class of backbone for a language model of `transformers`."""
    return EncoderDecoder if model.config.is_encoder_decoder else Causal


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
    "openai-community/gpt2-large": ("GPT2Config", {"n_embd": 1280, "n_layer": 36, "n_head": 20}),
    "facebook/bart-large": ("BartConfig", {}),
    "meta-llama/Llama-2-7b-hf": ("LlamaConfig", {"max_position_embeddings": 4096}),
    "HuggingFaceTB/SmolLM2-135M": ("LlamaConfig", SMOLLM2_135M),
    "smollm2-135m-instruct-q4": ("LlamaConfig", SMOLLM2_135M),
    "gemma3-270m-q4": (
        "Gemma3TextConfig",
        {
            "vocab_size": 262144,
            "hidden_size": 640,
            "intermediate_size": 2048,
            "num_hidden_layers": 18,
            "num_attention_heads": 4,
            "num_key_value_heads": 1,
            "max_position_embeddings": 32768,
            "sliding_window": 512,
        },
    ),
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
