"""A verifier that is not on this machine is said to be missing without loading its module; a missing value is none."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bench.cells.score import computed, lacking, main_column
from bench.errors import MissingError
from bench.metrics import METRICS
from bench.store.records import StoredRows


def stored_rows(n: int) -> StoredRows:
    """Rows of texts, as they are stored."""
    return StoredRows("key", {"split": "test"}, [{"id": str(i), "text": "a b"} for i in range(n)], "0" * 64)


def test_nothing_is_loaded_for_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BENCH_TAPEX", raising=False)
    entry = replace(METRICS["tapex"], target="no.such.module:family")
    values, sums = computed(entry, stored_rows(3), {})
    [value] = values["values"]
    assert (value["name"], value["value"], value["n"], value["higher_is_better"]) == ("tapex-acc", None, 3, True)
    assert "|not applicable: needs microsoft/tapex-large-finetuned-tabfact in the hub cache, or" in value["signature"]
    assert lacking(values)
    assert not sums


def test_what_is_there_is_loaded() -> None:
    entry = replace(METRICS["tapex"], requires=(), target="no.such.module:family")
    with pytest.raises(MissingError, match=r"cannot import 'no\.such\.module'"):
        computed(entry, stored_rows(3), {})


def test_whose_columns_are_known_without_loading_them() -> None:
    unknown = [family for family, entry in METRICS.items() if entry.requires and not main_column(entry)[0]]
    assert unknown == ["entity_precision"]  # its columns have the name of a tagger
    assert main_column(METRICS["dae"]) == ("dae", False)
