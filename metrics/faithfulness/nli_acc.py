"""NLI-Acc: the share of sentences that LogicNLG's table verifier classifies as entailed (Chen et al. 2020, ACL).

The verifier reads the sentence, the title and the first 40 rows, of these only the columns that the data links to the
reference of the same row: it scores one sentence per reference. Input past 512 pieces is cut. Its checkpoint is a
folder of the authors' `model_ep4.pt` (from NLI_models.zip) with bert-base-multilingual-uncased's `config.json` and
`vocab.txt`.
"""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch

from bench.metrics.faithfulness import checkpoints, verifiers
from bench.metrics.faithfulness.checkpoints import NotApplicable, hash_of
from bench.metrics.faithfulness.nli_model import NO_CELL, PAD, UNUSED, NLIModel
from bench.metrics.faithfulness.table_cells import TableText, table_texts, with_tables
from bench.metrics.faithfulness.verifiers import ModelInputs, Verifier
from bench.metrics.requirements import public_name
from bench.metrics.score import Gold, Row

ENTAILED = 1
MAX_LENGTH = 512
MAX_ROWS = 40
WEIGHTS = ("model_ep4.pt", "model.pt", "pytorch_model.bin")
"""Names of the file of weights; the first that a folder has is read."""


class Linked(NamedTuple):
    """A table, the columns that are linked to its sentence in their published order, and its title."""

    table: TableText
    columns: tuple[int, ...]
    title: str


def load_nli(checkpoint: str) -> Verifier:
    """Load the verifier with every one of its weights.

    Args:
        checkpoint: a folder.

    Raises:
        NotApplicable: it is not there, cannot be read, or its weights or vocabulary are not those of this model.
    """
    from transformers import BertConfig, BertTokenizer

    folder = checkpoints.find(checkpoint)
    name = public_name(checkpoint)
    path = next((folder / name for name in WEIGHTS if (folder / name).is_file()), folder / WEIGHTS[0])
    for needed in (path, folder / "vocab.txt"):
        if not needed.is_file():
            raise NotApplicable(f"needs {needed.name} in {name}: bench doctor")
    with checkpoints.loading(checkpoint):
        config = BertConfig.from_pretrained(folder, local_files_only=True)
        tokenizer = BertTokenizer.from_pretrained(folder, local_files_only=True, do_lower_case=True)
        model = NLIModel(config)
        model.load_state_dict({key: part for key, part in _read(path).items() if not str(key).startswith(UNUSED)})
    words = (folder / "vocab.txt").read_bytes().rstrip(b"\n").count(b"\n") + 1
    if words != config.vocab_size:
        raise NotApplicable(f"{name} has {words} words in vocab.txt, {config.vocab_size} in its weights: bench doctor")
    provenance = {
        "checkpoint": name,
        "weights": hash_of(path),
        "config": hash_of(folder / "config.json"),
        "vocab": hash_of(folder / "vocab.txt"),
    }
    return Verifier(model.to(checkpoints.device()).eval(), tokenizer, ENTAILED, provenance)


def _read(path: Path) -> Mapping[str, Any]:
    try:
        weights = torch.load(path, map_location="cpu", weights_only=True)
    except OSError:
        raise
    except Exception as error:  # the errors of unpickling have no common class but this
        raise ValueError(f"{path.name} is no file of weights") from error
    if not isinstance(weights, Mapping):
        raise ValueError(f"{path.name} has no weights by name")
    return weights


