"""Scratch: the architectures of pretrained models at their published size, with random weights.

For what a method costs at real size, and for rows at real size where nobody may or can download weights. Such rows
never stand for a paper's own, which begin with trained weights.
"""

from __future__ import annotations

import torch

from bench.base.options import checked
from bench.base.seeds import seed_of, seed_torch
from bench.errors import UsageError
from bench.models.backbones import BACKBONES
from bench.models.backbones.backbone import Backbone, TextSource
from bench.models.backbones.causal import Causal
from bench.models.backbones.encoder_decoder import EncoderDecoder
from bench.models.backbones.published_sizes import published_config
from bench.models.backbones.small import bpe_tokenizer, special_ids

__all__ = ["SUFFIX", "scratch"]

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
        tokenizer: a `tokenizer.json` or the folder of a trained cell, to share its vocabulary.

    Raises:
        UsageError: the tokenizer has more tokens than the published vocabulary.
    """
    from transformers import AutoModelForCausalLM, AutoModelForSeq2SeqLM

    config = published_config(BACKBONES[name.removesuffix(SUFFIX)].hub)
    words = bpe_tokenizer(texts, config.vocab_size, tokenizer)
    if len(words) > config.vocab_size:
        raise UsageError(
            f"backbone '{name}' has {config.vocab_size:,} tokens, its tokenizer {len(words):,}; take a smaller one"
        )
    for key, value in special_ids(words).items():
        setattr(config, key, value)
    seed_torch(seed_of(seed, "weights"))
    backbone: Backbone
    if config.is_encoder_decoder:
        config.decoder_start_token_id = words.bos_token_id
        config.forced_eos_token_id = None
        backbone = EncoderDecoder(AutoModelForSeq2SeqLM.from_config(config, dtype=torch.float32), words)
    else:
        backbone = Causal(AutoModelForCausalLM.from_config(config, dtype=torch.float32), words)
    if freeze_embeddings:
        for weight in (backbone.embedding(), *backbone.head_parameters()):
            weight.requires_grad_(False)
    return backbone
