"""Coherence: the cosine of the sentence embeddings of a prompt and its continuation (Su et al. 2022; HistAlign, 5.3).

HistAlign names no encoder; the usual one here is supervised SimCSE of BERT-base, and `BENCH_SIMCSE` names another by
its hub id or folder. Pair i is prompt i with text i. A text or prompt without a word has nothing to cohere with and
counts 0.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.functional import cosine_similarity

from bench.metrics.faithfulness.embedder import Embedder, NoVerifier, embed, load
from bench.metrics.score import NOT_APPLICABLE, Gold, Row, Score, ordered, score_of_sums
from bench.metrics.sources import NO_SOURCE, sources_of
from bench.metrics.sums import mean, value_of

__all__ = ["DEFAULT", "coherence", "coherence_scores", "cosines", "signature"]

DEFAULT = "princeton-nlp/sup-simcse-bert-base-uncased"
VARIABLE = "BENCH_SIMCSE"


def cosines(prompts: Sequence[str], texts: Sequence[str], embedder: Embedder) -> tuple[Tensor, int]:
    """Return the cosine of each prompt and its text, `[texts]` in float64, and how many of both were cut.

    Args:
        prompts: one for each text.
        texts: continuations.
        embedder: as loaded.

    Raises:
        ValueError: unlike numbers of prompts and texts.
    """
    if len(prompts) != len(texts):
        raise ValueError(f"expected one prompt for each text, got {len(prompts)} prompts and {len(texts)} texts")
    embeddings, cut = embed(embedder, [*prompts, *texts])  # [2 texts, d]
    of_prompts, of_texts = embeddings[: len(texts)].double(), embeddings[len(texts) :].double()
    worded = [bool(prompt.strip() and text.strip()) for prompt, text in zip(prompts, texts, strict=True)]
    return cosine_similarity(of_prompts, of_texts, dim=1) * torch.tensor(worded, dtype=torch.float64), cut


def coherence(prompts: Sequence[str], texts: Sequence[str], embedder: Embedder) -> float | None:
    """Return the mean cosine times 100; None without a text. Arguments and errors as for `cosines`."""
    values, _ = cosines(prompts, texts, embedder)
    return value_of([math.fsum(values.tolist()), len(values)], mean())


def signature(embedder: Embedder) -> str:
    """Name everything the score depends on."""
    return f"coherence|cosine of:prompt, text|empty:0|scale:percent|{embedder.signature}|version:2"


def coherence_scores(rows: Sequence[Row], gold: Gold) -> list[Score]:
    """Score texts by their cosine with the prompt that they continue, and count the prompts and texts that were cut.

    An encoder in float32 reads a text among others with other last digits, so this is a function of all rows.

    Args:
        rows: `{"id", "text"}`, with the `prompt` in open-ended tasks.
        gold: `{id: {"source"}}` for rows without a prompt; without any, the value is None.

    Raises:
        ValueError: other ids than the gold's, or a prompt in some rows only.
    """
    rows = ordered(rows, gold)
    prompts = sources_of(rows, gold)
    if prompts is None:
        return _without_value(len(rows), NO_SOURCE)
    try:
        embedder = load(os.environ.get(VARIABLE) or DEFAULT)
    except NoVerifier as why:
        return _without_value(len(rows), f"{NOT_APPLICABLE}{why}")
    values, cut = cosines(prompts, [row["text"] for row in rows], embedder)
    pairs, signed = [(value, 1) for value in values.tolist()], signature(embedder)
    return [
        score_of_sums("coherence", mean(), pairs, signed, higher_is_better=True),
        Score("coherence/truncated", float(cut), "count", None, len(rows), signed),
    ]


def _without_value(n: int, reason: str) -> list[Score]:
    signed = f"coherence|version:2|{reason}"
    return [
        Score("coherence", None, "percent", True, n, signed),
        Score("coherence/truncated", None, "count", None, n, signed),
    ]
