"""`bench status`: what the store holds, cell by cell, and what workers are doing in it."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.base.outward import plain
from bench.cli_options import json_option, say_damaged, store_options, task_names
from bench.queue.overview import Running, overviews, text_of
from bench.store.reading import summaries
from bench.store.store import Store


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `bench status`."""
    store_options(parser)
    json_option(parser)


def run(given: argparse.Namespace) -> int:
    """Print it; return 0, or 1 where files are damaged."""
    store = Store(Path(given.results))
    print(status(store, task_names(given.task, store), given.json))
    return say_damaged(store)


def status(store: Store, tasks: Sequence[str] | None, as_json: bool) -> str:
    """Return one line a cell: state, rows and scores; behind them the queues with the cells that workers have."""
    cells = list(summaries(store, tasks))
    queues = overviews(store.root)
    running = [describe_running(one) for queue in queues for one in queue.running]
    if as_json:
        return json.dumps([*cells, *(cell for cell in running if tasks is None or cell["task"] in tasks)], indent=1)
    if not cells and not queues:
        return f"no cells in '{store.root}' yet; bench run --task logicnlg --method mle makes some"
    return "\n".join([*(line_of(cell) for cell in cells), *(text_of(queue) for queue in queues)])


def describe_running(running: Running) -> dict[str, Any]:
    """Return a cell that a worker has as plain content."""
    settings = {name: running.config.get(name) for name in ("task", "method", "backbone", "seed", "preset")}
    about = {"worker": running.worker, "silent_s": running.silent_s, "progress": running.progress}
    return {"status": "running", "key": running.key, **settings, "rows": 0, "scores": 0, "error": "", **about}


def line_of(cell: Mapping[str, Any]) -> str:
    """Return a cell's state for people."""
    line = (
        f"{cell['status']:<10}{cell['task']} · {cell['method']} · {cell['backbone']} · seed {cell['seed']}  "
        f"[{cell['key']}]  {cell['rows']} rows files, {cell['scores']} scores files"
    )
    if cell["error"]:
        line += f"  {cell['error']}"
    return plain(line)
