"""Tiny classifiers of the architectures of public verifiers, written to a folder in the shape a hub has."""

import json

import torch
from transformers import (
    BartConfig,
    BartForSequenceClassification,
    BertConfig,
    BertForSequenceClassification,
    TapasConfig,
    TapasForSequenceClassification,
)

WORDS = [
    "the", "a", "of", "in", "was", "is", "it", "river", "aldra", "sorn", "rose", "fell", "year", "length", "region",
    "share", "long", "longest", "than", "and", "no", "one", "two", "three", ".", ",", ":", "|", "row", "col", "nan",
    "not", "hurt",
]  # fmt: skip
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "[EMPTY]"]
LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
FACTCC = {0: "CORRECT", 1: "INCORRECT"}
SIZES = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 16}


def vocabulary():
    return list(dict.fromkeys([*SPECIAL, *WORDS, *LETTERS, *(f"##{letter}" for letter in LETTERS)]))


def save(model, folder, labels):
    """Random weights large enough that both answers occur."""
    if labels is not None:
        model.config.id2label, model.config.label2id = labels, {name: i for i, name in labels.items()}
    torch.manual_seed(3)
    with torch.no_grad():
        for name, weights in model.named_parameters():
            if "norm" not in name.lower():
                weights.normal_(std=0.5)
    model.save_pretrained(folder)
    return folder


def with_words(folder):
    (folder / "vocab.txt").write_text("\n".join(vocabulary()) + "\n", encoding="utf-8")
    return folder


def bert(folder, labels=FACTCC):
    config = BertConfig(vocab_size=len(vocabulary()), max_position_embeddings=512, num_labels=2, **SIZES)
    return with_words(save(BertForSequenceClassification(config), folder, labels))


def tapas(folder, labels=None):
    config = TapasConfig(vocab_size=len(vocabulary()), max_position_embeddings=512, num_labels=2, **SIZES)
    return with_words(save(TapasForSequenceClassification(config), folder, labels))


def bart(folder, labels=None):
    # Every byte is a piece and one pair is joined, which is enough for a byte-pair tokenizer.
    letters = [chr(c) for c in (*range(33, 127), *range(161, 173), *range(174, 256))]
    letters += [chr(256 + i) for i in range(256 - len(letters))]
    pieces = ["<s>", "<pad>", "</s>", "<unk>", "<mask>", *letters, "Ġr", "ow"]
    config = BartConfig(
        vocab_size=len(pieces), max_position_embeddings=1024, d_model=16, encoder_layers=1, decoder_layers=1,
        encoder_attention_heads=2, decoder_attention_heads=2, encoder_ffn_dim=16, decoder_ffn_dim=16, num_labels=2,
        bos_token_id=0, pad_token_id=1, eos_token_id=2, decoder_start_token_id=2, forced_eos_token_id=2,
    )  # fmt: skip
    save(BartForSequenceClassification(config), folder, labels)
    (folder / "vocab.json").write_text(json.dumps({p: i for i, p in enumerate(pieces)}), encoding="utf-8")
    (folder / "merges.txt").write_text("#version: 0.2\nĠ r\no w\n", encoding="utf-8")
    return folder


def without_head(folder, head):
    """Rewrite the weights of a folder without those whose name begins with `head`."""
    from safetensors.torch import load_file, save_file

    path = folder / "model.safetensors"
    kept = {name: weights for name, weights in load_file(path).items() if not name.startswith(head)}
    save_file(kept, path, metadata={"format": "pt"})
    return folder


def balanced(verifier, encoded):
    """Move the last bias so that half of the pairs get each answer: a constant answer would show nothing."""
    from bench.metrics.faithfulness.verifiers import logits_of

    logits = torch.tensor(logits_of(verifier, encoded, 1))
    with torch.no_grad():
        margins = logits[:, verifier.label] - logits[:, 1 - verifier.label]
        bias = [weights for name, weights in verifier.model.named_parameters() if name.endswith("bias")][-1]
        assert bias.shape == (2,)
        bias[verifier.label] -= (
            margins.sort().values[len(margins) // 2 - 1] + margins.sort().values[len(margins) // 2]
        ) / 2
    return verifier
