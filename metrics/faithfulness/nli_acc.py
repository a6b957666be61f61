"""NLI-Acc: the share of sentences that LogicNLG's table verifier holds for entailed (Chen et al. 2020, ACL).

The verifier reads the sentence, the title and the first 40 rows, of these only the columns that the data links to the
reference of the same row: it scores one sentence per reference. Input past 512 pieces is cut. Give it as a folder of
the authors' `model_ep4.pt` (from NLI_models.zip) with bert-base-multilingual-uncased's `config.json` and `vocab.txt`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch.nn.utils.rnn import pad_sequence

from bench.metrics.faithfulness import checkpoints, verifiers
from bench.metrics.faithfulness.checkpoints import NoVerifier
from bench.metrics.faithfulness.nli_model import CELLLESS, PAD, NLIModel, load_weights
from bench.metrics.faithfulness.table_cells import Cells, TableText, missing_tables, table_texts
from bench.metrics.faithfulness.verifiers import Verifier
from bench.metrics.score import Gold, Row, Score, check_ids

__all__ = ["Linked", "encoded_statements", "load_nli", "nli", "nli_logits", "nli_scores", "row_cells"]

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
    path = next((folder / one for one in WEIGHTS if (folder / one).is_file()), None)
    if path is None or not (folder / "vocab.txt").is_file():
        raise NoVerifier(f"needs {'vocab.txt' if path else WEIGHTS[0]} in {name}: bench doctor")
    with checkpoints.loading(checkpoint):
        config = BertConfig.from_pretrained(folder, local_files_only=True)
        tokenizer = BertTokenizer.from_pretrained(folder, local_files_only=True, do_lower_case=True)
        weights, model = _read(path), NLIModel(config)
    load_weights(model, weights, f"{name}/{path.name}")
    words = (folder / "vocab.txt").read_bytes().rstrip(b"\n").count(b"\n") + 1
    if words != config.vocab_size:
        raise NoVerifier(f"{name} has {words} words in vocab.txt, {config.vocab_size} in its weights: bench doctor")
    hashes = {kind: _hash(one) for kind, one in
              (("weights", path), ("config", folder / "config.json"), ("vocab", folder / "vocab.txt"))}  # fmt: skip
    where = checkpoints.device_of(device)
    return Verifier(model.to(where).eval(), tokenizer, ENTAILED, {"checkpoint": name, **hashes})


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
        return table._replace(rows=[[str(float(cell)) for cell in row] for row in table.rows])
    return table


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
    for one in linked:
        if not set(one.columns) <= set(range(len(one.table.header))):
            raise ValueError(f"expected columns 0 to {len(one.table.header) - 1}, got {list(one.columns)}")
    parts = [list(_parts(one, verifiers.plain_text(sentence, tokenizer)))
             for one, sentence in zip(linked, sentences, strict=True)]  # fmt: skip
    texts = sorted({text for some in parts for text, _, _ in some})
    pieces = dict(zip(texts, tokenizer(texts, add_special_tokens=False)["input_ids"], strict=True)) if texts else {}
    found = []
    for some in parts:
        read = [(piece, block, cell) for text, block, cell in some for piece in pieces[text]][:MAX_LENGTH]
        found.append({name: [one[i] for one in read] for i, name in enumerate(("ids", "block", "cell"))})
    return found


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
    found: list[list[float]] = [[] for _ in encoded]
    with torch.inference_mode():
        for batch in verifiers.batches([len(one["ids"]) for one in encoded], tokens):
            padded = {
                name: pad_sequence([torch.tensor(encoded[i][name]) for i in batch], True, pad).to(where)
                for name, pad in pads.items()
            }
            for i, row in zip(batch, verifier.model(**padded).tolist(), strict=True):
                found[i] = row
    return found


def nli(linked: Sequence[Linked], sentences: Sequence[str], verifier: Verifier) -> list[bool]:
    """Return for each sentence whether its table entails it; errors as for `encoded_statements`."""
    logits = nli_logits(verifier, encoded_statements(linked, sentences, verifier.tokenizer))
    return [row.index(max(row)) == verifier.label for row in logits]


def nli_scores(
    rows: Sequence[Row], gold: Gold, *, checkpoint: str | None = None, cells: Cells = "plog", device: str | None = None
) -> list[Score]:
    """Score sentences by the share that their tables entail.

    Args:
        rows: `{"id", "text"}`, one per reference.
        gold: `{id: {"table": {"header", "rows"}, "title", "columns"}}`, the columns as linked to the reference.
        checkpoint: the folder; by default what BENCH_NLI names.
        cells: how the text of cells is read; `plog` is what the published script saw.
        device: by default the GPU if there is one.

    Raises:
        ValueError: other ids than the gold's, or a column that a table does not have.
    """
    check_ids(rows, gold)
    rows = sorted(rows, key=lambda row: str(row["id"]))
    gold_rows, texts = [gold[row["id"]] for row in rows], [row["text"] for row in rows]
    checkpoint = checkpoints.named(checkpoint, "BENCH_NLI")
    why_not = _not_linked(gold_rows)
    if not why_not and not checkpoint:
        why_not = f"needs {WEIGHTS[0]} of NLI_models.zip, its folder named by BENCH_NLI: bench doctor"

    def decide(verifier: Verifier) -> list[list[bool]]:
        tables = table_texts(gold_rows, cells)
        if cells == "plog":
            known = {i: row_cells(table) for i, table in {id(table): table for table in tables}.items()}
            tables = [known[id(table)] for table in tables]
        linked = [Linked(table, tuple(one["columns"]), one["title"])
                  for table, one in zip(tables, gold_rows, strict=True)]  # fmt: skip
        return [[one] for one in nli(linked, texts, verifier)]

    signed = f"nli-acc|cells:{cells}|rows:{MAX_ROWS}|columns:linked|max:{MAX_LENGTH}"
    return verifiers.scored("nli-acc", len(rows), signed, lambda: load_nli(checkpoint, device), decide, why_not)


def _not_linked(gold: Sequence[Mapping[str, Any]]) -> str:
    """Return why rows cannot be scored; empty where each has a table, a title and linked columns."""
    if not all(one.get("columns") for one in gold):
        return missing_tables(gold) or "no linked columns"
    return missing_tables(gold) or ("" if all(one.get("title") for one in gold) else "no title")
