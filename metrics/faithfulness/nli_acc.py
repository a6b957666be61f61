"""NLI-Acc: the share of sentences that LogicNLG's table verifier holds for entailed (Chen et al. 2020, ACL).

The verifier reads the sentence, the title and the first 40 rows, of these only the columns that the data links to the
reference of the same row: it scores one sentence per reference. Input past 512 pieces is cut. Give it as a folder of
the authors' `model_ep4.pt` (from NLI_models.zip) with bert-base-multilingual-uncased's `config.json` and `vocab.txt`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch.nn.utils.rnn import pad_sequence

from bench.metrics.faithfulness import checkpoints, verifiers
from bench.metrics.faithfulness.checkpoints import NoVerifier
from bench.metrics.faithfulness.nli_model import CELLLESS, PAD, NLIModel, load_weights
from bench.metrics.faithfulness.table_cells import Cells, TableText, table_texts, with_tables
from bench.metrics.faithfulness.verifiers import Verifier
from bench.metrics.score import Family, Gold, Row

__all__ = ["Linked", "encoded_statements", "load_nli", "nli", "nli_family", "nli_logits", "nli_scores", "row_cells"]

ENTAILED = 1
MAX_LENGTH = 512
MAX_ROWS = 40
WEIGHTS = ("model_ep4.pt", "model.pt", "pytorch_model.bin")
"""Names of the weights in a folder; the first that is there is read."""


class Linked(NamedTuple):
    """A table, the columns that its sentence speaks of in their published order, and its title."""

    table: TableText
    columns: tuple[int, ...]
    title: str


def load_nli(checkpoint: str, device: str | None = None) -> Verifier:
    """Load the verifier with every one of its weights.

    Args:
        checkpoint: the folder.
        device: by default the GPU if there is one.

    Raises:
        NoVerifier: it is not there, cannot be read, lacks weights, has those of another model or another vocabulary.
    """
    from transformers import BertConfig, BertTokenizer

    folder = checkpoints.find(checkpoint)
    name = checkpoints.shown(checkpoint)
    path = _weights_in(folder)
    for needed in (path, folder / "vocab.txt"):
        if not needed.is_file():
            raise NoVerifier(f"needs {needed.name} in {name}: bench doctor")
    with checkpoints.loading(checkpoint):
        config = BertConfig.from_pretrained(folder, local_files_only=True)
        tokenizer = BertTokenizer.from_pretrained(folder, local_files_only=True, do_lower_case=True)
        weights, model = _read(path), NLIModel(config)
    load_weights(model, weights, f"{name}/{path.name}")
    words = (folder / "vocab.txt").read_bytes().rstrip(b"\n").count(b"\n") + 1
    if words != config.vocab_size:
        raise NoVerifier(f"{name} has {words} words in vocab.txt, {config.vocab_size} in its weights: bench doctor")
    provenance = {
        "checkpoint": name,
        "weights": _hash(path),
        "config": _hash(folder / "config.json"),
        "vocab": _hash(folder / "vocab.txt"),
    }
    return Verifier(model.to(checkpoints.device_of(device)).eval(), tokenizer, ENTAILED, provenance)


def _weights_in(folder: Path) -> Path:
    """Return the first of `WEIGHTS` that is in a folder, or where the first should be."""
    for name in WEIGHTS:
        if (folder / name).is_file():
            return folder / name
    return folder / WEIGHTS[0]


def _read(path: Path) -> object:
    try:
        return torch.load(path, map_location="cpu", weights_only=True)
    except OSError:
        raise
    except Exception as error:  # the errors of unpickling have no common class but this
        raise ValueError(f"{path.name} is no file of weights") from error


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:12]


def row_cells(table: TableText) -> TableText:
    """Return a table that pandas read as it gives its rows one by one, which is how the published script takes them.

    A row of numbers only has one type, so that beside a column with a point, or with a missing cell, a whole number
    gets one too. It concerns 4 of the 1,710 tables of LogicNLG's valid and test splits.

    >>> row_cells(TableText(["year", "share"], [["1990", "7.1"]])).rows
    [['1990.0', '7.1']]
    """
    cells = [cell for row in table.rows for cell in row]
    if all(map(_is_number, cells)) and not all(re.fullmatch(r"-?\d+", cell) for cell in cells):
        return table._replace(rows=[list(map(_with_point, row)) for row in table.rows])
    return table


def _with_point(cell: str) -> str:
    return str(float(cell))


def _is_number(cell: str) -> bool:
    return re.fullmatch(r"-?(\d+(\.\d+)?(e[+-]\d+)?|inf)|nan", cell) is not None


def _parts(linked: Linked, sentence: str) -> Iterator[tuple[str, int, int]]:
    """Yield what is read one after another: text, block and cell."""
    yield f"[CLS] {sentence} [SEP]", 0, CELLLESS
    yield f"title is : {linked.title} .", 1, CELLLESS
    names, cell = linked.table.header, 0
    for i, row in enumerate(linked.table.rows[:MAX_ROWS]):
        yield f"row {i + 1} is : ", 2 + i, CELLLESS
        for column in linked.columns:
            yield f"{names[column]} is {row[column]} , ", 2 + i, cell
            cell += 1


def encoded_statements(
    linked: Sequence[Linked], sentences: Sequence[str], tokenizer: Any
) -> list[dict[str, list[int]]]:
    """Return for each sentence `ids`, `block` and `cell` [T] as `NLIModel.forward` takes them, without padding.

    Equal parts, such as the cells that several sentences of one table link to, are split into pieces once.

    Raises:
        ValueError: not as many tables as sentences, or a column that the table does not have.
    """
    if len(linked) != len(sentences):
        raise ValueError(f"expected a linked table per sentence, got {len(linked)} and {len(sentences)}")
    statements = []
    for about, sentence in zip(linked, sentences, strict=True):
        if not set(about.columns) <= set(range(len(about.table.header))):
            raise ValueError(f"expected columns 0 to {len(about.table.header) - 1}, got {list(about.columns)}")
        statements.append(list(_parts(about, verifiers.plain_text(sentence, tokenizer))))
    pieces = _pieces({text for parts in statements for text, _, _ in parts}, tokenizer)
    encoded = []
    for parts in statements:
        ids, blocks, cells = [], [], []
        for text, block, cell in parts:
            ids += pieces[text]
            blocks += [block] * len(pieces[text])
            cells += [cell] * len(pieces[text])
        encoded.append({"ids": ids[:MAX_LENGTH], "block": blocks[:MAX_LENGTH], "cell": cells[:MAX_LENGTH]})
    return encoded


def _pieces(texts: Collection[str], tokenizer: Any) -> dict[str, list[int]]:
    """Return the ids of the word pieces of each text."""
    if not texts:
        return {}
    in_order = sorted(texts)
    return dict(zip(in_order, tokenizer(in_order, add_special_tokens=False)["input_ids"], strict=True))


def nli_logits(
    verifier: Verifier, encoded: Sequence[Mapping[str, Sequence[int]]], tokens: int = verifiers.TOKENS
) -> list[list[float]]:
    """Return the logits of (refuted, entailed) of each encoded statement, in the order given.

    Args:
        verifier: as loaded.
        encoded: by `encoded_statements`.
        tokens: most positions of a batch, padding counted; a longer statement is a batch of its own.
    """
    pads = {"ids": verifier.tokenizer.pad_token_id, "block": PAD, "cell": CELLLESS}
    where = next(verifier.model.parameters()).device
    logits: list[list[float]] = [[] for _ in encoded]
    with torch.inference_mode():
        for batch in verifiers.batches([len(statement["ids"]) for statement in encoded], tokens):
            padded = {}
            for name, pad in pads.items():
                rows = [torch.tensor(encoded[i][name]) for i in batch]
                padded[name] = pad_sequence(rows, batch_first=True, padding_value=pad).to(where)  # [B, T]
            for i, row in zip(batch, verifier.model(**padded).tolist(), strict=True):
                logits[i] = row
    return logits


def nli(linked: Sequence[Linked], sentences: Sequence[str], verifier: Verifier) -> list[bool]:
    """Return for each sentence whether its table entails it; errors as for `encoded_statements`."""
    logits = nli_logits(verifier, encoded_statements(linked, sentences, verifier.tokenizer))
    return [row.index(max(row)) == verifier.label for row in logits]


def nli_family(*, checkpoint: str | None = None, cells: Cells = "plog", device: str | None = None) -> Family:
    """Return the family that scores sentences by the share that their tables entail.

    Rows are `{"id", "text"}`, one for each reference; gold is `{id: {"table": {"header", "rows"}, "title", "columns"}}`
    with the columns that are linked to the reference. Scoring raises ValueError for a column that a table lacks.

    Args:
        checkpoint: the folder; by default what BENCH_NLI names.
        cells: how the text of cells is read; `plog` is what the published script saw.
        device: by default the GPU if there is one.
    """

    def decide(rows: Sequence[Row], gold: Gold) -> tuple[Verifier, list[list[bool]]]:
        fields = _with_links(rows, gold)
        named = checkpoints.named(checkpoint, "BENCH_NLI")
        if not named:
            raise NoVerifier(f"needs {WEIGHTS[0]} of NLI_models.zip, its folder named by BENCH_NLI: bench doctor")
        verifier = verifiers.loaded(load_nli, named, device)
        verdicts = nli(_linked(fields, cells), [row["text"] for row in rows], verifier)
        return verifier, [[verdict] for verdict in verdicts]

    options = f"nli-acc|cells:{cells}|rows:{MAX_ROWS}|columns:linked|max:{MAX_LENGTH}"
    return verifiers.verdict_family("nli-acc", options, decide)


def _with_links(rows: Sequence[Row], gold: Gold) -> list[Mapping[str, Any]]:
    """Return the gold of each row.

    Raises:
        NoVerifier: one has no table, linked columns or title.
    """
    fields = with_tables(rows, gold)
    for name, lacking in (("columns", "no linked columns"), ("title", "no title")):
        if not all(row.get(name) for row in fields):
            raise NoVerifier(lacking)
    return fields


def _linked(fields: Sequence[Mapping[str, Any]], cells: Cells) -> list[Linked]:
    """Return the table, title and linked columns of each row; a table of several rows is read once."""
    tables = table_texts(fields, cells)
    if cells == "plog":
        distinct = {id(table): table for table in tables}
        by_rows = {key: row_cells(table) for key, table in distinct.items()}
        tables = [by_rows[id(table)] for table in tables]
    linked = []
    for row, table in zip(fields, tables, strict=True):
        linked.append(Linked(table, tuple(row["columns"]), row["title"]))
    return linked


nli_scores = nli_family()
"""The share of sentences that LogicNLG's verifier finds entailed by the linked columns of the table."""
