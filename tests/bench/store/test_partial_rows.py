"""Finished batches of an evaluation: what was written whole is there again, nothing else is."""

from pathlib import Path
from typing import Any

import pytest

from bench.store.partial_rows import PARTIAL, PartialRows, forget

BATCHES: dict[int, list[dict[str, Any]]] = {
    0: [{"id": "a", "nll_sum": 0.1 + 0.2}, {"id": "b", "text": "é\r\n\u2028\ud83d"}],
    2: [{"id": "c", "text": ""}],
    4: [],
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file with three batches."""
    kept = PartialRows(tmp_path / PARTIAL / "key.0-of-2.jsonl", after=0)
    for number, rows in BATCHES.items():
        kept.add(number, rows)
    return kept.path


def test_batches_are_there_again(path: Path) -> None:
    kept = PartialRows(path)
    assert {number: kept.rows(number) for number in range(6)} == {**dict.fromkeys(range(6)), **BATCHES}


def test_nothing_is_written_at_first(tmp_path: Path) -> None:
    """Only what has taken long is kept."""
    kept = PartialRows(tmp_path / "rows", after=1000)
    kept.add(0, BATCHES[0])
    assert not kept.path.exists()
    kept.flush()
    assert PartialRows(kept.path).rows(0) == BATCHES[0]


def test_cut_anywhere_it_holds_the_whole_lines_before(path: Path) -> None:
    data = path.read_bytes()
    lines = data.splitlines(keepends=True)
    ends = [sum(map(len, lines[:n])) for n in range(len(lines) + 1)]
    for length in range(len(data) + 1):
        path.write_bytes(data[:length])
        whole = sum(end <= length for end in ends) - 1
        kept = PartialRows(path, after=0)
        assert list(kept.done) == list(BATCHES)[:whole]
    path.write_bytes(data[:-3])
    kept = PartialRows(path, after=0)
    kept.add(4, BATCHES[4])
    assert path.read_bytes() == data, "what was torn is written over"


def test_a_changed_bit_ends_it(path: Path) -> None:
    data = path.read_bytes()
    for at in range(len(data)):
        path.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        assert all(rows == BATCHES[number] for number, rows in PartialRows(path).done.items())


def test_stored_rows_are_forgotten_for_every_rank(path: Path) -> None:
    other = PartialRows(path.with_name("key.1-of-2.jsonl"), after=0)
    other.add(1, BATCHES[0])
    forget(path.parents[1], "key")
    assert not (path.parents[1] / PARTIAL).exists()
