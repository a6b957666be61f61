"""Backbones that are built from their options and trained from scratch: two small ones, and F2-Softmax's decoder."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import torch

from bench.base.options import OMIT_IF_DEFAULT, Positive, Range, checked
from bench.base.seeds import seed_of, seed_torch
from bench.errors import MissingError, UsageError
from bench.models.backbones.backbone import Backbone, TextSource
from bench.models.backbones.causal import Causal
from bench.models.backbones.encoder_decoder import EncoderDecoder

Embeddings = Literal["trained", "frozen", "reference"]
Rate = Annotated[float, Range(0, below=1)]


def check_heads(options: Mapping[str, Any]) -> None:
    """Refuse a width that heads of attention cannot share."""
    width, heads = options["width"], options["heads"]
    if width % heads:
        raise UsageError(f"backbone.width is a multiple of backbone.heads, not {width} and {heads}")


def check_causal(options: Mapping[str, Any]) -> None:
    """Refuse a width that heads of attention cannot share, and frozen embeddings with a head that is trained."""
    check_heads(options)
    if not options.get("tied", True) and options["embeddings"] != "trained":
        raise UsageError(
            f"backbone.embeddings={options['embeddings']} fixes the head too, so it needs backbone.tied=true; got false"
        )


@checked("backbone 'small-causal'", check_causal)
def small_causal(
    name: str,
    texts: TextSource,
    seed: int,
    *,
    vocabulary: Positive = 4000,
    width: Positive = 128,
    layers: Positive = 2,
    heads: Positive = 4,
    context: Positive = 512,
    dropout: Rate = 0.0,
    embeddings: Embeddings = "trained",
    tied: Annotated[bool, OMIT_IF_DEFAULT] = True,
    tokenizer: str = "",
) -> Backbone:
    """Return a GPT-2 of a few hundred thousand parameters (plus embeddings) with random weights.

    Args:
        name: unused.
        texts: the task, which trains the tokenizer and may know reference embeddings.
        seed: of the weights.
        vocabulary: tokens of the BPE trained on the task's own training text.
        width: D of a state, a multiple of `heads`.
        layers: number of layers.
        heads: of attention, in each layer.
        context: most positions of a row.
        dropout: rate, in all layers.
        embeddings: `trained`; `frozen` at their random start; `reference` frozen at the task's own geometry.
        tied: whether the head is the matrix of token embeddings. F2-Softmax has an output matrix of its own, so a fair
            baseline of it has one too.
        tokenizer: a `tokenizer.json` or the folder of a training, to share its vocabulary.

    Raises:
        UsageError: for an option it cannot have.
    """
    from transformers import GPT2Config, GPT2LMHeadModel

    words = bpe_tokenizer(texts, vocabulary, tokenizer)
    seed_torch(seed_of(seed, "weights"))
    config = GPT2Config(
        vocab_size=len(words),
        n_positions=context,
        n_embd=width,
        n_layer=layers,
        n_head=heads,
        resid_pdrop=dropout,
        embd_pdrop=dropout,
        attn_pdrop=dropout,
        tie_word_embeddings=tied,
        **special_ids(words),
    )
    return _fixed(Causal(GPT2LMHeadModel(config), words), texts, embeddings, seed)


@checked("backbone 'small-encdec'", check_heads)
def small_encdec(
    name: str,
    texts: TextSource,
    seed: int,
    *,
    vocabulary: Positive = 4000,
    width: Positive = 128,
    layers: Positive = 2,
    heads: Positive = 4,
    context: Positive = 512,
    dropout: Rate = 0.0,
    embeddings: Embeddings = "trained",
    tokenizer: str = "",
) -> Backbone:
    """Return a BART of a few hundred thousand parameters (plus embeddings) with random weights.

    Args: as `small_causal`.
    """
    from transformers import BartConfig, BartForConditionalGeneration

    words = bpe_tokenizer(texts, vocabulary, tokenizer)
    seed_torch(seed_of(seed, "weights"))
    config = BartConfig(
        vocab_size=len(words),
        max_position_embeddings=context,
        d_model=width,
        init_std=0.08,
        encoder_layers=layers,
        decoder_layers=layers,
        encoder_attention_heads=heads,
        decoder_attention_heads=heads,
        encoder_ffn_dim=4 * width,
        decoder_ffn_dim=4 * width,
        dropout=dropout,
        decoder_start_token_id=words.bos_token_id,
        forced_eos_token_id=None,
        **special_ids(words),
    )
    return _fixed(EncoderDecoder(BartForConditionalGeneration(config), words), texts, embeddings, seed)


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
    """Return F2-Softmax's decoder with random weights.

    Source: Choi et al. 2020 Table 6. The released code has layer norms behind the residual sums, a ReLU in the
    feed-forward part, learned positions, and embeddings that are not tied; only with these does the parameter count
    come to the paper's 69.0 M. OPT with `do_layer_norm_before=False` is that model; its attention has biases, which
    adds 0.02 M.

    Args:
        name, texts, tokenizer: as of `small_causal`.
        seed: of the weights, N(0, 0.02).
        vocabulary: tokens of the BPE; 30,000 on WikiText-103, 40,000 on Melo-Lyrics.
        context: most positions of a row; 1,024, and 512 on Melo-Lyrics.
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


def bpe_tokenizer(texts: TextSource, vocabulary: int, place: str = "") -> Any:
    """Return a BPE tokenizer: the one that `place` holds, else one trained on the task's own training text.

    Args:
        texts: the task.
        vocabulary: tokens of a trained one.
        place: a `tokenizer.json` or the folder of a training, to share its vocabulary.

    Raises:
        MissingError: when `place` holds none.
    """
    if not place:
        return texts.tokenizer(vocabulary)
    from transformers import PreTrainedTokenizerFast

    file = Path(place)
    if file.is_dir():
        file = file / "tokenizer.json"
    if not file.is_file():
        raise MissingError(f"backbone.tokenizer names '{place}'; expected a tokenizer.json or the folder of a training")
    return PreTrainedTokenizerFast(
        tokenizer_file=str(file), pad_token="<pad>", bos_token="<s>", eos_token="</s>", unk_token="<unk>"
    )


def special_ids(tokenizer: Any) -> dict[str, int]:
    """Return the special token ids a configuration needs; the defaults lie outside a small vocabulary."""
    return {
        "bos_token_id": tokenizer.bos_token_id,
        "eos_token_id": tokenizer.eos_token_id,
        "pad_token_id": tokenizer.pad_token_id,
    }


def _fixed(backbone: Backbone, texts: TextSource, embeddings: Embeddings, seed: int) -> Backbone:
    """Fix tied token embeddings unless they are trained, so that the head cannot avoid the softmax bottleneck.

    Source: HistAlign A.1 freezes the output vocabulary.
    """
    if embeddings == "trained":
        return backbone
    weight = backbone.embedding()
    if embeddings == "reference":
        vectors = texts.reference_embeddings(backbone.tokenizer, backbone.width, seed)
        if vectors is None:
            raise UsageError("backbone.embeddings=reference needs a task with reference embeddings; this one has none")
        with torch.no_grad():
            weight.copy_(vectors)
    weight.requires_grad_(False)
    return backbone
