"""Imported: the texts of another system as a cell of the store, with rows that every metric and table can read.

Nothing is trained and there is no model: `trained.json` has zero steps and says under `imported` which file the texts
are from. Texts of open-ended tasks go on from prompts that a model's tokenizer has cut; so these are stored like the
rows of a cell that is named.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.base.entries import Loaded
from bench.base.files import hash_of
from bench.base.keys import key_of
from bench.cells.cell import without
from bench.cells.required import Evaluation, evaluation_content
from bench.errors import DataError, MissingError, UsageError
from bench.imported.outputs import read_outputs
from bench.store.fields import IMPORTED
from bench.store.places import remember
from bench.store.provenance import provenance
from bench.store.store import TOKENIZER, CellFolder, Store, StoredRows
from bench.tasks.core.task import Task
from bench.tasks.fetch.location import DataLocation

__all__ = ["Import", "store_import"]

VERSION = 1
"""In the key of such a cell; raise it when rows of the same file would come out otherwise."""


@dataclass(frozen=True)
class Import:
    """Texts to import.

    Args:
        system: the name they stand under, in the place of a method's.
        path: their file.
        kind: the task's class and name.
        task: loaded.
        options: of the task, all of them.
        split: `valid` or `test`; the file has a text for each of its rows.
        rows: store only so many, the declared subset that runs with `evaluation.rows` have; None for all. Of an
            open-ended task, which of the sets of rows of `like` is meant.
        like: a cell with generated texts for the same rows, for an open-ended task.
    """

    system: str
    path: Path
    kind: Loaded
    task: Task
    options: Mapping[str, Any]
    split: str
    rows: int | None = None
    like: CellFolder | None = None


def store_import(store: Store, asked: Import) -> tuple[CellFolder, StoredRows]:
    """Store the texts of a file as a cell; nothing happens where they are stored already.

    Returns:
        The cell and its rows.

    Raises:
        MissingError: the file, or what `like` should have, is not there.
        DataError: the file has not exactly the rows of the split.
        UsageError: the task has no generated texts, or `like` is given or lacking where it should not be.
    """
    started = time.monotonic()
    like = None
    if asked.like is not None:
        like = _prompts_of(asked, asked.like)
    about, rows = _rows_of(asked, like)
    record = _record(asked, like)
    folder = store.cell(asked.kind.name, asked.system, record["key"])
    about = {"trained": record["key"], **about, "status": asked.task.split(asked.split).status}
    key = key_of({**about, "version": VERSION})
    if folder.trained() is None:
        folder.write_trained(record, provenance(started))
    if folder.rows(key) is None:
        folder.write_rows(key, about, sorted(rows, key=lambda row: str(row["id"])), provenance(started))
    stored = folder.rows(key)
    assert stored is not None
    if (place := DataLocation.of(asked.task)) is not None:
        remember(folder.root, stored.content["split_sha256"], place.as_dict())
    return folder, stored


UNKNOWN = {"split": "train", "status": "unknown", "rows": 0, "bytes": 0, "sha256": "", "skipped": 0}
"""What a record says of the rows that another system was trained on."""


def _record(asked: Import, like: Prompts | None) -> dict[str, Any]:
    """Return what is stored in the place of a trained cell's record, with the cell's key."""
    task, kind, file = asked.task, asked.kind, _file(asked.path)
    manifest = task.manifest(asked.split).as_dict()
    task_options = without(asked.options, task.places)
    decides = {
        "import": VERSION,
        "task": [kind.name, task.version, task_options, dict(kind.code)],
        "split": manifest,
        "system": asked.system,
        "file_sha256": file["sha256"],
    }
    method = {"class": IMPORTED, "version": VERSION, "file_sha256": file["sha256"]}
    if like is not None:
        decides["like"] = method["like"] = like.as_dict()
    record = {
        "key": key_of(decides),
        "config": {
            "task": kind.name,
            "method": asked.system,
            "backbone": "",
            "seed": 0,
            "preset": IMPORTED,
            "trainer": {"limit": None},
            "evaluation": {"split": asked.split, "batch_size": 1},
            "decodings": [IMPORTED],
            "task_options": task_options,
            "method_options": {},
            "backbone_options": {},
        },
        "method": method,
        "start": None,
        "data": {"train": dict(UNKNOWN), asked.split: manifest},
        "status": "ok",
        "train": {"steps": 0, "curve": []},
        IMPORTED: {"system": asked.system, "file": file},
    }
    if kind.code:
        columns = {"columns": list(task.info.columns), "primary": task.info.primary}
        record["own"] = {"task": {**kind.code, **columns}}
    return record


def _file(path: Path) -> dict[str, Any]:
    """Return what a record says of the file."""
    try:
        content = path.read_bytes()
    except OSError as problem:
        raise MissingError(f"{path}: cannot be read ({problem.strerror or problem})") from None
    return {"name": path.name, "bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}


def _rows_of(asked: Import, like: Prompts | None) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return what the rows file says of its rows, and the rows."""
    task = asked.task
    if "generation" not in task.info.evaluations:
        raise UsageError(f"the task '{asked.kind.name}' has no generated texts; its rows are {task.info.evaluations}")
    if task.info.open_ended and like is None:
        raise UsageError(
            f"prompts of '{asked.kind.name}' are cut by a model's tokenizer; name a cell whose stored texts go on from "
            "the same ones: --like FOLDER"
        )
    if like is not None:
        return _rows_like(asked, like)
    texts = read_outputs(asked.path, [example.id for example in task.split(asked.split).examples])
    ids = tuple(example.id for example in task.evaluation_examples(asked.split, asked.rows))
    what = Evaluation("generation", asked.split, ids, batch_size=1, of_rows=key_of(list(ids)))
    content = {
        **evaluation_content(what),
        "decoding": {"name": IMPORTED},
        "split_sha256": task.manifest(asked.split).sha256,
        "whole_split": len(ids) == len(texts),
        "truncated": 0,
        "broken": sum("\ufffd" in texts[name] for name in ids),
    }
    return content, [{"id": name, "text": texts[name], "truncated": 0} for name in ids]


