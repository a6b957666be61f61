"""Coherence: the cosine of the sentence embeddings of a prompt and its continuation (Su et al. 2022; HistAlign, 5.3).

HistAlign names no encoder; the usual one is supervised SimCSE of BERT-base. `coherence[NAME]` or `BENCH_SIMCSE` names
another by its name for `bench models get`, its hub id or folder; its numbers have columns of their own. Pair i is
prompt i with text i. A pair in which the text or the prompt has no word counts 0.
"""

import os
from collections.abc import Sequence
from functools import partial

import torch
from torch import Tensor
from torch.nn.functional import cosine_similarity

from bench.metrics.faithfulness.checkpoints import NotApplicable, label_of
from bench.metrics.faithfulness.embedder import Embedder, embed, load
from bench.metrics.score import NO_SOURCE, Gold, Row, Score, Scorer, explained, ordered, score_of_sums, sources_of
from bench.metrics.sums import mean

DEFAULT = "princeton-nlp/sup-simcse-bert-base-uncased"
VARIABLE = "BENCH_SIMCSE"


def cosines(prompts: Sequence[str], texts: Sequence[str], embedder: Embedder) -> tuple[Tensor, int]:
    """Return the cosine of each prompt and its text, `[texts]` in float64, and how many of both were cut."""
    embeddings, cut = embed(embedder, [*prompts, *texts])  # [2 texts, d]
    of_prompts, of_texts = embeddings[: len(texts)].double(), embeddings[len(texts) :].double()
    have_words = [bool(prompt.strip() and text.strip()) for prompt, text in zip(prompts, texts, strict=True)]
    return cosine_similarity(of_prompts, of_texts, dim=1) * torch.tensor(have_words, dtype=torch.float64), cut


def coherence_scores(rows: Sequence[Row], gold: Gold, encoder: str = "") -> list[Score]:
    """Score texts by the mean cosine with the prompt that they continue, and count the prompts and texts that were cut.

    An encoder in float32 reads a text in another batch with other last digits, so this is a function of all rows.

    Args:
        rows: `{"id", "text"}`, with the `prompt` in open-ended tasks.
        gold: `{id: {"source"}}` for rows without a prompt; without any, the value is None.
        encoder: a folder, hub id or name for `bench models get`; by default the value of BENCH_SIMCSE, else `DEFAULT`.

    Raises:
        ValueError: the ids are not those of `gold`, or a prompt in some rows only.
    """
    rows = ordered(rows, gold)
    prompts = sources_of(rows, gold)
    named = label_of(encoder) if encoder else ""
    encoder = encoder or os.environ.get(VARIABLE) or DEFAULT
    name = f"coherence{named or label_of(encoder, DEFAULT)}"
    if prompts is None:
        return _without_value(name, len(rows), NO_SOURCE)
    try:
        embedder = load(encoder)
    except NotApplicable as reason:
        return _without_value(name, len(rows), str(reason))
    values, cut = cosines(prompts, [row["text"] for row in rows], embedder)
    signature = f"coherence|cosine of:prompt, text|empty:0|scale:percent|{embedder.signature}|version:2"
    pairs = [(value, 1) for value in values.tolist()]
    return [
        score_of_sums(name, mean(), pairs, signature, higher_is_better=True),
        Score(f"{name}/truncated", float(cut), "count", None, len(rows), signature),
    ]


def coherence_by(encoder: str) -> Scorer:
    """Return the scorer by a named encoder."""
    return partial(coherence_scores, encoder=encoder)


def _without_value(name: str, n: int, reason: str) -> list[Score]:
    columns = [
        Score(name, None, "percent", True, n, "coherence|version:2"),
        Score(f"{name}/truncated", None, "count", None, n, "coherence|version:2"),
    ]
    return [explained(column, reason) for column in columns]
