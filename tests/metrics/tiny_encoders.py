"""Tiny models without a public head: a SimCSE encoder and a language model."""

import json

import torch
from transformers import BertConfig, BertModel, GPT2Config, GPT2Model

from tests.metrics import tiny_verifiers


def encoder(folder):
    words = len(tiny_verifiers.vocabulary())
    config = BertConfig(vocab_size=words, max_position_embeddings=64, **tiny_verifiers.SIZES)
    (folder / "tokenizer_config.json").write_text('{"tokenizer_class": "BertTokenizer", "do_lower_case": true}')
    return tiny_verifiers.with_words(tiny_verifiers.save(BertModel(config), folder, None))


def reader(folder):
    letters = [chr(c) for c in (*range(33, 127), *range(161, 173), *range(174, 256))]
    letters += [chr(256 + i) for i in range(256 - len(letters))]
    pieces = {piece: i for i, piece in enumerate([*letters, "<|endoftext|>"])}
    torch.manual_seed(0)
    config = GPT2Config(vocab_size=257, n_positions=32, n_embd=16, n_layer=2, n_head=2,
                        bos_token_id=256, eos_token_id=256)  # fmt: skip
    GPT2Model(config).save_pretrained(folder)
    (folder / "vocab.json").write_text(json.dumps(pieces), encoding="utf-8")
    (folder / "merges.txt").write_text("#version: 0.2\n", encoding="utf-8")
    (folder / "tokenizer_config.json").write_text('{"tokenizer_class": "GPT2Tokenizer"}')
    return folder
