"""TAPAS-Acc: the share of sentences that a table verifier holds for entailed (Eisenschlos et al. 2020; PLOG).

The model reads at most 512 pieces of sentence and table; what it is given equals what the released tokenizer makes.
"""

from __future__ import annotations

from collections.abc import Sequence

from bench.metrics.faithfulness import verifiers
from bench.metrics.faithfulness.table_cells import Cells, TableText, missing_tables, table_texts
from bench.metrics.faithfulness.tapas_table import TapasTable
from bench.metrics.faithfulness.verifiers import Verifier
from bench.metrics.score import Gold, Row, Score, check_ids

__all__ = ["CHECKPOINT", "load_tapas", "tapas", "tapas_scores"]

CHECKPOINT = "google/tapas-large-finetuned-tabfact"
MAX_LENGTH = 512


def load_tapas(checkpoint: str = CHECKPOINT, device: str | None = None) -> Verifier:
    """Load the verifier; arguments and errors as for `verifiers.load`."""
    from transformers import TapasForSequenceClassification, TapasTokenizer

    return verifiers.load(
        checkpoint, TapasForSequenceClassification, TapasTokenizer, "entailed", position=1, device=device
    )


def tapas(tables: Sequence[TableText], sentences: Sequence[str], verifier: Verifier) -> list[bool]:
    """Return for each sentence whether its table entails it.

    Raises:
        ValueError: not as many tables as sentences.
    """
    if len(tables) != len(sentences):
        raise ValueError(f"expected a table per sentence, got {len(tables)} and {len(sentences)}")
    largest = [size - 1 for size in verifier.model.config.type_vocab_sizes]
    encoded = []
    known: dict[int, TapasTable] = {}
    for table, sentence in zip(tables, sentences, strict=True):
        if id(table) not in known:  # several sentences are of one table
            known[id(table)] = TapasTable(table, verifier.tokenizer)
        one = known[id(table)].encode(verifiers.plain_text(sentence, verifier.tokenizer), MAX_LENGTH)
        # More than 255 rows fit only where a row is one piece; the model has no type for those.
        one["token_type_ids"] = [[min(*both) for both in zip(types, largest, strict=True)]
                                 for types in one["token_type_ids"]]  # fmt: skip
        encoded.append(one)
    return verifiers.verdicts(verifier, encoded)


def tapas_scores(
    rows: Sequence[Row], gold: Gold, *, checkpoint: str | None = None, cells: Cells = "plog", device: str | None = None
) -> list[Score]:
    """Score sentences by the share that their tables entail; arguments and errors as for `tapex.tapex_scores`."""
    check_ids(rows, gold)
    rows = sorted(rows, key=lambda row: str(row["id"]))
    gold_rows, texts = [gold[row["id"]] for row in rows], [row["text"] for row in rows]
    return verifiers.scored(
        "tapas-acc", len(rows), f"tapas-acc|cells:{cells}|rows:dropped_to_fit|max:{MAX_LENGTH}",
        lambda: load_tapas(verifiers.named(checkpoint, "BENCH_TAPAS", CHECKPOINT), device),
        lambda verifier: [[one] for one in tapas(table_texts(gold_rows, cells), texts, verifier)],
        missing_tables(gold_rows),
    )  # fmt: skip
