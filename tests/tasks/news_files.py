"""Made files of the news tasks, for their tests."""

import gzip
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from bench.tasks.core.task import Task
from bench.tasks.fetch.sources import Source

REAL = Path(os.environ.get("BENCH_DATA", "/nowhere"))


def loaded(kind: type[Task], folder: Path | None, **options: Any) -> Task:
    task = kind(**options)
    task.load(Source(folder, "test"))
    return task


def write(path: Path, rows: Sequence[Mapping[str, Any] | str]) -> Path:
    """Write rows by the name of the file; a text is a line as it is."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".parquet":
        pyarrow.parquet.write_table(pa.Table.from_pylist([dict(row) for row in rows]), path)  # type: ignore[arg-type]
        return path
    text = "".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows).encode()
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
    return path


def contents(task: Task, split: str) -> list[tuple[str, str, str]]:
    return [(row.id, row.source, row.target) for row in task.split(split).examples]
