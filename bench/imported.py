"""The texts of another system as a run of the store, with predictions that every metric and table can read.

Nothing is trained and there is no model: `trained.json` has zero steps, and its field `imported` names the file of the
texts, which has one for each row of the test split.
"""

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.base.files import write_atomic
from bench.base.keys import key_of, sha256, without
from bench.base.registry import Resolved
from bench.cells.required import Evaluation, evaluation_content
from bench.errors import DataError, UsageError
from bench.store.files import StoredRows
from bench.store.provenance import provenance
from bench.store.reading import IMPORTED
from bench.store.store import CellFolder, Store
from bench.tasks.core.task import Task
from bench.tasks.files.lines import lines, read_json
from bench.tasks.files.records import described, read_records

VERSION = 1
"""In the key of such a run; raise it when rows of the same file would come out otherwise."""
SPLIT = "test"
"""The split that texts are imported for."""


@dataclass(frozen=True)
class Import:
    """Texts to import.

    Args:
        system: the name that tables show in place of a method's.
        path: their file, which has a text for each row of the test split.
        kind: the task's class and name.
        task: loaded.
        options: of the task, all of them.
        rows: store only this many, the declared subset that runs with `evaluation.rows` have; None for all.
    """

    system: str
    path: Path
    kind: Resolved
    task: Task
    options: Mapping[str, Any]
    rows: int | None = None


def store_import(store: Store, spec: Import) -> tuple[CellFolder, StoredRows]:
    """Store the texts of a file as a run; nothing happens where they are stored already.

    Returns:
        The run's folder and its predictions.

    Raises:
        MissingError: the file cannot be read.
        DataError: the file has not exactly the rows of the split.
        UsageError: the task has no generated texts, or its prompts are not known before a model has cut them.
    """
    started, info = time.monotonic(), spec.task.info
    if "generation" not in info.evaluations:
        raise UsageError(f"the task '{spec.kind.name}' has no generated texts; its rows are {info.evaluations}")
    if info.open_ended:
        raise UsageError(
            f"prompts of '{spec.kind.name}' are cut by a model's tokenizer, so those of other systems differ"
        )
    about, rows = _predictions(spec)
    record = _record(spec)
    folder = store.cell(spec.kind.name, spec.system, record["key"])
    about = {"trained": record["key"], **about, "status": spec.task.split(SPLIT).status}
    key = key_of({**about, "version": VERSION})
    if folder.trained() is None:
        import yaml

        places = {f"task.{name}": str(spec.options[name]) for name in spec.task.places if spec.options.get(name)}
        file = {"task": spec.kind.spec, "method": spec.system, "set": places}  # where its data are found again
        write_atomic(folder.path / "config.yaml", yaml.safe_dump(file, sort_keys=False).encode(), replace=True)
        folder.write_trained(record, provenance(started))
    if folder.rows(key) is None:
        folder.write_rows(key, about, sorted(rows, key=lambda row: str(row["id"])), provenance(started))
    stored = folder.rows(key)
    assert stored is not None
    return folder, stored


