"""The texts of another system as a run of the store, with predictions that every metric and table can read.

Nothing is trained and there is no model: `trained.json` has zero steps, and its field `imported` names the file of the
texts. Texts of open-ended tasks continue prompts that a model's tokenizer has cut; so they are stored like the
predictions of a run that is named.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.base.files import hash_of
from bench.base.keys import key_of
from bench.base.registry import Resolved
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

VERSION = 1
"""In the key of such a run; raise it when rows of the same file would come out otherwise."""
SPLIT = "test"
"""The split that texts are imported for."""
REFERENCES = ("prompt", "reference", "reference_ids")
"""Fields of an open-ended row that do not depend on the text that was generated for it."""

Predictions = tuple[dict[str, Any], list[dict[str, Any]]]
"""The header of a predictions file, and its rows."""


@dataclass(frozen=True)
class Import:
    """Texts to import.

    Args:
        system: the name that tables show in place of a method's.
        path: their file, which has a text for each row of the test split.
        kind: the task's class and name.
        task: loaded.
        options: of the task, all of them.
        rows: store only this many, the declared subset that runs with `evaluation.rows` have; None for all. Of an
            open-ended task it chooses the set of rows of `like` with this many.
        like: a run with generated texts for the same rows, for an open-ended task.
    """

    system: str
    path: Path
    kind: Resolved
    task: Task
    options: Mapping[str, Any]
    rows: int | None = None
    like: CellFolder | None = None


def store_import(store: Store, asked: Import) -> tuple[CellFolder, StoredRows]:
    """Store the texts of a file as a run; nothing happens where they are stored already.

    Returns:
        The run's folder and its predictions.

    Raises:
        MissingError: the file, or what `like` should have, is not there.
        DataError: the file has not exactly the rows of the split.
        UsageError: the task has no generated texts, or `like` is given or missing where it should not be.
    """
    started, info = time.monotonic(), asked.task.info
    if "generation" not in info.evaluations:
        raise UsageError(f"the task '{asked.kind.name}' has no generated texts; its rows are {info.evaluations}")
    if info.open_ended and asked.like is None:
        raise UsageError(
            f"prompts of '{asked.kind.name}' are cut by a model's tokenizer; name a run whose stored texts continue "
            "the same ones: --like FOLDER"
        )
    if not info.open_ended and asked.like is not None:
        raise UsageError(f"'{asked.kind.name}' is not open-ended: its rows are those of the split, leave --like out")
    prompts: dict[str, str] = {}
    if asked.like is None:
        about, rows = _rows_of_split(asked)
    else:
        about, rows = _rows_like(asked, asked.like)
        prompts = {"prompts_sha256": _prompts_hash(rows), "tokenizer_sha256": hash_of(asked.like.path / TOKENIZER)}
    record = _record(asked, prompts)
    folder = store.cell(asked.kind.name, asked.system, record["key"])
    about = {"trained": record["key"], **about, "status": asked.task.split(SPLIT).status}
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


def _record(asked: Import, prompts: Mapping[str, str]) -> dict[str, Any]:
    """Return the record that is stored in place of one of a training, with the key of the run.

    Args:
        asked: the import.
        prompts: hashes of the prompts of an open-ended task and of the tokenizer that cut them.
    """
    task, kind, file = asked.task, asked.kind, _file(asked.path)
    manifest = task.manifest(SPLIT).as_dict()
    task_options = without(asked.options, task.places)
    decides = {
        "import": VERSION,
        "task": [kind.name, task.version, task_options, dict(kind.code)],
        "split": manifest,
        "system": asked.system,
        "file_sha256": file["sha256"],
    }
    method = {"class": IMPORTED, "version": VERSION, "file_sha256": file["sha256"]}
    if prompts:
        decides["like"] = method["like"] = dict(prompts)
    record = {
        "key": key_of(decides),
        "config": {
            "task": kind.name,
            "method": asked.system,
            "backbone": "",
            "seed": 0,
            "preset": IMPORTED,
            "trainer": {"limit": None},
            "evaluation": {"split": SPLIT, "batch_size": 1},
            "decodings": [IMPORTED],
            "task_options": task_options,
            "method_options": {},
            "backbone_options": {},
        },
        "method": method,
        "start": None,
        "data": {
            "train": {"split": "train", "status": "unknown", "rows": 0, "bytes": 0, "sha256": "", "skipped": 0},
            SPLIT: manifest,
        },
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


def _rows_of_split(asked: Import) -> Predictions:
    """Return the header and the rows of the predictions of a whole split, or of its declared subset."""
    task = asked.task
    texts = read_outputs(asked.path, [example.id for example in task.split(SPLIT).examples])
    ids = tuple(example.id for example in task.evaluation_examples(SPLIT, asked.rows))
    what = Evaluation("generation", SPLIT, ids, batch_size=1, of_rows=key_of(list(ids)))
    content = {
        **evaluation_content(what),
        "decoding": {"name": IMPORTED},
        "split_sha256": task.manifest(SPLIT).sha256,
        "whole_split": len(ids) == len(texts),
        "truncated": 0,
        "broken": sum("\ufffd" in texts[name] for name in ids),
    }
    return content, [{"id": name, "text": texts[name], "truncated": 0} for name in ids]


def _rows_like(asked: Import, like: CellFolder) -> Predictions:
    """Return the texts of an open-ended task: prompts and references are those of a run's stored predictions.

    Raises:
        MissingError: the run has no such texts, or no tokenizer.
        UsageError: it has several sets of prompts, and nothing chooses one.
        DataError: they are of other data.
    """
    from tokenizers import Tokenizer

    stored = _texts_of(asked, like)
    tokenizer = like.path / TOKENIZER
    if not tokenizer.is_file():
        raise MissingError(f"'{tokenizer}' is not there; a text's tokens are counted by the tokenizer of the run")
    by_id = {str(row["id"]): row for row in stored.rows}
    texts = read_outputs(asked.path, list(by_id))
    spaced = [f" {text}" for text in texts.values()]  # a text follows its prompt
    encoded = Tokenizer.from_file(str(tokenizer)).encode_batch(spaced, add_special_tokens=False)
    rows = []
    for (name, text), tokens in zip(texts.items(), encoded, strict=True):
        references = {field: by_id[name][field] for field in REFERENCES if field in by_id[name]}
        rows.append({"id": name, "text": text, "token_ids": tokens.ids, "truncated": 0, **references})
    own = {"batch_size": 1, "decoding": {"name": IMPORTED}, "seed": 0, "exemplars": "", "shown_as": "", "truncated": 0}
    content = {**stored.content, **own, "broken": sum("\ufffd" in text for text in texts.values())}
    del content["trained"], content["status"]
    return content, rows


def _texts_of(asked: Import, like: CellFolder) -> StoredRows:
    """Return generated texts of a run for a split; of several sets of prompts, those of `asked.rows` rows."""
    sets: dict[str, StoredRows] = {}
    for stored in like.all_rows():
        content, has_prompts = stored.content, all("prompt" in row for row in stored.rows)
        if content["kind"] == "generation" and content["split"] == SPLIT and has_prompts:
            if content["split_sha256"] != asked.task.manifest(SPLIT).sha256:
                raise DataError(
                    f"'{like.path}': its rows are of another {SPLIT} split than the one here; see --data-dir"
                )
            sets.setdefault(_prompts_hash(stored.rows), stored)
    if not sets:
        raise MissingError(f"'{like.path}' has no generated texts of the {SPLIT} split; bench run makes some")
    sizes = ", ".join(f"{n:,}" for n in sorted(len(stored.rows) for stored in sets.values()))
    found = [stored for stored in sets.values() if asked.rows in (None, len(stored.rows))]
    if not found:
        raise MissingError(f"'{like.path}' has no texts of {asked.rows:,} rows, only of {sizes}; leave --rows out")
    if len(found) > 1:
        raise UsageError(
            f"'{like.path}' has texts for several sets of prompts, of {sizes} rows; choose one with --rows N, or name "
            "a run whose texts all continue the same prompts"
        )
    return found[0]


def _prompts_hash(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the hash of prompts and references."""
    ordered = sorted(rows, key=lambda row: str(row["id"]))
    return key_of([[str(row["id"]), *(row.get(field) for field in REFERENCES)] for row in ordered])
