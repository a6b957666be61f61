"""Tokenizers trained on a task's own text, and embeddings of words with a known geometry for Ambiguous Template.

HistAlign fine-tunes a pretrained model whose output embeddings are frozen (appendix A.1). There the four words of an
analogy are nearly a parallelogram, which keeps a plain softmax from picking one diagonal. A model of a few layers
without pretraining has no such embeddings, so they are drawn here with that shape and stay fixed.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from bench.errors import UsageError

SPECIAL = ("<pad>", "<s>", "</s>", "<unk>")
WORD = r"\w+(?:[-'’]\w+)*|[^\w\s]"  # inner hyphens and apostrophes do not part a word
CLOSING = r"^ (?=[.,;:!?%)\]}…])"
NO_MARK = "\0"  # the decoder wants a mark of word pieces; there are none


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
    return _with_end(core)


def word_tokenizer(texts: Iterable[str], vocabulary: int = 2**31, *, between_spaces: bool = False) -> Any:
    """Make a tokenizer whose tokens are the words and punctuation marks of some texts.

    Give it the texts of every split: the words of the task are known beforehand, as a pretrained vocabulary would know
    them, and the answer is always in the prompt. A word that is in none of the texts becomes `<unk>`.

    A word has the same token everywhere, so " Oslo" and "Oslo" are the same. Decoding puts one space between words
    and none before `. , ; : ! ? % ) ] }`; text spaced in that way comes back as it was.

    Args:
        texts: any number of texts, in any order; the vocabulary is sorted by falling count, then by spelling.
        vocabulary: most tokens, special tokens included; rarer words become `<unk>`.
        between_spaces: words are separated by spaces alone, as in text whose tokens have been set apart already, and
            one space between words comes back.

    Returns:
        A `PreTrainedTokenizerFast` with ids 0..3 = pad, bos, eos, unk; it adds `</s>` to a text.

    >>> tokenizer = word_tokenizer(["The king, the queen."])
    >>> tokenizer("the king, the jester.")["input_ids"]
    [9, 7, 4, 9, 3, 5, 2]
    >>> tokenizer.decode([9, 7, 4, 9, 8, 5, 2], skip_special_tokens=True)
    'the king, the queen.'
    >>> apart = word_tokenizer(["tova -lrb- 1,951 -rrb- ."], between_spaces=True)
    >>> apart.decode(apart("tova -lrb- 1,951 -rrb- .", add_special_tokens=False)["input_ids"])
    'tova -lrb- 1,951 -rrb- .'
    """
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

    core = Tokenizer(models.WordLevel(unk_token="<unk>"))
    spaced = decoders.WordPiece(prefix=NO_MARK, cleanup=False)
    if between_spaces:
        core.pre_tokenizer, core.decoder = pre_tokenizers.WhitespaceSplit(), spaced
    else:
        core.pre_tokenizer = pre_tokenizers.Split(Regex(WORD), behavior="removed", invert=True)
        core.decoder = decoders.Sequence([spaced, decoders.Replace(Regex(CLOSING), "")])
    trainer = trainers.WordLevelTrainer(vocab_size=vocabulary, special_tokens=list(SPECIAL), show_progress=False)
    core.train_from_iterator(texts, trainer)
    return _with_end(core)


def _with_end(core: Any) -> Any:
    """Return a trained tokenizer as one of `transformers` that adds `</s>` to a text."""
    from tokenizers import processors
    from transformers import PreTrainedTokenizerFast

    core.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 2)])
    return PreTrainedTokenizerFast(
        tokenizer_object=core, pad_token="<pad>", bos_token="<s>", eos_token="</s>", unk_token="<unk>"
    )


def analogy_embeddings(
    tokenizer: Any, pairs: Mapping[str, Sequence[tuple[str, str]]], width: int, noise: float = 0.5, seed: int = 0
) -> Tensor:
    """Draw token embeddings in which pairs of one category differ by the same vector, up to noise.

    Per component, before scaling: e(second) = e(first) + role(category) + noise * N(0, 1), everything else N(0, 1).
    When the second word has its place already (Texas, after another of its cities) the first is put relative to it;
    when both have, the pair adds nothing.

    All is divided by sqrt(width), because the same table reads and writes: states leave the last layer norm with length
    sqrt(width), so a logit is about N(0, 1) for a word that has nothing to do with the state and about sqrt(width) for
    the word it points at. Measured with 2 layers of width 128 and 300 steps of 64 rows: cross-entropy ends at 1.5, at
    4.0 with a standard deviation of 0.02 instead, at 3.9 with 1; the cache model of TRIME reaches its optimum, ln 2.

    Args:
        tokenizer: every word of a pair must be one known token of it.
        pairs: pairs by category.
        width: of the model.
        noise: 0 gives exact parallelograms.
        seed: of the draw.

    Returns:
        Embeddings [V, width] in float32.
    """
    generator = torch.Generator().manual_seed(seed)
    embeddings = torch.randn(len(tokenizer), width, generator=generator)
    placed: set[int] = set()
    for category in sorted(pairs):
        role = torch.randn(width, generator=generator)
        for words in sorted(pairs[category]):
            first, second = (_token(tokenizer, word, category) for word in words)
            shift = role + noise * torch.randn(width, generator=generator)
            if second not in placed:
                embeddings[second] = embeddings[first] + shift
            elif first not in placed:
                embeddings[first] = embeddings[second] - shift
            placed |= {first, second}
    return embeddings / width**0.5


def _token(tokenizer: Any, word: str, category: str) -> int:
    ids = tokenizer(word, add_special_tokens=False)["input_ids"]
    if len(ids) != 1 or ids[0] == tokenizer.unk_token_id:
        raise UsageError(
            f"expected one known token for each word of a pair, but {word!r} of {category} has the ids {ids}; make the "
            "tokenizer from all words"
        )
    return int(ids[0])
