"""Texts on the page: the same rows for all methods, of the row that they are shown under."""

from pathlib import Path
from typing import Any

from bench.board.page import LONGEST, SAMPLES, samples_of
from bench.board.samples import holding
from bench.leaderboards.table import Table, tables
from bench.store.store import Store
from tests.leaderboards.handmade import scored, trained


class Rows:
    """A task that knows the source and the target of one row."""

    def readable(self, split: str) -> dict[str, tuple[str, str]]:
        return {"b": ("p" * 700 + "!", "r")}


def samples(root: Path, task: Any = None) -> tuple[Table, list[dict[str, Any]]]:
    """The only table of a store, and its samples."""
    store, held = Store(root), dict[str, list[Any]]()
    for one in holding(store, None):
        held.setdefault(one.record["key"], []).append(one)
    (table,) = tables(store)[0]
    return table, samples_of(store, table, held, lambda *_: task)


def test_samples_are_the_same_ids_for_all_rows_of_their_first_seed(tmp_path: Path) -> None:
    for seed in (1, 0):
        scored(trained(tmp_path, "mle", seed), {"bleu-1": 1.0}, texts={name: f"mle {name} {seed}" for name in "abc"})
    scored(trained(tmp_path, "face"), {"bleu-1": 1.0}, texts=dict.fromkeys("bcd", "x" * 900))
    _, found = samples(tmp_path, Rows())
    assert [sample["id"] for sample in found] == ["b", "c"]
    texts = {name.partition("-")[0]: text for name, text in found[0]["texts"].items()}
    assert texts == {"mle": "mle b 0", "face": "x" * (LONGEST - 1) + "…"}
    assert found[0]["prompt"] == "…" + "p" * (LONGEST - 2) + "!"
    assert (found[0]["reference"], found[1]["prompt"]) == ("r", "")


def test_samples_are_of_the_row_they_are_shown_under(tmp_path: Path) -> None:
    cell = scored(trained(tmp_path, "mle"), {"bleu-1": 1.0}, texts={"a": "greedy"})
    scored(cell, {"bleu-1": 2.0}, decoding="beam=4", texts={"a": "beam"})
    scored(cell, {"bleu-1": 3.0}, shown_as="mle.swapped", texts={"a": "swapped"})
    table, found = samples(tmp_path)
    shown = {(row.method, row.decoding): found[0]["texts"].get(row.id) for row in table.rows}
    assert shown == {("mle", "greedy"): "greedy", ("mle", "beam=4"): "beam", ("mle.swapped", "greedy"): "swapped"}


def test_no_more_samples_than_a_page_should_hold(tmp_path: Path) -> None:
    scored(trained(tmp_path, "mle"), {"bleu-1": 1.0}, texts={f"{i:03}": "t" for i in range(100)})
    _, found = samples(tmp_path)
    assert len(found) == SAMPLES
    assert [sample["id"] for sample in found[:3]] == ["000", "025", "050"]
