"""Files of sums: what columns are made of comes back to the bit, small, and a damaged file is found."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.errors import DamagedError, StoreError
from bench.metrics.sums import Sums, bleu, mean, perplexity, ratio
from bench.store.store import Store
from bench.store.sums_file import SumsFile, packed_sums

ITEMS = {
    "bleu-1": Sums(bleu((1.0, 0.0), "tiny"), [[1, 0, 3, 2, 3, 300], [2, 1, 4, 3, 4, 4]]),
    "bleu-2": Sums(bleu((0.5, 0.5), "tiny"), [[1, 0, 3, 2, 3, 300], [2, 1, 4, 3, 4, 4]]),
    "ppl/word": Sums(perplexity(), [[12.125, 3], [0.1, 70_000]]),
    "tapas-acc": Sums(mean(), [[1, 1], [0, 1]]),
    "x": Sums(ratio(1), [[-3, 1], [2.0**60, 1]]),
}
PATH = Path("items")


def unpacked(content: bytes) -> dict[str, Sums]:
    """All columns of a file."""
    file = SumsFile.parsed(content, PATH)
    return {name: file.column(name) for name in file.columns}


def test_items_come_back():
    assert unpacked(packed_sums(ITEMS)) == ITEMS
    assert packed_sums(ITEMS) == packed_sums(dict(reversed(ITEMS.items())))
    assert unpacked(packed_sums({})) == {}


@given(st.lists(st.tuples(st.floats(allow_nan=False, allow_infinity=False), st.integers(0, 2**40)), min_size=1))
def test_any_numbers_come_back_to_the_bit(rows):
    items = {"one": Sums(mean(1), rows)}
    found = unpacked(packed_sums(items))["one"]
    assert np.array_equal(found.values, items["one"].values)


def test_shared_statistics_are_stored_once_and_small():
    rows = [[i % 9, i % 7 % (1 + i % 9), 9, 8, 10, 11] for i in range(10_000)]
    one = packed_sums({"a": Sums(bleu((1.0, 0.0)), rows)})
    two = packed_sums({"a": Sums(bleu((1.0, 0.0)), rows), "b": Sums(bleu((0.5, 0.5)), rows)})
    assert len(one) < 10_000 * 6 + 1000
    assert len(two) < len(one) + 500


@pytest.mark.parametrize("broken", [b"", b"x" * 100, packed_sums(ITEMS)[:-3], packed_sums(ITEMS)[:40]])
def test_a_damaged_file_is_said_to_be(broken):
    with pytest.raises(DamagedError, match="items' cannot be read"):
        unpacked(broken)


def test_scores_name_their_items_and_a_deleted_file_comes_back(bench, store_copy):
    (cell,) = Store(store_copy).cells()
    perplexity_of = next(c for c in cell.all_scores() if c["family"] == "perplexity")
    path = cell.sums_path(perplexity_of["items"])
    before = path.read_bytes()
    found = cell.sums(perplexity_of["items"])
    for value in perplexity_of["values"]:
        assert found[value["name"]].value == pytest.approx(value["value"], rel=1e-12)
    path.write_bytes(before[:-1] + b"x")
    with pytest.raises(StoreError, match=r"its bytes do not have the hash .*; remove it, then bench score"):
        cell.sums(perplexity_of["items"])
    path.unlink()
    assert cell.sums(perplexity_of["items"]) == {}
    assert "its sufficient statistics" in bench("store", "verify", str(store_copy)).out
    assert bench("score", str(store_copy)).out.startswith("1 score made, ")
    assert path.read_bytes() == before
    assert bench("store", "verify", str(store_copy)).code == 0


def test_scores_by_another_model_are_made_again(bench, store_copy, monkeypatch) -> None:
    next(store_copy.rglob("scores-*")).unlink()
    for name, made in (("a", "1 score made"), ("a", "0 scores made"), ("b", "1 score made"), ("b", "0 scores made")):
        monkeypatch.setattr("bench.cells.score.named_models", lambda requires, name=name: {"BENCH_X": name})
        assert bench("score", str(store_copy)).out.startswith(made)
