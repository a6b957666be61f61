"""Benchmark: how long `bench store status` and `bench report` take on a store of many cells, and how much memory.

python tools/benchmarks/large_store.py                  100 and 1,000 cells
python tools/benchmarks/large_store.py --cells 10000    as many as you like
python tools/benchmarks/large_store.py --folder F       keep the stores in a folder, and use those that are there

The cells of the kept board `small` are copied under new keys, with other seeds and learning rates. The rows of a copy's
sums are turned round, so that no two cells have the same file of sums and every value is still what they come to.
Limits at 10,000 cells: index and first report together 60 s, status 1 s, report 10 s (p-values kept from an earlier
report), 300 MB.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import count, islice
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from bench.base.keys import key_of
from bench.metrics.sums import Sums
from bench.store.files import Disk
from bench.store.store import CellFolder, Store

ROOT = Path(__file__).parents[2]
BOARD = ROOT / "leaderboards" / "runs" / "grid.jsonl"
SEEDS = 5
"""Seeds of a setting."""
PROVENANCE = {"bench": "0.0.0", "host": "somewhere"}


class Unsynced(Disk):
    """Files written without waiting for the disk."""

    def write(self, path: Path, content: bytes | Callable[[BinaryIO], object], *, replace: bool = False) -> None:
        """Write a file."""
        assert isinstance(content, bytes)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def fill(root: Path, n: int) -> None:
    """Write a store of n cells."""
    kept = list(Store(BOARD).cells())
    for cell, number in islice(copies(kept), n):
        write_copy(root, cell, number)


def copies(kept: list[CellFolder]) -> Iterator[tuple[CellFolder, int]]:
    """Yield each cell and the number of its copy, for ever."""
    for number in count():
        for cell in kept:
            yield cell, number


def write_copy(root: Path, cell: CellFolder, number: int) -> None:
    """Write a cell under another key, seed and learning rate."""
    content: dict[str, Any] = cell.trained() or {}
    setting, seed = divmod(number, SEEDS)
    config = {**content["config"], "seed": 100 * content["config"]["seed"] + seed}
    config["trainer"] = {**config["trainer"], "lr": 1e-5 * (setting + 1)}
    key = key_of([content["key"], number])
    copy = CellFolder(root / config["task"] / config["method"] / key, Unsynced())
    copy.write_trained({**content, "key": key, "config": config}, PROVENANCE)
    for name in cell.names("scores-*.json"):
        scores = cell.scores(name.removeprefix("scores-").removesuffix(".json")) or {}
        rows = key_of([scores["rows"], number])
        scores = {**scores, "rows": rows, "of": {**scores["of"], "trained": key}}
        if "items" in scores:
            sums = {column: turned(of, number) for column, of in cell.sums(scores["items"]).items()}
            scores["items"] = copy.write_sums(sums)
        copy.write_scores(key_of([rows, scores["family"], scores["version"]]), scores, PROVENANCE)


def turned(sums: Sums, number: int) -> Sums:
    """Return sums with their rows turned round."""
    return Sums(sums.form, np.roll(sums.values, number, axis=0))


def measured(folder: Path, *words: str, cache: Path) -> tuple[float, float, int]:
    """Return seconds, CPU seconds and peak megabytes of a command on a store; what it prints is thrown away."""
    environment = {**os.environ, "BENCH_CACHE": str(cache), "OMP_NUM_THREADS": "1"}
    started = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "bench", *words, "--results", str(folder)], stdout=subprocess.DEVNULL, env=environment
    )
    _, code, used = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - started
    if code:
        raise SystemExit(f"bench {' '.join(words)} ended with {os.waitstatus_to_exitcode(code)}")
    return seconds, used.ru_utime + used.ru_stime, used.ru_maxrss // 1024


def main() -> None:
    """Print seconds and megabytes."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--cells", type=int, nargs="+", default=[100, 1000])
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        for n in given.cells:
            measure(given.folder or Path(temporary), n)


def measure(folder: Path, n: int) -> None:
    """Print the figures of a store of n cells, made unless it is there."""
    root = folder / f"cells-{n}"
    if not root.is_dir():
        started = time.perf_counter()
        fill(root, n)
        print(f"{n} cells written in {time.perf_counter() - started:.0f} s", flush=True)
    cache = folder / f"cache-{n}"
    rounds = [
        ("store status", "first"),
        ("store status", "again"),
        ("report", "first"),
        ("report", "again"),
        ("report", "third"),
    ]
    for command, when in rounds:
        seconds, cpu, megabytes = measured(root, *command.split(), cache=cache)
        print(f"{n:>6} cells  {command:<13}{when:<6} {seconds:7.2f} s, CPU {cpu:7.2f} s {megabytes:6} MB", flush=True)


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    main()
