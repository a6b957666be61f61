"""Scorers: each metric family over stored rows, with ids checked first and a signature on every value."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

from bench.metrics import cache_accuracy, perplexity
from bench.metrics.score import Gold, Row, Score, check_ids, explained

PERPLEXITY_UNITS: tuple[perplexity.Unit, ...] = ("token", "word", "byte")


def perplexity_scores(rows: Sequence[Row], gold: Gold) -> list[Score]:
    """Perplexity per token, word and byte; only the last two compare models with different tokenizers."""
    check_ids(rows, gold)
    values = [_finite(perplexity.perplexity(rows, unit)) for unit in PERPLEXITY_UNITS]
    return [
        explained(Score(f"ppl/{unit}", value, "", False, len(rows), perplexity.signature(unit)), "infinite")
        for unit, value in zip(PERPLEXITY_UNITS, values, strict=True)
    ]


def cache_accuracy_scores(rows: Sequence[Row], gold: Gold) -> list[Score]:
    """Acc@k of three rankings; a prompt counts once, and only when both its words are found."""
    check_ids(rows, gold)
    return [
        Score(f"acc@{k}/{mode}", cache_accuracy.acc_at_k(rows, mode, k), "percent", True, len(rows),
              cache_accuracy.signature(mode, k))
        for mode in cache_accuracy.MODES
        for k in cache_accuracy.KS
    ]  # fmt: skip


def matrix_rank_scores(rows: Sequence[Row], gold: Gold) -> list[Score]:
    """Rank of A at both tolerances, from its stored singular values."""
    import torch

    from bench.metrics.matrix_rank import Precision, rank_of, signature

    if len(rows) != 1:
        raise ValueError(f"expected one row of singular values, got {len(rows)}")
    (row,) = rows
    values, shape = torch.tensor(row["values"], dtype=torch.float64), (row["shape"][0], row["shape"][1])
    precisions: tuple[Precision, ...] = ("float32", "float64")
    return [
        Score(f"rank/{p}", float(rank_of(values, shape, p)), "count", None, row["rows"],
              f"{signature(p)}|N:{shape[0]}|V:{shape[1]}")
        for p in precisions
    ]  # fmt: skip


def table_bleu_scores(rows: Sequence[Row], gold: Gold) -> list[Score]:
    """LogicNLG's BLEU-1/2/3 against all sentences of the table, on both published scales."""
    from bench.metrics import table_bleu

    check_ids(rows, gold)
    hypotheses = [row["text"] for row in rows]
    references = [gold[row["id"]]["references"] for row in rows]
    scales: tuple[Literal["corpus", "sentence"], ...] = ("corpus", "sentence")
    found = []
    for scale in scales:
        bleu = table_bleu.corpus_bleu_123 if scale == "corpus" else table_bleu.sentence_bleu_123
        label = "bleu" if scale == "corpus" else "sentence-bleu"
        for n, value in enumerate(bleu(hypotheses, references), start=1):
            found.append(Score(f"{label}-{n}", value, "percent", True, len(rows), table_bleu.signature(scale)))
    return found


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
