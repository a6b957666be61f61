"""Codec: rows to ids and batches, for both architectures, with word and byte-pair tokenizers."""

from copy import deepcopy
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.errors import UsageError
from bench.tasks.encode.codec import IGNORED, Codec
from bench.tasks.encode.tokenizers import train_bpe, word_tokenizer

TEXT = ["the cat sat on the mat", "a dog ran to the cat", "lower and lowest"]
WORDS, PIECES = word_tokenizer(TEXT), train_bpe(TEXT, 300, ("<cell>",))
PAD, BOS, EOS = 0, 1, 2
BOTH = pytest.mark.parametrize("tokenizer", [WORDS, PIECES], ids=["words", "pieces"])
ARCHITECTURES = pytest.mark.parametrize("architecture", ["decoder-only", "encoder-decoder"])


class Framed:
    """A tokenizer like BART's: `<s>` before a text and `</s>` after it."""

    bos_token_id, eos_token_id, pad_token_id = BOS, EOS, None

    def __call__(self, texts, add_special_tokens=True, **_):
        inner = [WORDS(text, add_special_tokens=False)["input_ids"] for text in texts]
        return {"input_ids": [[BOS, *ids, EOS] if add_special_tokens else ids for ids in inner]}


def codec(tokenizer=WORDS, architecture="decoder-only", max_source=50, max_target=50):
    return Codec(tokenizer, architecture, max_source, max_target)


def encoded(found, source, target, *, ends=True, name="r", truncated=0):
    source_ids, target_ids = found.ids([source, target])
    return found.encode(name, source_ids, target_ids, ends=ends, truncated=truncated)


# Ids --------------------------------------------------------------------------------------------------------------


def test_encodings_of_tokenizers_with_other_special_tokens_are_kept_apart():
    other = deepcopy(WORDS)
    other.eos_token = other.bos_token
    assert codec(other).identity != codec(WORDS).identity


@BOTH
def test_ids_have_no_special_tokens_and_come_back(tokenizer):
    ids = codec(tokenizer).ids(TEXT)
    assert not {PAD, BOS, EOS} & {i for row in ids for i in row}
    assert [tokenizer.decode(row) for row in ids] == TEXT
    assert codec(tokenizer).ids([]) == []


@settings(max_examples=50)
@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=30))
def test_pieces_know_every_text(text):
    (ids,) = codec(PIECES).ids([text])
    assert PIECES.decode(ids, skip_special_tokens=False) == text or "<" in text
    assert PIECES.unk_token_id not in ids or "<unk>" in text


def test_the_frame_of_a_tokenizer_like_barts():
    assert codec(Framed()).frame == ([BOS], [EOS])


# Rows -------------------------------------------------------------------------------------------------------------


@BOTH
def test_a_decoder_only_row_begins_with_bos_and_ends_its_target(tokenizer):
    found = codec(tokenizer)
    source, target = found.ids(["the cat", "sat on"])
    row = encoded(found, "the cat", "sat on")
    assert row.source == (BOS, *source)
    assert row.target == (*target, EOS)
    assert encoded(found, "the cat", "sat on", ends=False).target == tuple(target)
    assert encoded(found, "", "sat on").source == (BOS,)


def test_a_row_begins_with_the_end_token_where_the_tokenizer_has_no_other():
    tokenizer = deepcopy(WORDS)
    tokenizer.bos_token = None
    assert encoded(codec(tokenizer), "", "a dog").source == (EOS,)
    tokenizer.eos_token = None
    with pytest.raises(UsageError, match="has no end token; set its eos_token"):
        encoded(codec(tokenizer), "", "a dog")


@BOTH
def test_an_encoder_decoder_row_has_both_sides_framed_by_the_tokenizer(tokenizer):
    found = codec(tokenizer, "encoder-decoder")
    source, target = found.ids(["the cat", "sat on"])
    row = encoded(found, "the cat", "sat on")
    assert row.source == (*source, EOS)
    assert row.target == (*target, EOS)


def test_a_row_for_bart_has_its_start_token_on_both_sides():
    row = encoded(codec(Framed(), "encoder-decoder"), "the cat", "sat on")
    source, target = codec().ids(["the cat", "sat on"])
    assert row.source == (BOS, *source, EOS)
    assert row.target == (BOS, *target, EOS)


@ARCHITECTURES
@pytest.mark.parametrize(
    ("source", "target", "over"),
    [(3, 2, 0), (4, 2, 1), (3, 3, 1), (9, 7, 11), (0, 0, 0)],
)
def test_what_is_cut_is_counted_and_a_cut_target_has_no_end(architecture, source, target, over):
    found = codec(architecture=architecture, max_source=3, max_target=2)
    row = found.encode("r", [7] * source, [8] * target, ends=True)
    assert row.truncated == over
    assert row.source.count(7) == min(source, 3)
    assert row.target == (*[8] * min(target, 2), *([EOS] if target <= 2 else []))


