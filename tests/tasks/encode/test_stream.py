"""Streams: every token is learned once, windows are where the paper's are, words and bytes add up exactly."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.tasks.encode.codec import Codec, Encoded
from bench.tasks.encode.stream import Stream, blocks, windows
from bench.tasks.encode.token_store import TokenStore
from bench.tasks.encode.tokenizers import train_bpe

CODEC = Codec(train_bpe(["the cat sat on the mat"], 300), "decoder-only", 8, 4)
BOS = CODEC.tokenizer.bos_token_id
LENGTHS = st.lists(st.integers(0, 30), max_size=8)


def documents(lengths: list[int]) -> TokenStore:
    starts = np.cumsum([0, *lengths])
    return TokenStore.of(
        Encoded(f"d{i}", (), tuple(range(100 + start, 100 + start + n)), n_words=2 * n + i if n else 0, n_bytes=5 * n)
        for i, (start, n) in enumerate(zip(starts, lengths, strict=False))
    )


@given(LENGTHS)
def test_blocks_learn_every_token_once_in_order(lengths: list[int]) -> None:
    cuts = blocks(documents(lengths), "test", CODEC)
    assert [int(t) for row in cuts for t in row.target] == list(range(100, 100 + sum(lengths)))
    assert all(len(row.target) == 4 for row in cuts[:-1])
    assert all([int(i) for i in row.source] == [BOS] for row in cuts)
    assert [row.id for row in cuts] == [f"test/block/{i}" for i in range(len(cuts))]
    assert cuts.target_counts(500).sum() == sum(lengths)


@given(LENGTHS)
def test_words_and_bytes_of_blocks_add_up_to_those_of_the_documents(lengths: list[int]) -> None:
    cuts = blocks(documents(lengths), "test", CODEC)
    assert sum(row.n_words for row in cuts) == sum(2 * n + i for i, n in enumerate(lengths) if n)
    assert sum(row.n_bytes for row in cuts) == 5 * sum(lengths)
    assert all(row.n_words >= 0 and row.n_bytes >= 0 for row in cuts)


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        (1, [(0, 2, 5), (5, 7, 10), (10, 12, 15), (15, 17, 20), (20, 22, 23)]),
        (2, [(0, 2, 5), (5, 7, 10), (11, 13, 16), (16, 18, 21)]),  # columns of 11; the 23rd token is in neither
        (5, [(0, 2, 4), (4, 6, 8), (8, 10, 12), (12, 14, 16), (16, 18, 20)]),
        (12, []),  # no column is longer than a prefix
    ],
)
def test_windows_go_down_the_columns(columns: int, expected: list[tuple[int, int, int]]) -> None:
    cuts = windows(documents([9, 0, 14]), "test", CODEC, Stream(prefix=2, continuation=3, columns=columns))
    found = [([int(i) - 100 for i in row.source[1:]], [int(i) - 100 for i in row.target]) for row in cuts]
    assert found == [(list(range(a, b)), list(range(b, c))) for a, b, c in expected]
    assert all(row.source[0] == BOS for row in cuts)
    assert len({row.id for row in cuts}) == len(cuts)


def test_a_training_batch_of_blocks_is_what_it_should_be() -> None:
    batch = CODEC.train_batch(blocks(documents([6]), "train", CODEC)[:])
    assert batch["input_ids"].tolist() == [[BOS, 100, 101, 102, 103], [BOS, 104, 105, 0, 0]]
    assert batch["labels"].tolist() == [[-100, 100, 101, 102, 103], [-100, 104, 105, -100, -100]]
    assert batch["attention_mask"].tolist() == [[1] * 5, [1, 1, 1, 0, 0]]
