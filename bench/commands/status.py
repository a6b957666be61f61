"""`bench status`: what the store holds, cell by cell."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.cli_options import task_names
from bench.store.store import CellFolder, Store


def run(given: argparse.Namespace) -> int:
    """Print it."""
    print(status(Path(given.results), task_names(given.task), given.json))
    return 0


def status(results: Path, tasks: Sequence[str] | None, as_json: bool) -> str:
    """Return one line a cell: state, rows and scores."""
    found = [describe(cell) for cell in Store(results).cells()]
    found = [cell for cell in found if tasks is None or cell["task"] in tasks]
    if as_json:
        return json.dumps(found, indent=1)
    if not found:
        return f"no cells in '{results}' yet; bench run --task logicnlg --method all makes some"
    lines = [f"{c['status']:<10}{c['task']} · {c['method']} · {c['backbone']} · seed {c['seed']}  [{c['key']}]  "
             f"{c['rows']} rows files, {c['scores']} scores files" + (f"  {c['error']}" if c["error"] else "")
             for c in found]  # fmt: skip
    return "\n".join(lines)


def describe(cell: CellFolder) -> dict[str, Any]:
    """Return a cell's state as plain content."""
    record = cell.failed() or cell.trained() or {}
    config = record.get("config", {})
    return {
        "status": record.get("status", "?"),
        "key": record.get("key", cell.path.name),
        **{name: config.get(name) for name in ("task", "method", "backbone", "seed", "preset")},
        "rows": len(list(cell.path.glob("rows-*"))),
        "scores": len(list(cell.path.glob("scores-*"))),
        "error": str(record.get("error", "")).splitlines()[0] if record.get("error") else "",
    }
