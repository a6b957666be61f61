"""TokenStore: rows come back as they went in, from memory and from mapped files; a damaged file is refused."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.errors import StoreError
from bench.tasks.encode.codec import Encoded
from bench.tasks.encode.token_store import TokenStore

TOKENS = st.lists(st.integers(0, 70_000), max_size=9).map(tuple)
ENCODED = st.builds(
    Encoded, st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=9), TOKENS, TOKENS,
    st.integers(0, 5), st.none() | TOKENS, st.integers(0, 99), st.integers(0, 99),
)  # fmt: skip


def plain(row: Encoded) -> tuple[object, ...]:
    exemplar = None if row.exemplar is None else [int(i) for i in row.exemplar]
    return (row.id, [int(i) for i in row.source], [int(i) for i in row.target], row.truncated, exemplar,
            row.n_words, row.n_bytes)  # fmt: skip


def rows(n: int) -> list[Encoded]:
    every = range(n)
    return [Encoded(f"r{i}", (1, i % 7), tuple(range(i % 5)), i % 2, (i,) if i % 3 else None, i, 2 * i) for i in every]


@given(st.lists(ENCODED, max_size=8))
def test_rows_come_back_from_memory(encoded: list[Encoded]) -> None:
    store = TokenStore.of(encoded)
    assert [plain(row) for row in store] == [plain(row) for row in encoded]
    assert store.lengths.tolist() == [len(row.source) + len(row.target) for row in encoded]
    assert store.n_truncated == sum(row.truncated > 0 for row in encoded)
    again = TokenStore.of(store)  # its rows hold arrays, where those of a codec hold tuples
    assert [plain(row) for row in again] == [plain(row) for row in encoded]
    counts = np.bincount([t for row in encoded for t in row.target] or [0], minlength=70_001)
    counts[0] -= not any(row.target for row in encoded)
    assert (store.target_counts(70_001) == counts).all()


@pytest.mark.parametrize("n", [0, 1, 2, 7, 100])
@pytest.mark.parametrize("vocabulary", [1 << 16, 1 << 17])
def test_rows_come_back_from_files_and_are_not_made_again(tmp_path: Path, n: int, vocabulary: int) -> None:
    made = TokenStore.stored(tmp_path / "bins" / "one", n, lambda *part: rows(n)[slice(*part)], vocabulary, chunk=3)
    assert [plain(row) for row in made] == [plain(row) for row in rows(n)]
    assert n == 0 or made.tokens.dtype == (np.uint16 if vocabulary == 1 << 16 else np.uint32)
    again = TokenStore.stored(tmp_path / "bins" / "one", n, lambda *part: [], vocabulary)
    assert [plain(row) for row in again] == [plain(row) for row in made]


@pytest.mark.parametrize("damage", ["cut", "gone"])
def test_a_damaged_folder_is_refused(tmp_path: Path, damage: str) -> None:
    folder = tmp_path / "one"
    TokenStore.stored(folder, 9, lambda *part: rows(9)[slice(*part)], 100)
    if damage == "cut":
        (folder / "table.npy").write_bytes((folder / "table.npy").read_bytes()[:-2])
    else:
        (folder / "tokens.bin").unlink()
    with pytest.raises(StoreError, match="one' is damaged .*; remove it"):
        TokenStore.stored(folder, 9, lambda *part: rows(9)[slice(*part)], 100)