def _record(spec: Import) -> dict[str, Any]:
    """Return the record that is stored in place of one of a training, with the key of the run."""
    task, kind, content = spec.task, spec.kind, spec.path.read_bytes()
    file = {"name": spec.path.name, "bytes": len(content), "sha256": sha256(content)}
    manifest = task.manifest(SPLIT).as_dict()
    task_options = without(spec.options, task.places)
    decides = {
        "import": VERSION,
        "task": [kind.name, task.version, task_options, dict(kind.code)],
        "split": manifest,
        "system": spec.system,
        "file_sha256": file["sha256"],
    }
    record = {
        "key": key_of(decides),
        "config": {
            "task": kind.name,
            "method": spec.system,
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
        "method": {"class": IMPORTED, "version": VERSION, "file_sha256": file["sha256"]},
        "start": None,
        "data": {
            "train": {"split": "train", "status": "unknown", "rows": 0, "bytes": 0, "sha256": "", "skipped": 0},
            SPLIT: manifest,
        },
        "status": "ok",
        "train": {"steps": 0, "curve": []},
        IMPORTED: {"system": spec.system, "file": file},
    }
    if kind.code:
        columns = {"columns": list(task.info.columns), "primary": task.info.primary}
        record["own"] = {"task": {**kind.code, **columns}}
    return record


def _predictions(spec: Import) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the header and the rows of the predictions of a whole split, or of its declared subset."""
    task = spec.task
    texts = read_outputs(spec.path, [example.id for example in task.split(SPLIT).examples])
    ids = tuple(example.id for example in task.evaluation_examples(SPLIT, spec.rows))
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


def read_outputs(path: Path, ids: Sequence[str]) -> dict[str, str]:
    """Return the text of every row, in the order of the split, without surrounding white space.

    Forms, by the file's name, each packed with gzip or not:

    `.jsonl`: records with `text` and `id`, in any order; or all without `id`, in the order of the split.
    `.json`: texts by id, or lists of texts by the first part of their ids: `{"a": ["x", "y"]}` has the rows `a/0` and
    `a/1`, as outputs for LogicNLG are published.
    Any other: one text a line, in the order of the split; an empty line is an empty text.

    Args:
        path: the file.
        ids: of the rows of the split, in order.

    Raises:
        MissingError: the file cannot be opened.
        DataError: it cannot be read, or has not exactly one text for each row; the message names the first row that is
            missing, unknown or there twice.
    """
    texts: dict[str, str] = {}
    known, has_ids = set(ids), None
    for number, (where, name, text) in enumerate(_outputs(path)):
        if has_ids is not None and has_ids != bool(name):
            raise DataError(f"{path}, {where}: expected an id in every row or in none")
        has_ids = bool(name)
        if not has_ids:
            name = ids[number] if number < len(ids) else f"number {number + 1}"
        if name not in known:
            raise DataError(
                f"{path}, {where}: the split has no row '{name:.80}', only {len(ids):,}, such as '{ids[0]:.80}'"
            )
        if name in texts:
            raise DataError(f"{path}, {where}: the row '{name:.80}' is there twice")
        texts[name] = text
    if missing := [name for name in ids if name not in texts]:
        raise DataError(
            f"{path}: expected a text for each of the {len(ids):,} rows of the split, found {len(texts):,}; the first "
            f"row without one is '{missing[0]}'"
        )
    return {name: texts[name] for name in ids}


def _outputs(path: Path) -> Iterator[tuple[str, str, str]]:
    """Yield the texts of a file in its order: the place of each, the id of its row or nothing, and the text."""
    form = path.name.lower().removesuffix(".gz")
    if form.endswith((".jsonl", ".ndjson")):
        columns, optional = {"text": "text"}, {"id": "id"}
        for record in read_records(path, columns=columns, optional=optional, may_be_empty=True):
            yield record.row, record.texts["id"].strip(), record.texts["text"].strip()
    elif form.endswith(".json"):
        for name, texts in _object(path):
            single = not isinstance(texts, list)
            for number, text in enumerate([texts] if single else texts):
                row = name if single else f"{name}/{number}"
                if not isinstance(text, str) or re.search("[\0\ud800-\udfff]", text):
                    raise DataError(f"{path}, '{row:.80}': expected a text, found {type(text).__name__} {text!r:.60}")
                yield f"'{row:.80}'", row, text.strip()
    else:
        for number, line in lines(path):
            yield f"line {number}", "", line.strip()


def _object(path: Path) -> list[tuple[str, Any]]:
    """Return the names and values of a JSON object, in order, repeated names included."""
    pairs = read_json(path, tuple)
    if not isinstance(pairs, tuple):
        raise DataError(f"{path}: expected JSON with texts by the ids of rows, found {described(pairs)}")
    return list(pairs)
