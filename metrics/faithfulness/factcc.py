"""FactCC: the share of claims that a classifier finds consistent with their source (Kryscinski et al. 2020, EMNLP).

The classifier reads (document, claim) in this order, uncased, 512 word pieces, of which the longer text loses some. It
was trained on single sentences as claims, so each sentence of a summary is a claim.
"""

import itertools
import os
from collections.abc import Sequence
from functools import cache
from typing import Any

from bench.metrics.faithfulness import verifiers
from bench.metrics.faithfulness.verifiers import Verifier
from bench.metrics.score import Gold, Row

CHECKPOINT = "manueldeprada/FactCC"
MAX_LENGTH = 512


def load_factcc(checkpoint: str = CHECKPOINT) -> Verifier:
    """Load the classifier; arguments and errors as for `verifiers.load`."""
    from transformers import BertForSequenceClassification, BertTokenizer

    return verifiers.load(checkpoint, BertForSequenceClassification, BertTokenizer, "correct")


def claims_of(summary: str) -> list[str]:
    """Return the claims of a summary: its sentences, which end at line breaks too; an empty text is one claim.

    >>> claims_of("The Aldra rose. It fell again.\\nNo one was hurt"), claims_of("")
    (['The Aldra rose.', 'It fell again.', 'No one was hurt'], [''])
    """
    claims = [claim for line in summary.splitlines() for claim in _splitter().tokenize(line)]
    return claims or [summary]


@cache
def _splitter() -> Any:
    from nltk.tokenize.punkt import PunktSentenceTokenizer

    return PunktSentenceTokenizer()  # untrained: its rules need no data


def factcc(documents: Sequence[str], summaries: Sequence[str], verifier: Verifier) -> list[list[bool]]:
    """Return for each claim of each summary whether its document supports it; there is a document for each summary."""
    tokenizer = verifier.tokenizer
    counts, encoded = [], []
    for document, summary in zip(documents, summaries, strict=True):
        text = verifiers.plain_text(document, tokenizer)
        claims = claims_of(verifiers.plain_text(summary, tokenizer))
        counts.append(len(claims))
        for claim in claims:
            encoded.append(dict(tokenizer(text, claim, truncation="longest_first", max_length=MAX_LENGTH)))
    verdicts = iter(verifiers.verdicts(verifier, encoded))
    return [list(itertools.islice(verdicts, count)) for count in counts]


def _decide(rows: Sequence[Row], gold: Gold) -> tuple[Verifier, list[list[bool]]]:
    documents = verifiers.source_texts(rows, gold)
    verifier = verifiers.loaded(load_factcc, os.environ.get("BENCH_FACTCC") or CHECKPOINT)
    return verifier, factcc(documents, [row["text"] for row in rows], verifier)


factcc_scores = verifiers.verdict_family(
    "factcc", f"unit:sentence|mean:claims|split:lines+punkt_rules|max:{MAX_LENGTH}", _decide
)
"""The share of sentences of rows `{"id", "text"}` that FactCC finds consistent with the `source` of their gold."""
