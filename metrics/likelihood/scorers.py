"""Scorers: each metric family over stored rows, with ids checked first and a signature on every value."""

from __future__ import annotations

import math
from collections.abc import Sequence

from bench.metrics import sums as items_of
from bench.metrics.likelihood import cache_accuracy, perplexity
from bench.metrics.score import Gold, Row, Score, by_id, check_ids, explained, shares
from bench.metrics.sums import Sums

PERPLEXITY_UNITS: tuple[perplexity.Unit, ...] = ("token", "word", "byte")


def perplexity_scores(rows: Sequence[Row], gold: Gold) -> list[Score]:
    """Perplexity per token, word and byte; only the last two compare models with different tokenizers."""
    check_ids(rows, gold)
    rows, found = by_id(rows), []
    for unit in PERPLEXITY_UNITS:
        value = _finite(perplexity.perplexity(rows, unit))
        counts = [(row["nll_sum"], row[f"n_{unit}s"]) for row in rows]
        items = None if value is None else Sums(items_of.perplexity(), counts)
        score = Score(f"ppl/{unit}", value, "", False, len(rows), perplexity.signature(unit), items)
        found.append(explained(score, "infinite"))
    return found


def cache_accuracy_scores(rows: Sequence[Row], gold: Gold) -> list[Score]:
    """Acc@k of three rankings; a prompt counts once, and only when both its words are found."""
    check_ids(rows, gold)
    rows = by_id(rows)
    return [
        Score(f"acc@{k}/{mode}", cache_accuracy.acc_at_k(rows, mode, k), "percent", True, len(rows),
              cache_accuracy.signature(mode, k), shares(cache_accuracy.are_found(rows, mode, k)))
        for mode in cache_accuracy.MODES
        for k in cache_accuracy.KS
    ]  # fmt: skip


def matrix_rank_scores(rows: Sequence[Row], gold: Gold) -> list[Score]:
    """Rank of A at both tolerances, from its stored singular values."""
    import torch

    from bench.metrics.likelihood.matrix_rank import Precision, rank_of, signature

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
    from bench.metrics.overlap import table_bleu

    check_ids(rows, gold)
    rows = by_id(rows)
    hypotheses = [row["text"] for row in rows]
    references = [gold[row["id"]]["references"] for row in rows]
    counts = [table_bleu.bleu_counts(*pair) for pair in zip(hypotheses, references, strict=True)]
    corpus, sentence = table_bleu.signature("corpus"), table_bleu.signature("sentence")
    found = []
    for n, value in enumerate(table_bleu.corpus_bleu_123(hypotheses, references), start=1):
        form = items_of.bleu((*table_bleu.WEIGHTS[n - 1], 0.0, 0.0)[:3], "tiny")
        found.append(Score(f"bleu-{n}", value, "percent", True, len(rows), corpus, Sums(form, counts)))
    scores = table_bleu.sentence_scores(hypotheses, references)
    for n, value in enumerate(table_bleu.mean_of(scores), start=1):
        items = Sums(items_of.mean(1), [(one[n - 1], 1) for one in scores])
        found.append(Score(f"sentence-bleu-{n}", value, "percent", True, len(rows), sentence, items))
    return found


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