def row_cells(table: TableText) -> TableText:
    """Return a table as pandas gives its rows one by one, which is how the published script reads them.

    A row of numbers has one type, so that whole numbers get a decimal point if another column has one, or a missing
    cell. It concerns 4 of the 1,710 tables of LogicNLG's valid and test splits.

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
    """Yield the parts of the input in their order: text, block and cell."""
    yield f"[CLS] {sentence} [SEP]", 0, NO_CELL
    yield f"title is : {linked.title} .", 1, NO_CELL
    names, cell = linked.table.header, 0
    for i, row in enumerate(linked.table.rows[:MAX_ROWS]):
        yield f"row {i + 1} is : ", 2 + i, NO_CELL
        for column in linked.columns:
            yield f"{names[column]} is {row[column]} , ", 2 + i, cell
            cell += 1


def encoded_statements(linked: Sequence[Linked], sentences: Sequence[str], tokenizer: Any) -> list[ModelInputs]:
    """Return for each sentence `input_ids`, `block` and `cell` [T] as `NLIModel.forward` takes them, without padding.

    Equal parts, such as the cells that several sentences of one table link to, are split into pieces once.

    Raises:
        ValueError: a column that the table does not have.
    """
    statements = []
    for about, sentence in zip(linked, sentences, strict=True):
        if not set(about.columns) <= set(range(len(about.table.header))):
            raise ValueError(f"expected columns 0 to {len(about.table.header) - 1}, got {list(about.columns)}")
        statements.append(list(_parts(about, verifiers.plain_text(sentence, tokenizer))))
    distinct = sorted({text for parts in statements for text, _, _ in parts})
    ids = tokenizer(distinct, add_special_tokens=False)["input_ids"] if distinct else []
    pieces = dict(zip(distinct, ids, strict=True))
    encoded: list[ModelInputs] = []
    for parts in statements:
        places = [(piece, block, cell) for text, block, cell in parts for piece in pieces[text]][:MAX_LENGTH]
        encoded.append(dict(zip(("input_ids", "block", "cell"), map(list, zip(*places, strict=True)), strict=True)))
    return encoded


def nli_logits(verifier: Verifier, encoded: Sequence[ModelInputs], tokens: int = verifiers.TOKENS) -> list[list[float]]:
    """Return the logits of (refuted, entailed) of each encoded statement; arguments as for `verifiers.logits_of`."""
    return verifiers.logits_of(verifier, encoded, tokens, {"block": PAD, "cell": NO_CELL})


def nli(linked: Sequence[Linked], sentences: Sequence[str], verifier: Verifier) -> list[bool]:
    """Return for each sentence whether its table entails it; errors as for `encoded_statements`."""
    logits = nli_logits(verifier, encoded_statements(linked, sentences, verifier.tokenizer))
    return [row.index(max(row)) == verifier.label for row in logits]


def _decide(rows: Sequence[Row], gold: Gold) -> tuple[Verifier, list[list[bool]]]:
    fields = _with_links(rows, gold)
    folder = os.environ.get("BENCH_NLI")
    if not folder:
        raise NotApplicable(f"needs {WEIGHTS[0]} of NLI_models.zip, its folder named by BENCH_NLI: bench doctor")
    verifier = verifiers.loaded(load_nli, folder)
    verdicts = nli(_linked(fields), [row["text"] for row in rows], verifier)
    return verifier, [[verdict] for verdict in verdicts]


def _with_links(rows: Sequence[Row], gold: Gold) -> list[Mapping[str, Any]]:
    """Return the gold of each row.

    Raises:
        NotApplicable: one has no table, linked columns or title.
    """
    fields = with_tables(rows, gold)
    for name, reason in (("columns", "no linked columns"), ("title", "no title")):
        if not all(row.get(name) for row in fields):
            raise NotApplicable(reason)
    return fields


def _linked(fields: Sequence[Mapping[str, Any]]) -> list[Linked]:
    """Return the table, linked columns and title of each row; a table of several rows is read once."""
    tables = table_texts(fields)
    distinct = {id(table): table for table in tables}
    by_rows = {key: row_cells(table) for key, table in distinct.items()}
    return [
        Linked(by_rows[id(table)], tuple(row["columns"]), row["title"])
        for row, table in zip(fields, tables, strict=True)
    ]


nli_scores = verifiers.verdict_family("nli-acc", f"cells:plog|rows:{MAX_ROWS}|columns:linked|max:{MAX_LENGTH}", _decide)
"""The share of rows `{"id", "text"}` that LogicNLG's verifier classifies as entailed by the linked columns.

There is a row for each reference; gold is `{id: {"table": {"header", "rows"}, "title", "columns"}}` with the columns
that are linked to the reference. Scoring raises ValueError for a column that a table lacks.
"""
