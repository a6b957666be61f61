"""Time of Self-BLEU and of all diversity columns: metrics/diversity/self_bleu.py, nltk and, if installed, fast-bleu.

    python tools/benchmarks/self_bleu.py [--texts 1000] [--length 100] [--repeats 5] [--hypotheses 6]

Texts are made up: independent tokens of a Zipf law over 30,000 types. All give Self-BLEU-1 to -4 with nltk's method1
smoothing (fast-bleu has no order 1: 2 to 4). Forms run in turn in one process on one thread, and the least processor
time of the repeats counts, which is what a busy machine leaves comparable. nltk scores a few hypotheses against all
others, all orders in one call, and is extrapolated to every text. Differences are the largest between scores of single
texts, as fractions. fast-bleu holds weights in single precision: a third is not exact there, a half and a quarter are.
"""

from __future__ import annotations

import argparse
import os
import random
import time
from collections.abc import Callable
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before fast-bleu's OpenMP starts

import numpy as np
from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu

from bench.metrics.diversity.diversity import diversity_scores
from bench.metrics.diversity.ngrams import count_ngrams, lengths_of
from bench.metrics.diversity.self_bleu import self_bleu_of_texts

TYPES = 30_000
ORDERS = (1, 2, 3, 4)
WEIGHTS = {n: (1 / n,) * n for n in ORDERS}
Texts = list[list[int]]


def make_texts(n: int, length: int, seed: int) -> Texts:
    """Texts of independent tokens; rank r has probability proportional to 1 / (r + 2.7)."""
    generator = np.random.default_rng(seed)
    weights = 1 / (np.arange(1, TYPES + 1) + 2.7)
    lengths = generator.integers(max(1, length - 10), length + 11, n)
    drawn = np.split(generator.choice(TYPES, lengths.sum(), p=weights / weights.sum()), np.cumsum(lengths)[:-1])
    return [text.tolist() for text in drawn]


def by_nltk(texts: Texts, places: list[int]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """`[places, 4]` scores of some texts against all others."""
    smoothing = SmoothingFunction().method1
    return np.array(
        [
            sentence_bleu([*texts[:i], *texts[i + 1 :]], texts[i], [WEIGHTS[n] for n in ORDERS], smoothing)
            for i in places
        ]
    )


def by_fast_bleu(texts: Texts) -> np.ndarray[Any, np.dtype[np.float64]] | None:
    """`[texts, 3]` scores of orders 2 to 4, or None where fast-bleu is not installed."""
    try:
        from fast_bleu import SelfBLEU
    except ImportError:
        return None
    words = [[str(token) for token in text] for text in texts]
    scores = SelfBLEU(words, {n: WEIGHTS[n] for n in ORDERS[1:]}).get_score()
    return np.array([scores[n] for n in ORDERS[1:]]).T


def seconds(form: Callable[[], object]) -> float:
    """Processor time of one call."""
    start = time.process_time()
    form()
    return time.process_time() - start


def main() -> None:
    """Print one table and the differences."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("texts", 1000), ("length", 100), ("repeats", 5), ("hypotheses", 6)):
        parser.add_argument(f"--{name}", type=int, default=default)
    args = parser.parse_args()
    texts, references = make_texts(args.texts, args.length, 0), make_texts(args.texts, args.length, 1)
    rows = [
        {"id": i, "token_ids": t, "reference_ids": r} for i, (t, r) in enumerate(zip(texts, references, strict=True))
    ]
    places = random.Random(0).sample(range(len(texts)), min(args.hypotheses, len(texts)))
    gold = {row["id"]: {} for row in rows}
    forms: dict[str, Callable[[], object]] = {
        "Self-BLEU-1 to 4": lambda: self_bleu_of_texts(count_ngrams(texts, 4), lengths_of(texts), "original"),
        "  of it the n-gram pass": lambda: count_ngrams(texts, 4),
        "all columns of a rows file": lambda: diversity_scores(rows, gold),
    }
    ours, fast = self_bleu_of_texts(count_ngrams(texts, 4), lengths_of(texts), "original"), by_fast_bleu(texts)
    if fast is not None:
        forms["fast-bleu, 2 to 4"] = lambda: by_fast_bleu(texts)
    times: dict[str, list[float]] = {name: [] for name in forms}
    for _ in range(args.repeats):
        for name, form in forms.items():
            times[name].append(seconds(form))
    best = {name: min(found) for name, found in times.items()}
    base = best["Self-BLEU-1 to 4"]
    nltk = by_nltk(texts, places)
    best[f"nltk, from {len(places)} texts"] = min(seconds(lambda: by_nltk(texts, places[:1])) for _ in places) * len(
        texts
    )
    print(f"{len(texts)} texts of about {args.length} tokens, 1 thread, least processor time of {args.repeats}")
    for name, taken in best.items():
        print(f"{name:28}{taken:10.3f} s{taken / base:10.1f}x")
    print(f"largest difference from nltk {np.abs(nltk - ours[places]).max():.1e}")
    if fast is None:
        print("fast-bleu: peer not installed")
    else:
        far = np.abs(fast - ours[:, 1:]).max(axis=0)
        print(f"largest difference from fast-bleu, orders 2, 3, 4: {', '.join(f'{one:.1e}' for one in far)}")


if __name__ == "__main__":
    main()
