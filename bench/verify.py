"""Verification of a store: values from sufficient statistics, keys from records, checkpoints from their hashes.

A key is the hash of everything that decides a result. A record holds all of that, the hashes of the data included. So a
key is computed again from the record alone, without data and without a model.
"""

import math
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.base.keys import key_of
from bench.cells.cell import key_of_training, pretrained_weights
from bench.cells.required import VERSION
from bench.errors import BenchError, DamagedError
from bench.metrics.sums import Sums, value_of
from bench.store.export import WITHOUT_SUMS
from bench.store.files import UNREADABLE, StoredRows
from bench.store.former import former_folder
from bench.store.reading import is_imported
from bench.store.store import CellFolder, check_checkpoint
from bench.tasks import find_task

Record = Mapping[str, Any]

IN_NO_KEY = ("status", "split_sha256", "whole_split", "truncated", "broken", "trained")
"""Fields of a predictions file that are no settings of its evaluation."""
DESCRIPTIVE = ("columns", "primary")
"""Fields that a record adds to the code of a task that is a plug-in."""


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
    plugins = {
        part: {name: value for name, value in code.items() if name not in DESCRIPTIVE}
        for part, code in record.get("own", {}).items()
    }
    name = plugins["task"]["class"] if "task" in plugins else config["task"]
    task = {
        "name": config["task"],
        "version": find_task(name).value.version,
        "options": config["task_options"],
        "train": record["data"]["train"],
    }
    backbone = {"name": config["backbone"], "options": config["backbone_options"]}
    if "backbone" not in plugins:
        backbone |= pretrained_weights(config["backbone"], config["backbone_options"])
    has_parent = record.get("start") and not trainer["init_from"]
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
            plugins=plugins,
            parent=record["start"]["key"] if has_parent else "",
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


# Values --------------------------------------------------------------------------------------------------------------

TOLERANCE = 1e-12
"""Relative and absolute tolerance of a value: fractions that were summed in groups were rounded."""


@dataclass
class Verification:
    """The findings about values, keys and files.

    Args:
        equal: number of values that equal those of their sufficient statistics to `TOLERANCE`.
        without: number of values without sufficient statistics, by family and column; `human <name>` for those of
            people's texts.
        differences: one line for each difference of a value, key or file.
        not_checked: reasons why a key could not be computed, such as a missing model, by run.
        keys: number of runs whose records have the keys that they are stored under.
    """

    equal: int = 0
    without: dict[str, Counter[str]] = field(default_factory=dict)
    differences: list[str] = field(default_factory=list)
    not_checked: dict[str, BenchError] = field(default_factory=dict)
    keys: int = 0

    def check_scores(self, folder: CellFolder, rows: Sequence[StoredRows]) -> None:
        """Compute every stored value of a run again from its sufficient statistics.

        Args:
            folder: of the run.
            rows: its predictions, if there are some; scores name the hash of those that they were computed from.

        Raises:
            DamagedError: a file cannot be read.
        """
        predictions = {stored.key: stored for stored in rows}
        for content in folder.all_scores():
            where = f"{folder.path} · {content['family']}"
            stored = predictions.get(content.get("rows", ""))
            if stored is not None and stored.sha256 != content["rows_sha256"]:
                self.differences.append(f"{where}: it was computed from other predictions than those stored")
            values = {value["name"]: value for value in content["values"]}
            columns = values | {f"human {value['name']}": value for value in content.get("human", ())}
            sums: Mapping[str, Sums] = {}
            if "items" in content:
                sums = folder.sums(content["items"])
                if not sums and content["of"]["split"] != WITHOUT_SUMS:
                    self.differences.append(f"{where}: its sufficient statistics, {content['items']}, are missing")
            for column in sorted(set(sums) - set(columns)):
                self.differences.append(f"{where}: {column}: has statistics and no stored value")
            for column, record in columns.items():
                if column not in sums:
                    if record["value"] is not None:
                        self.without.setdefault(content["family"], Counter())[column] += 1
                    continue
                stored_value, value = record["value"], value_of(sums[column].total.tolist(), sums[column].form)
                numbers = [math.nan if number is None else number for number in (stored_value, value)]
                if value is stored_value is None or math.isclose(*numbers, rel_tol=TOLERANCE, abs_tol=TOLERANCE):
                    self.equal += 1
                else:
                    line = f"value stored {stored_value!r}, its statistics give {value!r}"
                    self.differences.append(f"{where}: {column}: {line}")


# All of a store ------------------------------------------------------------------------------------------------------


def verify(folders: Iterable[CellFolder]) -> Verification:
    """Verify the keys, the values and the checkpoints of trained runs."""
    found = Verification()
    for folder in folders:
        try:
            _verify_run(folder, found)
        except DamagedError as error:
            found.differences.append(str(error))
        except UNREADABLE as error:  # with the hash of its content, and not written by this program
            found.differences.append(f"{folder.path}: has a record of another form ({type(error).__name__}: {error})")
    return found


def _verify_run(folder: CellFolder, found: Verification) -> None:
    """Verify one run.

    Raises:
        DamagedError: a file cannot be read.
    """
    record = folder.trained()
    if record is None:
        return
    rows = folder.all_rows()
    try:
        lines = list(key_differences(folder, record, rows))
        found.keys += not lines
        found.differences += [f"{folder.path}: {line}" for line in lines]
    except DamagedError:
        raise
    except BenchError as error:
        found.not_checked[f"{folder.path} · key"] = error
    found.check_scores(folder, rows)
    check_checkpoint(folder)
