"""States: seconds of one of GPT-2's size, and damages found. `python -m tools.chaos.state_size [--gigabytes 1.5]`."""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path

import torch

from bench.config.config import ExecutionConfig
from bench.store.state_files import StateFiles, read_state, write_state

SHARE = 0.02
"""Goal: of the time between two states."""

DAMAGES = {"truncated": 300, "one bit": 1000, "zero page": 300}


def seconds_of_a_save(folder: Path, gigabytes: float) -> float:
    """Return seconds until a state is written with fsync and hash, for which a training stands still."""
    parts = 12
    size = int(gigabytes * 1e9 / 4 / parts)
    content = {"state_dict": {str(part): torch.randn(size) for part in range(parts)}}
    path = StateFiles(folder).path(1)
    begun = time.monotonic()
    write_state(path, content)
    written = time.monotonic()
    read_state(path)
    path.unlink()
    return written - begun


def undetected(folder: Path) -> dict[str, int]:
    """Return how many damaged states of each kind are taken for whole, or keep the one before from being taken."""
    files, chance = StateFiles(folder), random.Random(5)
    for step in (1, 2):
        write_state(files.path(step), {"state_dict": {"weight": torch.randn(5000)}, "global_step": step})
    path, before = files.path(2), files.path(1)
    data = path.read_bytes()
    missed = {}
    for kind, number in DAMAGES.items():
        missed[kind] = 0
        for _ in range(number):
            path.write_bytes(damaged(data, kind, chance))
            missed[kind] += files.newest_whole() != before
    return missed


def damaged(data: bytes, kind: str, chance: random.Random) -> bytes:
    """Return a file with one damage; a page that was zero already counts as none, so another is taken."""
    while True:
        at = chance.randrange(len(data))
        if kind == "truncated":
            return data[:at]
        if kind == "one bit":
            return data[:at] + bytes([data[at] ^ 1 << chance.randrange(8)]) + data[at + 1 :]
        page = at // 4096 * 4096
        zeroed = data[:page] + bytes(min(4096, len(data) - page)) + data[page + 4096 :]
        if zeroed != data:
            return zeroed


def main() -> int:
    """Print goal and measured; return the exit code."""
    options = argparse.ArgumentParser()
    options.add_argument("--gigabytes", type=float, default=1.5)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        stands = seconds_of_a_save(Path(folder), given.gigabytes)
        missed = undetected(Path(folder) / "small")
    between = ExecutionConfig().state_every
    share = stands / between
    print(f"state of {given.gigabytes} GB · the training stands still for {stands:.1f} s")
    states = f"one of {given.gigabytes} GB every {between:.0f} s"
    what = f"share of the time in which a training waits for its states, {states}"
    print(f"{what} · goal: <= {SHARE:.0%} · measured: {share:.1%}")
    for kind, number in DAMAGES.items():
        found = f"{number - missed[kind]} of {number}"
        print(f"a damaged state: {kind} · goal: {number} of {number} found · measured: {found}")
    return int(share > SHARE or any(missed.values()))


if __name__ == "__main__":
    sys.exit(main())
