"""The decoder of the F2-Softmax paper: 12 post-LN layers of width 512, input and output embeddings apart."""

from __future__ import annotations

from bench.base.options import Positive, checked
from bench.base.seeds import seed_of, seed_torch
from bench.models.backbones.backbone import Backbone, TextSource
from bench.models.backbones.causal import Causal
from bench.models.backbones.small import Rate, bpe_tokenizer, check_heads, special_ids


@checked("backbone 'f2-decoder'", check_heads)
def f2_decoder(
    name: str,
    texts: TextSource,
    seed: int,
    *,
    vocabulary: Positive = 30000,
    width: Positive = 512,
    feed_forward: Positive = 2048,
    layers: Positive = 12,
    heads: Positive = 8,
    context: Positive = 1024,
    dropout: Rate = 0.1,
    attention_dropout: Rate = 0.0,
    tokenizer: str = "",
) -> Backbone:
    """Return the decoder with random weights.

    Source: Choi et al. 2020 Table 6. The released code has layer norms behind the residual sums, a ReLU in the
    feed-forward part, learned positions, and embeddings that are not tied; only so the paper's 69.0 M adds up. OPT with
    `do_layer_norm_before=False` is that model; its attention has biases, which adds 0.02 M.

    Args:
        name: unused.
        texts: the task, which trains the tokenizer.
        seed: of the weights, N(0, 0.02).
        vocabulary: tokens of the BPE; 30,000 on WikiText-103, 40,000 on Melo-Lyrics.
        context: most positions of a row; 1,024, and 512 on Melo-Lyrics.
        tokenizer: a `tokenizer.json` or the folder of a trained cell, to share its vocabulary.
    """
    from transformers import OPTConfig, OPTForCausalLM

    words = bpe_tokenizer(texts, vocabulary, tokenizer)
    seed_torch(seed_of(seed, "weights"))
    config = OPTConfig(
        vocab_size=len(words),
        max_position_embeddings=context,
        hidden_size=width,
        word_embed_proj_dim=width,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        ffn_dim=feed_forward,
        do_layer_norm_before=False,
        activation_function="relu",
        dropout=dropout,
        attention_dropout=attention_dropout,
        init_std=0.02,
        tie_word_embeddings=False,
        **special_ids(words),
    )
    return Causal(OPTForCausalLM(config), words)
