"""bench/ladder/files.py: what is kept of several ladders beside one board."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.base.files import write_atomic
from bench.errors import StoreError
from bench.ladder.files import forecast_paths, keep_files, plan_paths, restore_files


def test_every_forecast_is_kept_and_none_is_written_over(tmp_path: Path) -> None:
    results, board = tmp_path / "results", tmp_path / "kept.jsonl"
    write_atomic(board, b"")
    for name in ("text-1.plan", "text-1.forecast-1M", "text-2.plan", "text-2.forecast-1M", "other-3.plan"):
        write_atomic(results / "ladder" / f"{name}.json", name.encode())
    keep_files(results, board)
    keep_files(results, board)  # the same again
    assert [path.read_bytes() for path in forecast_paths(board)] == [b"text-1.forecast-1M", b"text-2.forecast-1M"]
    assert [path.name for path in plan_paths(board, "text")] == ["kept.text-1.plan.json", "kept.text-2.plan.json"]
    assert [path.name for path in plan_paths(results, "text")] == ["text-1.plan.json", "text-2.plan.json"]
    (results / "ladder" / "text-2.forecast-1M.json").write_bytes(b"another")
    with pytest.raises(StoreError, match="it is another plan or forecast, and neither is ever written over"):
        keep_files(results, board)
    assert forecast_paths(board)[1].read_bytes() == b"text-2.forecast-1M"


def test_a_forecast_that_was_kept_without_a_key_is_still_found(tmp_path: Path) -> None:
    for name in ("kept.jsonl", "kept.forecast-1M.json", "others.forecast-1M.json"):
        write_atomic(tmp_path / name, b"")
    assert [path.name for path in forecast_paths(tmp_path / "kept.jsonl")] == ["kept.forecast-1M.json"]


def test_files_of_a_board_with_a_longer_name_are_its_own(tmp_path: Path) -> None:
    for name in (
        "a[1].jsonl",
        "a[1].text-1.plan.json",
        "a[1].big.text-2.plan.json",
        "a[1].big.text-2.forecast-1M.json",
    ):
        write_atomic(tmp_path / name, b"")
    restore_files(tmp_path / "a[1].jsonl", tmp_path / "results")
    assert [path.name for path in (tmp_path / "results" / "ladder").iterdir()] == ["text-1.plan.json"]
