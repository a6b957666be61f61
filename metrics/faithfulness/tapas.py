"""TAPAS-Acc: the share of sentences that a table verifier classifies as entailed (Eisenschlos et al. 2020; PLOG).

The model reads at most 512 pieces of sentence and table, as `TapasTokenizer` of `transformers` makes them: rows are
dropped from the end of a table that does not fit.
"""

import itertools
import os
from collections.abc import Sequence

from bench.metrics.faithfulness import verifiers
from bench.metrics.faithfulness.table_cells import TableText, table_texts, with_tables
from bench.metrics.faithfulness.verifiers import Verifier
from bench.metrics.score import Gold, Row

CHECKPOINT = "google/tapas-large-finetuned-tabfact"
MAX_LENGTH = 512


def load_tapas(checkpoint: str = CHECKPOINT) -> Verifier:
    """Load the verifier; arguments and errors as for `verifiers.load`."""
    from transformers import TapasForSequenceClassification, TapasTokenizer

    return verifiers.load(checkpoint, TapasForSequenceClassification, TapasTokenizer, "entailed", position=1)


def tapas(tables: Sequence[TableText], sentences: Sequence[str], verifier: Verifier) -> list[bool]:
    """Return for each sentence whether its table entails it; there are as many tables as sentences.

    Raises:
        ValueError: a sentence and the header of its table are too long, or a table has too many columns.
    """
    from pandas import DataFrame

    tokenizer, encoded = verifier.tokenizer, []
    largest = [size - 1 for size in verifier.model.config.type_vocab_sizes]
    texts = [verifiers.plain_text(sentence, tokenizer) for sentence in sentences]
    pairs = zip(tables, texts, strict=True)
    for _, of_table in itertools.groupby(pairs, lambda pair: id(pair[0])):  # a table is split into pieces once
        (table, *_), queries = zip(*of_table, strict=True)
        frame = DataFrame(table.rows, columns=table.header, dtype=object)
        made = tokenizer(table=frame, queries=list(queries), truncation=True, max_length=MAX_LENGTH)
        for at in range(len(queries)):
            pair = {name: column[at] for name, column in made.items()}
            # More than 255 rows fit only where a row is one piece; the model has no type for those.
            pair["token_type_ids"] = [list(map(min, types, largest)) for types in pair["token_type_ids"]]
            encoded.append(pair)
    return verifiers.verdicts(verifier, encoded)


def _decide(rows: Sequence[Row], gold: Gold) -> tuple[Verifier, list[list[bool]]]:
    fields = with_tables(rows, gold)
    verifier = verifiers.loaded(load_tapas, os.environ.get("BENCH_TAPAS") or CHECKPOINT)
    verdicts = tapas(table_texts(fields), [row["text"] for row in rows], verifier)
    return verifier, [[verdict] for verdict in verdicts]


tapas_scores = verifiers.verdict_family("tapas-acc", f"cells:plog|rows:dropped_to_fit|max:{MAX_LENGTH}", _decide)
"""The share of rows `{"id", "text"}` that TAPAS classifies as entailed by the `table` of their gold."""
