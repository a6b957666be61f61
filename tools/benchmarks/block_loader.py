"""Block loader: batches of 512-token blocks from our mapped rows against a torch loader over an arrow table.

Both read the same file-backed tokens and give `input_ids` and `labels` of 8 blocks; they take turns in one process.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import torch
from torch.utils.data import DataLoader

from bench.tasks.encode.batches import Epoch, MicroBatches, Order
from bench.tasks.encode.bpe import train_bpe
from bench.tasks.encode.codec import Codec, Encoded
from bench.tasks.encode.stream import blocks
from bench.tasks.encode.token_store import TokenStore, Wanted

BLOCK, BATCH, BLOCKS, ROUNDS = 512, 8, 4096, 5


def ours(folder: Path, tokens: np.ndarray) -> Callable[[], Iterator[dict[str, torch.Tensor]]]:
    """Return what makes an epoch of our training batches."""
    codec = Codec(train_bpe(["the cat sat on the mat"], 300), "decoder-only", 8, BLOCK)
    parts = np.split(tokens, 64)
    wanted = Wanted(64, lambda a, b: [Encoded(str(i), (), parts[i]) for i in range(a, b)], 30_000)
    rows = blocks(TokenStore.stored(folder / "bins", wanted), "train", codec)
    steps = BLOCKS // BATCH
    seeds = iter(range(1000))
    return lambda: iter(Epoch(MicroBatches(rows, Order(BLOCKS, BATCH, next(seeds)), codec.picked), steps, lambda: 0))


def arrow(folder: Path, tokens: np.ndarray) -> Callable[[], Iterator[dict[str, torch.Tensor]]]:
    """Return what makes an epoch of batches from an arrow table in torch format, as most training scripts do."""
    import datasets

    rows = tokens.reshape(BLOCKS, BLOCK).astype(np.int64)
    table = datasets.Dataset.from_dict({"input_ids": list(rows), "labels": list(rows)})
    table.save_to_disk(folder / "arrow")
    found = datasets.load_from_disk(folder / "arrow").with_format("torch")
    return lambda: iter(DataLoader(found, batch_size=BATCH, shuffle=True))


def main() -> None:
    """Print the ratio."""
    torch.set_num_threads(1)
    tokens = np.random.default_rng(0).integers(4, 30_000, BLOCK * BLOCKS)
    times: dict[str, list[float]] = {"ours": [], "arrow": []}
    with tempfile.TemporaryDirectory() as scratch:
        makers = {"ours": ours(Path(scratch), tokens), "arrow": arrow(Path(scratch), tokens)}
        seen = {name: sum(int(b["labels"].clamp(min=0).sum()) for b in make()) for name, make in makers.items()}
        for _ in range(ROUNDS):
            for name, make in makers.items():
                start = time.perf_counter()
                for _batch in make():
                    pass
                times[name].append((time.perf_counter() - start) / (BLOCKS // BATCH))
    best = {name: min(of) for name, of in times.items()}
    json.dump({
        "ms_per_batch": {name: round(1e3 * value, 4) for name, value in best.items()},
        "ratio": round(best["arrow"] / best["ours"], 2),
        "ratio_of_medians": round(statistics.median(times["arrow"]) / statistics.median(times["ours"]), 2),
        "sum_of_tokens_equal": seen["ours"] == seen["arrow"],
    }, sys.stdout, indent=1)  # fmt: skip
    print()


if __name__ == "__main__":
    main()
