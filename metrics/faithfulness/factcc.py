"""FactCC: the share of claims that a classifier finds consistent with their source (Kryscinski et al. 2020, EMNLP).

The classifier reads (document, claim) in this order, uncased, 512 word pieces, of which the longer text loses some. It
was trained on single sentences as claims, so each sentence of a summary is a claim by default (`unit="sentence"`); for
one-sentence summaries both units are the same.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import cache
from typing import Any, Literal

from bench.metrics.faithfulness import verifiers
from bench.metrics.faithfulness.checkpoints import choose
from bench.metrics.faithfulness.verifiers import Verifier
from bench.metrics.score import Family, Gold, Row

__all__ = ["Unit", "claims_of", "factcc", "factcc_family", "factcc_scores", "load_factcc"]

Unit = Literal["sentence", "summary"]

CHECKPOINT = "manueldeprada/FactCC"
MAX_LENGTH = 512


def load_factcc(checkpoint: str = CHECKPOINT) -> Verifier:
    """Load the classifier; arguments and errors as for `verifiers.load`."""
    from transformers import BertForSequenceClassification, BertTokenizer

    return verifiers.load(checkpoint, BertForSequenceClassification, BertTokenizer, "correct")


def claims_of(summary: str, unit: Unit = "sentence") -> list[str]:
    """Return the claims of a summary: its sentences, which end at line breaks too, or the summary itself.

    >>> claims_of("The Aldra rose. It fell again.\\nNo one was hurt"), claims_of("")
    (['The Aldra rose.', 'It fell again.', 'No one was hurt'], [''])
    """
    if unit == "summary":
        return [summary]
    claims = [claim for line in summary.splitlines() for claim in _splitter().tokenize(line)]
    return claims or [summary]


@cache
def _splitter() -> Any:
    from nltk.tokenize.punkt import PunktSentenceTokenizer

    return PunktSentenceTokenizer()  # untrained: its rules need no data


def factcc(
    documents: Sequence[str], summaries: Sequence[str], verifier: Verifier, unit: Unit = "sentence"
) -> list[list[bool]]:
    """Return for each claim of each summary whether its document supports it; there is a document for each summary."""
    tokenizer = verifier.tokenizer
    counts, encoded = [], []
    for document, summary in zip(documents, summaries, strict=True):
        text = verifiers.plain_text(document, tokenizer)
        claims = claims_of(verifiers.plain_text(summary, tokenizer), unit)
        counts.append(len(claims))
        for claim in claims:
            encoded.append(dict(tokenizer(text, claim, truncation="longest_first", max_length=MAX_LENGTH)))
    verdicts = iter(verifiers.verdicts(verifier, encoded))
    return [list(itertools.islice(verdicts, count)) for count in counts]


def factcc_family(*, checkpoint: str | None = None, unit: Unit = "sentence") -> Family:
    """Return the family that scores summaries by the share of their claims that are consistent, over all claims.

    Rows are `{"id", "text"}`, gold is `{id: {"source"}}`.

    Args:
        checkpoint: a folder, or a hub id that is in the cache; by default the value of BENCH_FACTCC, else `CHECKPOINT`.
        unit: what a claim is.
    """

    def decide(rows: Sequence[Row], gold: Gold) -> tuple[Verifier, list[list[bool]]]:
        documents = verifiers.source_texts(rows, gold)
        verifier = verifiers.loaded(load_factcc, choose(checkpoint, "BENCH_FACTCC", CHECKPOINT))
        return verifier, factcc(documents, [row["text"] for row in rows], verifier, unit)

    options = f"factcc|unit:{unit}|mean:claims|split:lines+punkt_rules|max:{MAX_LENGTH}"
    return verifiers.verdict_family("factcc", options, decide)


factcc_scores = factcc_family()
"""The share of sentences that FactCC finds consistent with the source."""
