"""Coherence: the cosine of the sentence embeddings of a prompt and its continuation (Su et al. 2022; HistAlign, 5.3).

HistAlign names no encoder; the usual one here is supervised SimCSE of BERT-base, and `BENCH_SIMCSE` names another by
its hub id or folder. Pair i is prompt i with text i. A text or prompt without a word has nothing to cohere with and
counts 0.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.nn.functional import cosine_similarity

from bench.metrics.faithfulness.embedder import Embedder, NoVerifier, embed, load
from bench.metrics.score import Gold, Row, Score, check_ids
from bench.metrics.sources import NO_SOURCE, sources_of
from bench.metrics.sums import Sums, mean

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
    both, cut = embed(embedder, [*prompts, *texts])
    found = cosine_similarity(both[: len(texts)].double(), both[len(texts) :].double(), dim=1)
    worded = [bool(prompt.strip() and text.strip()) for prompt, text in zip(prompts, texts, strict=True)]
    return found * torch.tensor(worded, dtype=torch.float64), cut


def coherence(prompts: Sequence[str], texts: Sequence[str], embedder: Embedder) -> float | None:
    """Return the mean cosine times 100; None without a text. Arguments and errors as for `cosines`."""
    found, _ = cosines(prompts, texts, embedder)
    return 100.0 * math.fsum(found.tolist()) / len(found) if len(found) else None


def signature(embedder: Embedder) -> str:
    """Name everything the score depends on."""
    return f"coherence|cosine of:prompt, text|empty:0|scale:percent|{embedder.signature}|version:2"


def coherence_scores(rows: Sequence[Row], gold: Gold, loader: Callable[[str], Embedder] = load) -> list[Score]:
    """Score texts by their cosine with the prompt that they continue.

    Args:
        rows: `{"id", "text"}`, with the `prompt` in open-ended tasks.
        gold: `{id: {"source"}}` for rows without a prompt; without any, the value is None.
        loader: loads the encoder; None and the reason where it cannot.

    Raises:
        ValueError: other ids than the gold's, or a prompt in some rows only.
    """
    check_ids(rows, gold)
    rows = sorted(rows, key=lambda row: str(row["id"]))
    prompts, value, cut, items = sources_of(rows, gold), None, None, None
    if prompts is None:
        signed = f"coherence|version:2|{NO_SOURCE}"
    else:
        try:
            embedder = loader(os.environ.get(VARIABLE) or DEFAULT)
        except NoVerifier as why:
            signed = f"coherence|version:2|not applicable: {why}"
        else:
            found, cut = cosines(prompts, [row["text"] for row in rows], embedder)
            value, signed = 100.0 * math.fsum(found.tolist()) / len(found), signature(embedder)
            items = Sums(mean(), [(one, 1) for one in found.tolist()])
    return [
        Score("coherence", value, "percent", True, len(rows), signed, items),
        # Prompts and texts that were cut.
        Score("coherence/truncated", None if cut is None else float(cut), "count", None, len(rows), signed),
    ]
