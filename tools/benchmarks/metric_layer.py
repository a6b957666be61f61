"""Time of every metric family that needs no checkpoint, on texts of about 100 words.

    python tools/benchmarks/metric_layer.py [--texts 1000] [--words 100] [--repeats 3] [--family rouge]

One process, one thread; the median of --repeats runs after one that is not counted. Columns: family, seconds, texts a
second, columns with a value.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from typing import Any

import torch

from bench.metrics import METRICS


def texts_of(n: int, words: int, seed: int) -> list[list[int]]:
    """Zipf-distributed words in texts of 50 % to 150 % of a length."""
    draw = random.Random(seed)
    weights = [1 / (rank + 2) for rank in range(20_000)]
    return [draw.choices(range(len(weights)), weights, k=draw.randint(words // 2, 3 * words // 2)) for _ in range(n)]


def rows_of(n: int, words: int) -> tuple[list[dict[str, Any]], dict[str, dict[str, Any]]]:
    """Rows of every kind at once, and what they are compared with."""
    written, true, source = (texts_of(n, words, seed) for seed in range(3))
    rows, gold = [], {}
    for i, (ids, reference, given) in enumerate(zip(written, true, source, strict=True)):
        text, wanted, read = (" ".join(f"Word{token}" for token in one) for one in (ids, reference, given))
        rows.append({
            "id": f"test/{i:05}", "text": text, "token_ids": ids, "reference": wanted, "reference_ids": reference,
            "prompt": read, "groups": [len(ids), 1, 1, 1], "nll_sum": 3.0 * len(ids), "n_tokens": len(ids),
            "n_words": len(ids), "n_bytes": len(text), "n_cached": len(ids) // 2, "n_cache_hits": len(ids) // 3,
            "head": list(range(25)), "full": list(range(25)), "cache": list(range(25)), "wanted": [[1], [i % 50]],
        })  # fmt: skip
        gold[f"test/{i:05}"] = {"target": wanted, "references": [wanted], "source": read}
    return rows, gold


def main() -> None:
    """Print a line a family."""
    given = argparse.ArgumentParser()
    given.add_argument("--texts", type=int, default=1000)
    given.add_argument("--words", type=int, default=100)
    given.add_argument("--repeats", type=int, default=3)
    given.add_argument("--family", action="append", default=[])
    asked = given.parse_args()
    torch.set_num_threads(1)
    rows, gold = rows_of(asked.texts, asked.words)
    for name, metric in METRICS.items():
        if (asked.family and name not in asked.family) or metric.kind == "spectrum" or "table" in metric.gold:
            continue
        score, times, found = metric.load(), [], []
        for _ in range(asked.repeats + 1):
            started = time.perf_counter()
            found = score(rows, gold)
            times.append(time.perf_counter() - started)
        seconds, valued = statistics.median(times[1:]), sum(one.value is not None for one in found)
        print(f"{name:<18}{seconds:9.3f} s{asked.texts / seconds:12.0f} texts/s{valued:4} of {len(found)} columns",
              flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
