"""FactCC: the share of claims that a classifier finds consistent with their source (Kryscinski et al. 2020, EMNLP).

The classifier reads (document, claim) in this order, uncased, 512 word pieces, of which the longer text loses some. It
was trained on single sentences as claims, so a summary of several is one claim each by default (`unit="sentence"`); of
one-sentence summaries both units are the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, Literal

from bench.metrics.faithfulness import verifiers
from bench.metrics.faithfulness.verifiers import Verifier
from bench.metrics.score import Gold, Row, Score, check_ids

__all__ = ["CHECKPOINT", "Unit", "claims_of", "factcc", "factcc_scores", "load_factcc"]

Unit = Literal["sentence", "summary"]

CHECKPOINT = "manueldeprada/FactCC"
MAX_LENGTH = 512


def load_factcc(checkpoint: str = CHECKPOINT, device: str | None = None) -> Verifier:
    """Load the classifier; arguments and errors as for `verifiers.load`."""
    from transformers import BertForSequenceClassification, BertTokenizer

    return verifiers.load(checkpoint, BertForSequenceClassification, BertTokenizer, "correct", device=device)


def claims_of(summary: str, unit: Unit = "sentence") -> list[str]:
    """Return the claims of a summary: its sentences, a line break ending one too, or the summary itself.

    >>> claims_of("The Aldra rose. It fell again.\\nNo one was hurt"), claims_of("")
    (['The Aldra rose.', 'It fell again.', 'No one was hurt'], [''])
    """
    if unit == "summary":
        return [summary]
    return [claim for line in summary.splitlines() for claim in _splitter().tokenize(line)] or [summary]


@cache
def _splitter() -> Any:
    from nltk.tokenize.punkt import PunktSentenceTokenizer

    return PunktSentenceTokenizer()  # untrained: its rules need no data


def factcc(
    documents: Sequence[str], summaries: Sequence[str], verifier: Verifier, unit: Unit = "sentence"
) -> list[list[bool]]:
    """Return for each claim of each summary whether its document supports it.

    Raises:
        ValueError: not as many documents as summaries.
    """
    if len(documents) != len(summaries):
        raise ValueError(f"expected a document per summary, got {len(documents)} and {len(summaries)}")
    tokenizer = verifier.tokenizer
    claims = [claims_of(verifiers.plain_text(summary, tokenizer), unit) for summary in summaries]
    pairs = [(verifiers.plain_text(text, tokenizer), one)
             for text, some in zip(documents, claims, strict=True) for one in some]  # fmt: skip
    encoded = [dict(tokenizer(text, claim, truncation="longest_first", max_length=MAX_LENGTH)) for text, claim in pairs]
    found = iter(verifiers.verdicts(verifier, encoded))
    return [[next(found) for _ in some] for some in claims]


def factcc_scores(
    rows: Sequence[Row],
    gold: Gold,
    *,
    checkpoint: str | None = None,
    unit: Unit = "sentence",
    device: str | None = None,
) -> list[Score]:
    """Score summaries by the share of their claims that are consistent, over all claims.

    Args:
        rows: `{"id", "text"}`.
        gold: `{id: {"source"}}`.
        checkpoint: a folder, or a hub id that is in the cache; by default what BENCH_FACTCC names, else `CHECKPOINT`.
        unit: what a claim is.
        device: by default the GPU if there is one.

    Raises:
        ValueError: other ids than the gold's.
    """
    check_ids(rows, gold)
    rows = sorted(rows, key=lambda row: str(row["id"]))
    documents = [str(gold[row["id"]].get("source") or "") for row in rows]
    texts = [row["text"] for row in rows]
    named = verifiers.named(checkpoint, "BENCH_FACTCC", CHECKPOINT)
    signed = f"factcc|unit:{unit}|mean:claims|split:lines+punkt_rules|max:{MAX_LENGTH}"
    return verifiers.scored(
        "factcc", len(rows), signed, lambda: load_factcc(named, device),
        lambda verifier: factcc(documents, texts, verifier, unit),
        "" if all(documents) else "no source text",
    )  # fmt: skip