def _rows_like(asked: Import, like: Prompts) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the same for an open-ended task: prompts and true continuations are those of a cell's stored rows."""
    stored = like.rows
    by_id = {str(row["id"]): row for row in stored.rows}
    texts = read_outputs(asked.path, list(by_id))
    token_ids = _tokenised(like.tokenizer, list(texts.values()))
    rows = []
    for (name, text), ids in zip(texts.items(), token_ids, strict=True):
        true = {field: by_id[name][field] for field in TRUE if field in by_id[name]}
        rows.append({"id": name, "text": text, "token_ids": ids, "truncated": 0, **true})
    content = {
        **stored.content,
        "batch_size": 1,
        "decoding": {"name": IMPORTED},
        "seed": 0,
        "exemplars": "",
        "shown_as": "",
        "truncated": 0,
        "broken": sum("\ufffd" in text for text in texts.values()),
    }
    del content["trained"], content["status"]
    return content, rows


TRUE = ("prompt", "reference", "reference_ids")
"""Fields of an open-ended row that are not of the text written for it."""


@dataclass(frozen=True)
class Prompts:
    """The prompts and true continuations that texts of an open-ended task go on from.

    Args:
        rows: of the cell that was named.
        sha256: of prompts and true continuations, by row.
        tokenizer: the file of the tokenizer that cut them.
    """

    rows: StoredRows
    sha256: str
    tokenizer: Path

    def as_dict(self) -> dict[str, str]:
        """Return what decides the rows beside their texts, for a key."""
        return {"prompts_sha256": self.sha256, "tokenizer_sha256": hash_of(self.tokenizer)}


def _prompts_of(asked: Import, cell: CellFolder) -> Prompts:
    """Return the prompts that a cell's stored texts go on from; of several sets, that of as many rows as asked for.

    Raises:
        UsageError: the task is not open-ended, or it is not said which set is meant.
        MissingError: the cell has no such texts, or no tokenizer.
        DataError: they are of other data.
    """
    if not asked.task.info.open_ended:
        raise UsageError(f"'{asked.kind.name}' is not open-ended: its rows are those of the split, leave --like out")
    sets: dict[str, StoredRows] = {}
    for stored in _generated(cell, asked.split, asked.task.manifest(asked.split).sha256):
        sets.setdefault(_prompts_hash(stored.rows), stored)
    sizes = ", ".join(f"{n:,}" for n in sorted(len(stored.rows) for stored in sets.values()))
    if asked.rows is not None:
        sets = {digest: stored for digest, stored in sets.items() if len(stored.rows) == asked.rows}
    if not sets:
        raise MissingError(f"'{cell.path}' has no texts of {asked.rows:,} rows, only of {sizes}; leave --rows out")
    if len(sets) > 1:
        advice = "say which with --rows N"
        if len({len(stored.rows) for stored in sets.values()}) < len(sets):
            advice = "name a cell whose texts all go on from the same prompts"
        raise UsageError(
            f"'{cell.path}' has texts for several sets of prompts, of {sizes} rows; expected one set: {advice}"
        )
    tokenizer = cell.path / TOKENIZER
    if not tokenizer.is_file():
        raise MissingError(f"'{tokenizer}' is not there; a text's tokens are counted by the tokenizer of the cell")
    ((digest, stored),) = sets.items()
    return Prompts(stored, digest, tokenizer)


def _prompts_hash(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the hash of what rows have beside the text that was written for them."""
    content = []
    for row in sorted(rows, key=lambda row: str(row["id"])):
        content.append([str(row["id"]), *(row.get(field) for field in TRUE)])
    return key_of(content)


def _generated(cell: CellFolder, split: str, split_sha256: str) -> list[StoredRows]:
    """Return every set of generated rows of a cell that carry prompts, for a split as it is here.

    Raises:
        MissingError: it has none.
        DataError: they are of other data.
    """
    found = []
    for stored in cell.all_rows():
        content = stored.content
        has_prompts = all("prompt" in row for row in stored.rows)
        if content["kind"] != "generation" or content["split"] != split or not has_prompts:
            continue
        if content["split_sha256"] != split_sha256:
            raise DataError(f"'{cell.path}': its rows are of another {split} split than the one here; see --data-dir")
        found.append(stored)
    if not found:
        raise MissingError(f"'{cell.path}' has no generated texts of the {split} split; bench run makes some")
    return found


def _tokenised(path: Path, texts: Sequence[str]) -> list[list[int]]:
    """Return the token ids of texts by a tokenizer's file, as texts that go on from one before them."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(path))
    return [encoded.ids for encoded in tokenizer.encode_batch([f" {text}" for text in texts], add_special_tokens=False)]
