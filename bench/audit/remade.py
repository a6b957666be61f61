"""Remade: a cell made again from its record alone, to compare it with what is stored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from bench.base.keys import key_of
from bench.cells.cell import Cell, trained_key_of, with_revisions
from bench.cells.score import Tasks
from bench.cells.standing import has_only_numbers
from bench.cells.wanted import Evaluation
from bench.config.config import CellConfig, EvaluationConfig, OwnPart, TrainerConfig
from bench.config.decoding import parse
from bench.config.resolve import Method, find_method, own_part
from bench.errors import MissingError
from bench.models.backbones import find_backbone
from bench.store.store import CellFolder, StoredRows
from bench.tasks import find_task
from bench.tasks.core.task import Task

__all__ = ["StoredCell", "evaluation_of", "key_again", "method_of", "remade"]

FIND = {"task": find_task, "backbone": find_backbone}


@dataclass(frozen=True)
class StoredCell:
    """A stored cell whose files could be read.

    Args:
        folder: of the cell.
        record: what was trained.
        rows: every rows file.
    """

    folder: CellFolder
    record: Mapping[str, Any]
    rows: tuple[StoredRows, ...]

    @property
    def config(self) -> Mapping[str, Any]:
        """Its configuration, as recorded."""
        config: Mapping[str, Any] = self.record["config"]
        return config

    @property
    def root(self) -> Path:
        """The store it lies in."""
        return self.folder.path.parents[2]

    @property
    def place(self) -> str:
        """For people."""
        return f"{self.config['task']}/{self.config['method']}/{self.folder.path.name} (seed {self.config['seed']})"

    @cached_property
    def is_numbers_only(self) -> bool:
        """Whether it has numbers and nothing they were made with, as one that was merged from a kept board."""
        return has_only_numbers(self.folder)

    @property
    def is_trained(self) -> bool:
        """Whether steps were taken."""
        return "model" in self.record and bool(self.record["train"]["steps"])


def remade(stored: StoredCell, tasks: Tasks) -> Cell:
    """Make a cell from its record, behind the cells it needs, which are looked for in the same store.

    Raises:
        BenchError: something it names is not here: code of the user's own, a file, the cell it starts from.
    """
    record = stored.record
    task = tasks.task_of(record, stored.folder)
    method = method_of(record)
    parent = second = donor = None
    if record.get("start") and method.parent:
        parent = remade(needed(stored, record["start"]), tasks)
    elif record.get("start"):
        donor = needed(stored, record["start"]).folder
    if record.get("second"):
        second = remade(needed(stored, record["second"]), tasks)
    config = config_of(record, donor)
    method = with_revisions(method, config, task)
    return Cell(config, method, task, str(record["key"]), stored.folder, {}, parent, donor, second)


def method_of(record: Mapping[str, Any]) -> Method:
    """Return the method that a record names, from the code here.

    Raises:
        BenchError: there is none of this name.
    """
    if "source_sha256" in record["method"]:
        return find_method(record["method"]["class"])
    return find_method(record["config"]["method"])


def needed(stored: StoredCell, origin: Mapping[str, Any]) -> StoredCell:
    """Return the cell that another one starts from or reads along.

    Raises:
        MissingError: it is not in the store.
    """
    config = origin["config"]
    folder = CellFolder(stored.root / config["task"] / config["method"] / origin["key"], stored.folder.files)
    record = folder.trained()
    if record is None:
        raise MissingError(f"needs the cell {config['method']}/{origin['key']}, which is not in the store")
    return StoredCell(folder, record, ())


def config_of(record: Mapping[str, Any], donor: CellFolder | None) -> CellConfig:
    """Return the configuration of a record.

    Raises:
        MissingError: it names files by their content, which a store does not have.
    """
    content, trainer = dict(record["config"]), dict(record["config"]["trainer"])
    for name in ("tokenizer", "glove"):
        if content["backbone_options"].get(name):
            raise MissingError(f"backbone.{name} was a file, which no store keeps; it cannot be made again")
    if donor is not None:
        trainer["init_from"] = str(donor.path)
    own: dict[str, OwnPart] = {}
    for part, code in record.get("own", {}).items():
        own[part] = own_part(FIND[part](code["class"]))
    sections: dict[str, Any] = {
        "trainer": TrainerConfig(**trainer),
        "evaluation": EvaluationConfig(**content["evaluation"]),
        "decodings": (),
        "own": own,
    }
    return CellConfig(**{**content, **sections})


def key_again(cell: Cell, record: Mapping[str, Any]) -> str:
    """Return the key of everything that a record says decides the weights."""
    method: Method = replace(cell.method, code=record["method"])
    parent_key = second_key = ""
    if cell.parent is not None:
        parent_key = str(record["start"]["key"])
    if cell.second is not None:
        second_key = str(record["second"]["key"])
    with_valid = "valid" in record["data"]  # not in the records of cells before 0.3 that selected their best step
    return trained_key_of(cell.config, method, cell.task, cell.donor, parent_key, second_key, with_valid=with_valid)


def evaluation_of(stored: StoredRows, task: Task) -> Evaluation:
    """Return the evaluation that rows are of, by their header; the ids in the order of the split.

    Raises:
        BenchError: its decoding is not known here.
    """
    content, decoding = stored.content, None
    if content["decoding"] is not None:
        (decoding,) = parse(content["decoding"]["name"])
    ids: tuple[str, ...] = ()
    if "cut" not in content:
        held = {str(row["id"]) for row in stored.rows}
        ids = tuple(example.id for example in task.split(content["split"]).examples if example.id in held)
    return Evaluation(
        kind=content["kind"],
        split=content["split"],
        ids=ids,
        batch_size=content["batch_size"],
        max_new_tokens=content["max_new_tokens"],
        decoding=decoding,
        seed=content["seed"],
        precision=content["precision"],
        of_rows=content["of_rows"],
        exemplars=content["exemplars"],
        shown_as=content["shown_as"],
        references=content["references"],
        cut=content.get("cut"),
    )


def ids_hash(ids: list[str]) -> str:
    """Return the hash of ids as headers of rows have it."""
    return key_of(ids)
