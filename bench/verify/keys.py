"""Keys: whether the records of a run still have the keys that they are stored under.

A key is the hash of everything that decides a result. A record holds all of that, the hashes of the data included. So a
key is computed again from the record alone, without data and without a model.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.base.keys import key_of
from bench.cells.cell import key_of_training, pretrained_weights
from bench.cells.required import VERSION
from bench.store.fields import is_imported
from bench.store.former import former_folder
from bench.store.store import CellFolder, StoredRows
from bench.tasks import find_task

__all__ = ["key_differences", "trained_keys"]

Record = Mapping[str, Any]

IN_NO_KEY = ("status", "split_sha256", "whole_split", "truncated", "broken", "trained")
"""Fields of a predictions file that are no settings of its evaluation."""
DESCRIPTIVE = ("columns", "primary")
"""Fields that a record adds to the code of a user's own task."""


def key_differences(folder: CellFolder, record: Record, rows: Sequence[StoredRows]) -> Iterator[str]:
    """Yield a line for each key of a run that its records do not have.

    Args:
        folder: of the run.
        record: content of its `trained.json`.
        rows: its predictions.

    Raises:
        MissingError: the key names a task or weights that are not on this machine.
        DamagedError: a file cannot be read.
    """
    task, method, key = record["config"]["task"], record["config"]["method"], record["key"]
    place = Path(os.path.abspath(folder.path)).relative_to(folder.root).as_posix()
    if place not in (f"{task}/{method}/{key}", f"{task}/{former_folder(method)}/{key}"):
        yield f"the record is of {task}/{method}/{key}, but it lies in {place}"
    if is_imported(record):  # its key is that of a file, which no store holds
        return
    keys = trained_keys(record)
    if record["key"] not in keys:
        yield f"the settings of the record have the key {keys[-1]}, but it is stored under {record['key']}"
    headers = {stored.key: stored.content for stored in rows}
    for scores in folder.all_scores():
        headers.setdefault(scores["rows"], scores["of"])
    for name, header in headers.items():
        if header["trained"] != record["key"]:
            yield f"the predictions {name} are of the run {header['trained']}"
        key = predictions_key(header)
        if key != name:
            yield f"the settings of the predictions {name} have the key {key}"


def trained_keys(record: Record) -> list[str]:
    """Return the keys that a record may have: without validation text, and with it where it is recorded.

    Validation text is in the key where it decides what is stored, and it is recorded where a run is evaluated on it.

    Raises:
        MissingError: the task or the weights are not on this machine.
    """
    config, trainer = record["config"], record["config"]["trainer"]
    own = {
        part: {name: value for name, value in code.items() if name not in DESCRIPTIVE}
        for part, code in record.get("own", {}).items()
    }
    name = config["task"]
    if "task" in own:
        name = own["task"]["class"]
    task = {
        "name": config["task"],
        "version": find_task(name).value.version,
        "options": config["task_options"],
        "train": record["data"]["train"],
    }
    backbone = {"name": config["backbone"], "options": config["backbone_options"]}
    if "backbone" not in own:
        backbone |= pretrained_weights(config["backbone"], config["backbone_options"])
    parent = ""
    if record.get("start") and not trainer["init_from"]:
        parent = record["start"]["key"]
    tasks = [task]
    if "valid" in record["data"]:
        tasks.append({**task, "valid": record["data"]["valid"]["sha256"]})
    return [
        key_of_training(
            task=one,
            method={**record["method"], "options": config["method_options"]},
            backbone=backbone,
            trainer=trainer,
            seed=config["seed"],
            own=own,
            parent=parent,
            reference=(record.get("second") or {}).get("key", ""),
        )
        for one in tasks
    ]


def predictions_key(header: Record) -> str:
    """Return the key of a predictions file by its header."""
    settings = {name: value for name, value in header.items() if name not in IN_NO_KEY}
    if "cut" in header:  # rows that the tokenizer cuts from running text are not known when they are planned
        settings["ids"] = {"n": 0, "sha256": key_of([])}
    decides = {"trained": header["trained"], "version": VERSION, "split_sha256": header["split_sha256"]}
    return key_of({**settings, **decides})
