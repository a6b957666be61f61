"""Progress on rows: reading, hashing, a tokenizer, encoding and exemplars tell how far they are."""

from pathlib import Path

import pytest

from bench.tasks.core import progress
from bench.tasks.encode.codec import Codec
from bench.tasks.fetch.sources import Source
from bench.tasks.gigaword import SIZES, Gigaword

Told = list[tuple[str, int, int]]


def test_every_long_piece_of_work_on_rows_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "EVERY", 8)
    monkeypatch.setattr("bench.tasks.core.task.MOST_IN_MEMORY", 10)
    monkeypatch.setenv("BENCH_CACHE", str(tmp_path / "cache"))
    (tmp_path / "train.article.txt").write_text("".join(f"the river {i} is long .\n" for i in range(20)))
    (tmp_path / "train.title.txt").write_text("".join(f"river {i}\n" for i in range(20)))
    told: Told = []
    task = Gigaword()
    task.load(Source(tmp_path, "test"), on_rows=lambda *row: told.append(row))
    codec = Codec(task.tokenizer(300), "encoder-decoder", 20, 10)
    task.manifest("train")
    task.encoded("train", codec)
    task.exemplars("train")
    assert [row for row in told if row[0] == "rows read"] == [("rows read", n, SIZES["train"]) for n in (8, 16, 20)]
    for what in ("rows for a tokenizer", "rows hashed", "rows encoded", "exemplars"):
        assert (what, 20, 20) in told