# Batches ----------------------------------------------------------------------------------------------------------

PAIRS = [("the cat", "sat on the mat"), ("", "a dog"), ("a dog ran to the cat", "lowest")]


def rows_of(found):
    return [encoded(found, source, target, name=f"r{i}") for i, (source, target) in enumerate(PAIRS)]


@BOTH
def test_a_decoder_only_batch_has_loss_on_targets_only(tokenizer):
    found = codec(tokenizer)
    rows, batch = rows_of(found), found.train_batch(rows_of(found))
    assert batch["input_ids"].shape == batch["attention_mask"].shape == batch["labels"].shape
    for i, row in enumerate(rows):
        n = len(row.source) + len(row.target)
        assert batch["input_ids"][i].tolist()[:n] == [*row.source, *row.target]
        assert batch["attention_mask"][i].tolist() == [1] * n + [0] * (batch["labels"].shape[1] - n)
        assert batch["labels"][i].tolist()[:n] == [IGNORED] * len(row.source) + list(row.target)
        assert set(batch["labels"][i].tolist()[n:]) <= {IGNORED}
    assert int((batch["labels"] != IGNORED).sum()) == sum(len(row.target) for row in rows)


@BOTH
def test_an_encoder_decoder_batch_keeps_the_sides_apart(tokenizer):
    found = codec(tokenizer, "encoder-decoder")
    rows, batch = rows_of(found), found.train_batch(rows_of(found))
    for i, row in enumerate(rows):
        real = batch["attention_mask"][i].bool()
        assert batch["input_ids"][i][real].tolist() == list(row.source)
        assert real.tolist() == sorted(real.tolist(), reverse=True)
        labels = batch["labels"][i]
        assert labels[labels != IGNORED].tolist() == list(row.target)


@ARCHITECTURES
def test_every_target_token_is_a_label_whatever_its_id(architecture):
    found = codec(architecture=architecture)
    row = found.encode("r", [7], [PAD, BOS, 8], ends=True)
    batch = found.train_batch([row, found.encode("s", [7] * 5, [8] * 9, ends=True)])
    assert int((batch["labels"][0] != IGNORED).sum()) == 4


@BOTH
def test_prompts_of_a_decoder_only_model_are_padded_on_the_left(tokenizer):
    found = codec(tokenizer)
    rows, batch = rows_of(found), found.prompt_batch(rows_of(found))
    assert set(batch) == {"input_ids", "attention_mask"}
    width = max(len(row.source) for row in rows)
    for i, row in enumerate(rows):
        empty = width - len(row.source)
        assert batch["input_ids"][i].tolist() == [PAD] * empty + list(row.source)
        assert batch["attention_mask"][i].tolist() == [0] * empty + [1] * len(row.source)


def test_a_tokenizer_without_padding_pads_with_its_end_behind_the_mask():
    found = codec(Framed(), "encoder-decoder")
    assert found.pad == EOS
    batch = found.prompt_batch(rows_of(found))
    assert set(batch["input_ids"][batch["attention_mask"] == 0].tolist()) == {EOS}


# Exemplars --------------------------------------------------------------------------------------------------------


@ARCHITECTURES
@pytest.mark.parametrize(
    ("exemplar", "read"),
    [(None, None), ([], (EOS,)), ([7], (7, EOS)), ([7, 8, 9], (7, 8, EOS)), ([PAD, 7], (PAD, 7, EOS))],
)
def test_an_exemplar_is_cut_as_a_target_and_always_ends(architecture, exemplar, read):
    found = codec(architecture=architecture, max_target=2)
    row = found.encode("r", [7], [8], ends=False, exemplar=exemplar)
    assert row.exemplar == read
    assert row.truncated == 0


@ARCHITECTURES
@pytest.mark.parametrize("kind", ["train_batch", "prompt_batch"])
def test_exemplars_of_a_batch_are_padded_on_the_right(architecture, kind):
    found = codec(architecture=architecture)
    exemplars = [[7, 8, 9], [], [8]]
    rows = [found.encode(f"r{i}", [7] * i, [8], ends=True, exemplar=e) for i, e in enumerate(exemplars)]
    batch, bare = getattr(found, kind)(rows), getattr(found, kind)([replace(row, exemplar=None) for row in rows])
    assert batch["exemplar_ids"].tolist() == [[7, 8, 9, EOS], [EOS, PAD, PAD, PAD], [8, EOS, PAD, PAD]]
    assert batch["exemplar_mask"].tolist() == [[1, 1, 1, 1], [1, 0, 0, 0], [1, 1, 0, 0]]
    assert set(batch) - {"exemplar_ids", "exemplar_mask"} == set(bare)
    assert all(torch.equal(batch[name], bare[name]) for name in bare)
