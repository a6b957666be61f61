"""Time of ROUGE and of the overlap columns: metrics/overlap/rouge.py beside rouge-score, by either package.

    python tools/benchmarks/rouge.py [--texts 1000] [--length 100] [--repeats 3]

Texts are made up: words of a Zipf law over 30,000 types with English endings, so that the stemmer has work to do; a
hypothesis keeps about half of its reference's words. All give ROUGE-1, -2, -L and -Lsum with stems. Forms run in turn
in one process, and the least wall time of the repeats counts. Differences are the largest between F1 of single texts.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable

os.environ.setdefault("RAYON_NUM_THREADS", "1")  # of rouge-score-rs

import numpy as np
from rouge_score.rouge_scorer import RougeScorer

from bench.metrics.overlap.chrf import overlap_scores
from bench.metrics.overlap.rouge import rouge_recall_scores, rouge_scores, text_scores

THEIRS = ("rouge1", "rouge2", "rougeL", "rougeLsum")
TYPES = 30_000
Texts = list[str]


def make_texts(n: int, length: int) -> tuple[Texts, Texts]:
    """Hypotheses and references."""
    generator = np.random.default_rng(0)
    endings = ("", "s", "ing", "ed", "ly", "ation")
    letters = generator.integers(97, 123, (TYPES, 6)).astype(np.uint8)
    words = [bytes(row).decode() + endings[i % 6] for i, row in enumerate(letters)]
    weights = 1 / (np.arange(1, TYPES + 1) + 2.7)
    references = generator.choice(TYPES, (n, length), p=weights / weights.sum())
    other = generator.choice(TYPES, (n, length), p=weights / weights.sum())
    hypotheses = np.where(generator.random((n, length)) < 0.5, references, other)
    hypotheses, references = (
        [" ".join(words[i] for i in row) for row in side.tolist()] for side in (hypotheses, references)
    )
    return hypotheses, references


def by_rouge_score(hypotheses: Texts, references: Texts) -> list[list[float]]:
    """`[texts, 4]` F1."""
    scorer = RougeScorer(THEIRS, use_stemmer=True)
    found = list(map(scorer.score, references, hypotheses))
    return [[one[name].fmeasure for name in THEIRS] for one in found]


def by_rouge_score_here(hypotheses: Texts, references: Texts) -> np.ndarray:
    """As where rouge-score-rs is not installed."""
    kept = {name: sys.modules.pop(name) for name in [*sys.modules] if name.startswith("rouge_score_rs")}
    sys.modules["rouge_score_rs"] = None  # type: ignore[assignment]
    try:
        return text_scores(hypotheses, [[text] for text in references])
    finally:
        sys.modules.pop("rouge_score_rs")
        sys.modules.update(kept)


def seconds(form: Callable[[], object]) -> float:
    """Wall time of one call."""
    start = time.perf_counter()
    form()
    return time.perf_counter() - start


def main() -> None:
    """Print one table and the differences."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("texts", 1000), ("length", 100), ("repeats", 3)):
        parser.add_argument(f"--{name}", type=int, default=default)
    args = parser.parse_args()
    hypotheses, references = make_texts(args.texts, args.length)
    several = [[text] for text in references]
    rows = [{"id": i, "text": text} for i, text in enumerate(hypotheses)]
    gold = {i: {"references": texts} for i, texts in enumerate(several)}
    forms: dict[str, Callable[[], object]] = {
        "ROUGE-1, 2, L, Lsum here": lambda: text_scores(hypotheses, several),
        "  without rouge-score-rs": lambda: by_rouge_score_here(hypotheses, references),
        "rouge-score": lambda: by_rouge_score(hypotheses, references),
        "columns of rouge": lambda: rouge_scores(rows, gold),
        "columns of rouge_recall": lambda: rouge_recall_scores(rows, gold),
        "columns of overlap": lambda: overlap_scores(rows, gold),
    }
    times: dict[str, list[float]] = {name: [] for name in forms}
    for _ in range(args.repeats):
        for name, form in forms.items():
            times[name].append(seconds(form))
    best = {name: min(found) for name, found in times.items()}
    print(f"{args.texts} texts of {args.length} words, 1 thread, least wall time of {args.repeats}")
    for name, taken in best.items():
        print(f"{name:28}{taken:10.3f} s{taken / best['ROUGE-1, 2, L, Lsum here']:10.1f}x")
    far = np.abs(text_scores(hypotheses, several) - np.array(by_rouge_score(hypotheses, references))).max()
    print(f"largest difference from rouge-score {far:.1e}")


if __name__ == "__main__":
    main()
