"""TAPEX-Acc: the share of sentences that a table verifier classifies as entailed (Liu et al. 2022; LogicNLG, PLOG).

The input is the sentence and the table row by row in one line of lower-case text, as the released tokenizer writes it:
a cell of 15 byte-pair pieces or more keeps its first 15, and past 1,024 pieces the end of the table is cut. That
tokenizer class is gone from `transformers`; BART's with a space before the first word gives the same ids.
"""

import os
from collections.abc import Sequence
from typing import Any

from bench.metrics.faithfulness import verifiers
from bench.metrics.faithfulness.table_cells import TableText, table_texts, with_tables
from bench.metrics.faithfulness.verifiers import Verifier
from bench.metrics.score import Gold, Row

CHECKPOINT = "microsoft/tapex-large-finetuned-tabfact"
MAX_LENGTH = 1024
CELL_PIECES = 15


def load_tapex(checkpoint: str = CHECKPOINT) -> Verifier:
    """Load the verifier; arguments and errors as for `verifiers.load`."""
    from transformers import BartForSequenceClassification, BartTokenizer

    classes = BartForSequenceClassification, BartTokenizer
    return verifiers.load(checkpoint, *classes, "entailed", position=1, add_prefix_space=True)


def linear_table(table: TableText, tokenizer: Any) -> str:
    """Return a table as one line, `col : a | b row 1 : x | y row 2 : ...`, in lower case."""
    parts = ["col : " + " | ".join(table.header)]
    for number, row in enumerate(table.rows, start=1):
        parts.append(f"row {number} : " + " | ".join(_cut(cell.lower(), tokenizer) for cell in row))
    return " ".join(parts).lower()


def _cut(cell: str, tokenizer: Any) -> str:
    """Return a cell's first pieces; a cell that is cut starts with a space, as its first piece does."""
    if not cell.strip():
        return cell
    pieces = tokenizer.tokenize(cell)
    if len(pieces) < CELL_PIECES:
        return cell
    return str(tokenizer.convert_tokens_to_string(pieces[:CELL_PIECES]))


def tapex(tables: Sequence[TableText], sentences: Sequence[str], verifier: Verifier) -> list[bool]:
    """Return for each sentence whether its table entails it; there are as many tables as sentences."""
    tokenizer, encoded = verifier.tokenizer, []
    lines: dict[int, str] = {}
    for table, sentence in zip(tables, sentences, strict=True):
        if id(table) not in lines:  # several sentences are about one table
            lines[id(table)] = linear_table(table, tokenizer)
        # A special token inside the sentence would be a second end of the text, which the model refuses.
        text = f"{verifiers.plain_text(sentence, tokenizer).lower()} {lines[id(table)]}"
        encoded.append(dict(tokenizer(text, truncation=True, max_length=MAX_LENGTH)))
    return verifiers.verdicts(verifier, encoded)


def _decide(rows: Sequence[Row], gold: Gold) -> tuple[Verifier, list[list[bool]]]:
    fields = with_tables(rows, gold)
    verifier = verifiers.loaded(load_tapex, os.environ.get("BENCH_TAPEX") or CHECKPOINT)
    verdicts = tapex(table_texts(fields), [row["text"] for row in rows], verifier)
    return verifier, [[verdict] for verdict in verdicts]


tapex_scores = verifiers.verdict_family("tapex-acc", f"cells:plog|cell_pieces:{CELL_PIECES}|max:{MAX_LENGTH}", _decide)
"""The share of rows `{"id", "text"}` that TAPEX classifies as entailed by the `table` of their gold."""
