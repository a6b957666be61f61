"""TAPAS-Acc: the share of sentences that a table verifier holds for entailed (Eisenschlos et al. 2020; PLOG).

The model reads at most 512 pieces of sentence and table; what it is given equals what the released tokenizer makes.
"""

from __future__ import annotations

from collections.abc import Sequence

from bench.metrics.faithfulness import verifiers
from bench.metrics.faithfulness.table_cells import Cells, TableText, table_texts, with_tables
from bench.metrics.faithfulness.tapas_table import TapasTable
from bench.metrics.faithfulness.verifiers import Verifier
from bench.metrics.score import Family, Gold, Row

__all__ = ["CHECKPOINT", "load_tapas", "tapas", "tapas_family", "tapas_scores"]

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
        pair = known[id(table)].encode(verifiers.plain_text(sentence, verifier.tokenizer), MAX_LENGTH)
        # More than 255 rows fit only where a row is one piece; the model has no type for those.
        pair["token_type_ids"] = [list(map(min, types, largest)) for types in pair["token_type_ids"]]
        encoded.append(pair)
    return verifiers.verdicts(verifier, encoded)


def tapas_family(*, checkpoint: str | None = None, cells: Cells = "plog", device: str | None = None) -> Family:
    """Return the family that scores sentences by the share that their tables entail.

    Rows, gold and arguments are those of `tapex.tapex_family`, but for the variable, BENCH_TAPAS.
    """

    def decide(rows: Sequence[Row], gold: Gold) -> tuple[Verifier, list[list[bool]]]:
        fields = with_tables(rows, gold)
        named = verifiers.named(checkpoint, "BENCH_TAPAS", CHECKPOINT)
        verifier = verifiers.loaded(load_tapas, named, device)
        verdicts = tapas(table_texts(fields, cells), [row["text"] for row in rows], verifier)
        return verifier, [[verdict] for verdict in verdicts]

    options = f"tapas-acc|cells:{cells}|rows:dropped_to_fit|max:{MAX_LENGTH}"
    return verifiers.verdict_family("tapas-acc", options, decide)


tapas_scores = tapas_family()
"""The share of sentences that TAPAS finds entailed by the table."""
