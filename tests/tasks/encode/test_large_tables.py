"""Large tables: 10,000 x 50 cells, or one cell of a megabyte, are cut by rule, counted, and cost little."""

from __future__ import annotations

import time
import tracemalloc
from pathlib import Path

import pytest

from bench.tasks.core.example import Example
from bench.tasks.encode.bpe import train_bpe
from bench.tasks.encode.codec import Codec
from bench.tasks.files.tables import read_table
from bench.tasks.logicnlg import LogicNLG

SECONDS, MEGABYTES = 4, 200  # twice the time asked for: machines differ
ROWS, COLUMNS = 10_000, 50


def large(folder: Path, what: str) -> Path:
    path = folder / "large.csv"
    if what == "cell":
        path.write_text("name#score\n" + "word " * 210_000 + "#1\nshort#2\n")
    else:
        head = "#".join(f"column {i}" for i in range(COLUMNS))
        rows = ("#".join(str(row * i % 977) for i in range(COLUMNS)) for row in range(ROWS))
        path.write_text("\n".join([head, *rows]) + "\n")
    return path


@pytest.mark.parametrize("style", ["plog", "compact"])
@pytest.mark.parametrize("what", ["cell", "table"])
def test_a_large_table_is_cut_by_rule_and_counted(tmp_path: Path, what: str, style: str) -> None:
    path = large(tmp_path, what)
    task = LogicNLG(style=style)  # type: ignore[arg-type]
    codec = Codec(train_bpe(["column 1 is 2 and 3 word"] * 9, 400), "encoder-decoder", 96, 40)
    tracemalloc.start()
    started = time.process_time()
    table = read_table(path.read_text(), "large")
    example = Example("large/0", "", "words", ("words",), {"table": table, "title": "large", "columns": ()})
    (row,) = task.encode([example], codec)
    spent, peak = time.process_time() - started, tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(row.source) <= 96 + 2
    assert row.truncated > 0
    assert peak < MEGABYTES * 2**20
    assert spent < 3 * SECONDS  # tracing memory makes it slower
