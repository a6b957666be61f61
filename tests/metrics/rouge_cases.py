"""Texts, published outputs, oracles and values of plain texts that the tests of overlap share."""

import gzip
import math
import os
import random
from functools import cache
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st
from rouge_score import rouge_scorer

from bench.metrics.overlap.bleu_chrf import overlap_scores
from bench.metrics.overlap.rouge import RougeColumns

DATA = Path(os.environ.get("BENCH_DATA") or Path(__file__).parents[2] / ".." / "shared" / "data")
published = pytest.mark.skipif(
    not (DATA / "xsum").is_dir(), reason="no published outputs: set BENCH_DATA to the folder that holds xsum/"
)
needs_forms = pytest.mark.skipif(
    not any(distributions(name="py-rouge")), reason="py-rouge is not installed: the extra 'rouge155'"
)
N_XSUM = 11_334
THEIRS = {"rouge-1": "rouge1", "rouge-2": "rouge2", "rouge-3": "rouge3", "rouge-4": "rouge4", "rouge-l": "rougeL",
          "rouge-lsum": "rougeLsum"}  # fmt: skip

WORDS = ["the", "The", "a", "cat", "cats", "running", "runs", "said", "says", "U.S.", "don't", "42", "\n", "été",
         "세계", "мир", "ıİ", "K", "😀", "-", "_x", "\u2028", "\x85", "e\u0301"]  # fmt: skip
TEXT = st.one_of(st.lists(st.sampled_from(WORDS), max_size=25).map(" ".join), st.text(max_size=20))
CORPUS = st.lists(st.tuples(TEXT, st.lists(TEXT, min_size=1, max_size=4)), min_size=1, max_size=5)
LATIN = st.lists(st.sampled_from(WORDS[:12]), max_size=12).map(" ".join)
LATIN_CORPUS = st.lists(st.tuples(LATIN, st.lists(LATIN, min_size=1, max_size=4)), min_size=1, max_size=5)


def xsum_lines(name: str) -> list[str]:
    """One text for each row of the official test split, by the file's name below xsum/."""
    lines = gzip.decompress((DATA / "xsum" / f"{name}.gz").read_bytes()).decode().split("\n")[:N_XSUM]
    assert len(lines) == N_XSUM
    return lines


@cache
def oracle(kinds: tuple[str, ...], stem: bool) -> rouge_scorer.RougeScorer:
    return rouge_scorer.RougeScorer([THEIRS[kind] for kind in kinds], use_stemmer=stem)


def drawn_corpus(n: int, seed: int = 0, most: int = 3) -> tuple[list[str], list[list[str]]]:
    """Hypotheses and one to `most` references each, in Latin letters; some of them empty."""
    rng = random.Random(seed)
    draw = lambda: " ".join(rng.choices(WORDS[:12], k=rng.randint(0, 12)))  # noqa: E731
    return [draw() for _ in range(n)], [[draw() for _ in range(rng.randint(1, most))] for _ in range(n)]


def text_scores(texts: Any, references: Any, kinds: Any, measure: Any = "f1", **options: Any) -> Any:
    return RougeColumns(tuple(kinds), measure, **options).text_scores(texts, references)


def rouge(texts: Any, references: Any, kinds: Any, measure: Any = "f1", **options: Any) -> list[float]:
    """Each kind of ROUGE in percent."""
    scores = text_scores(texts, references, kinds, measure, **options)
    return [100 * math.fsum(column) / len(scores) for column in scores.T.tolist()]


def stored(texts: Any, references: Any) -> tuple[list[dict[str, Any]], dict[str, dict[str, Any]]]:
    """Rows and gold of texts with references."""
    rows = [{"id": f"test/{place:05}", "text": text} for place, text in enumerate(texts)]
    return rows, {row["id"]: {"references": of_text} for row, of_text in zip(rows, references, strict=True)}


def overlap(texts: Any, references: Any) -> dict[str, float | None]:
    """BLEU and chrF."""
    return {score.name: score.value for score in overlap_scores(*stored(texts, references))}
