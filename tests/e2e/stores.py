"""What the end-to-end tests compare: the canonical content of a store, that is all of it but provenance."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

from bench.keys import canonical

TASKS, METHODS = "ambiguous_template,logicnlg", "mle,trime,histalign"
SETTINGS = (
    "trainer.steps=3", "trainer.batch_size=4", "trainer.max_target=6", "trainer.max_source=40",
    "backbone.width=16", "backbone.heads=2", "backbone.layers=1", "backbone.vocabulary=300",
    "evaluation.batch_size=3", "evaluation.spectrum_rows=3",
)  # fmt: skip


def arguments(
    results: Path, *more: str, task: str = TASKS, method: str = METHODS, limit: int = 8, sets: tuple[str, ...] = ()
) -> list[str]:
    """Return the command line of a tiny run."""
    return ["run", "--task", task, "--method", method, "--preset", "small", "--limit", str(limit), "--threads", "1",
            "--quiet", "--json", "--results", str(results), *more, "--set", *SETTINGS, *sets]  # fmt: skip


def contents(results: Path) -> dict[str, bytes]:
    """Return the canonical content of every file of a store by its name; temporary files are files too."""
    files = (path for path in sorted(results.rglob("*")) if path.is_file())
    return {str(path.relative_to(results)): content_of(path) for path in files}


def content_of(path: Path) -> bytes:
    """Return a file without its provenance."""
    data = path.read_bytes()
    if path.name.endswith(".jsonl.gz"):
        *lines, closing = gzip.decompress(data).splitlines()
        return b"\n".join([*lines, canonical({"sha256": json.loads(closing)["sha256"]})])
    if path.suffix == ".json":
        record = json.loads(data)
        del record["provenance"]
        return canonical(record)
    return data


def rows_of(results: Path, kind: str) -> list[dict[str, object]]:
    """Return the rows of the only rows file of a kind."""
    found = []
    for path in sorted(results.rglob("rows-*.jsonl.gz")):
        header, *rows, _ = [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]
        if header["content"]["kind"] == kind:
            found.append(rows)
    (rows,) = found
    return rows
