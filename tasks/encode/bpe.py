"""A byte-level BPE trained on a task's own training text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

SPECIAL = ("<pad>", "<s>", "</s>", "<unk>")


def train_bpe(texts: Iterable[str], vocabulary: int, markers: Sequence[str] = ()) -> Any:
    """Train a byte-level BPE; any text, in any language, is encoded without unknown tokens.

    Args:
        texts: training text.
        vocabulary: number of tokens, special tokens and 256 bytes included.
        markers: strings that stay one token, e.g. table markup.

    Returns:
        A `PreTrainedTokenizerFast` with ids 0..3 = pad, bos, eos, unk; it adds `</s>` to a text.

    >>> tokenizer = train_bpe(["the cat sat on the mat"] * 3, 300)
    >>> tokenizer.decode(tokenizer(" the cat", add_special_tokens=False)["input_ids"])
    ' the cat'
    """
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    core = Tokenizer(models.BPE())
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=[*SPECIAL, *markers],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    core.train_from_iterator(texts, trainer)
    return with_end(core)


def with_end(core: Any) -> Any:
    """Return a trained tokenizer as one of `transformers` that adds `</s>` to a text."""
    from tokenizers import processors
    from transformers import PreTrainedTokenizerFast

    core.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 2)])
    return PreTrainedTokenizerFast(
        tokenizer_object=core, pad_token="<pad>", bos_token="<s>", eos_token="</s>", unk_token="<unk>"
    )
