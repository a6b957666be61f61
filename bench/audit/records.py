"""Records: whether what a cell's files say of themselves, of each other and of the data agrees."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from bench.audit.finding import Finding, alarm, question
from bench.audit.remade import StoredCell, ids_hash, key_again
from bench.base.keys import key_of
from bench.cells.cell import Cell
from bench.cells.wanted import VERSION
from bench.store.store import StoredRows
from bench.tasks.core.task import Task
from bench.tasks.encode.codec import byte_count

__all__ = ["check_names", "check_record", "check_rows"]

NOT_IN_KEY = ("status", "split_sha256", "whole_split", "truncated", "broken", "trained")
"""What a header of rows says beside its evaluation."""


def check_names(stored: StoredCell) -> Iterator[Finding]:
    """Compare the folder of a cell with its record."""
    task, method, key = stored.folder.path.parts[-3:]
    said = (stored.config["task"], stored.config["method"], stored.record["key"])
    if said != (task, method, key):
        yield alarm("folder", stored.place, f"its record is of {'/'.join(said)}, its folder is {task}/{method}/{key}")


def check_record(stored: StoredCell, cell: Cell) -> Iterator[Finding]:
    """Compare a record with its key, with the data here and with the code here."""
    record = stored.record
    for split, said in record["data"].items():
        here = cell.task.manifest(split).as_dict()
        if here != said:
            names = [name for name in said if here.get(name) != said[name]]
            yield alarm("data", stored.place, f"its {split} rows are not those here: other {', '.join(names)}")
    key = key_again(cell, record)
    if key != record["key"]:
        yield alarm("key", stored.place, f"what its record says of it has the key {key}, not {record['key']}")
    if cell.method.code != record["method"]:
        yield from changed_code(stored, cell)
    for part, own in cell.config.own.items():
        if own.code["source_sha256"] != record["own"][part]["source_sha256"]:
            yield alarm("code", stored.place, f"the source of its {part} is not the one it was made with")


def changed_code(stored: StoredCell, cell: Cell) -> Iterator[Finding]:
    """Say that a method is not the one that a record names."""
    said, here = stored.record["method"], cell.method.code
    if "source_sha256" in said:
        yield alarm("code", stored.place, f"the source of {said['class']} is not the one it was made with")
    else:
        yield question("code", stored.place, f"it was made by {said}; here is {here}, so it is not replayed")


def check_rows(stored: StoredCell, rows: StoredRows, cell: Cell) -> Iterator[Finding]:
    """Compare a rows file with its key, with the rows of the split and with what can be counted in these."""
    content, place = rows.content, f"{stored.place}, {rows.content['kind']} rows {rows.key}"
    if content["trained"] != stored.record["key"]:
        yield alarm("rows", place, f"they are of the cell {content['trained']}")
    key = rows_key_again(content)
    if key is not None and key != rows.key:
        yield alarm("rows", place, f"what their header says has the key {key}")
    manifest = cell.task.manifest(content["split"])
    if (content["split_sha256"], content["status"]) != (manifest.sha256, manifest.status):
        yield alarm("data", place, f"they are of another {content['split']} split than the one here")
        return
    yield from check_ids(rows, cell.task, place)
    if content["kind"] == "likelihood":
        yield from check_counts(rows, cell.task, place)


def rows_key_again(content: Mapping[str, Any]) -> str | None:
    """Return the key of what a header says; None for rows cut from running text, whose ids a header does not hold."""
    if "cut" in content:
        return None
    decides = {name: value for name, value in content.items() if name not in NOT_IN_KEY}
    extra = {"trained": content["trained"], "version": VERSION, "split_sha256": content["split_sha256"]}
    return key_of({**decides, **extra})


def check_ids(rows: StoredRows, task: Task, place: str) -> Iterator[Finding]:
    """Compare the ids of rows with those that the rule chooses, and with what the header says of them."""
    content = rows.content
    ids = [str(row["id"]) for row in rows.rows]
    if repeated := [name for name, n in Counter(ids).items() if n > 1]:
        yield alarm("ids", place, f"{len(repeated)} ids stand there more than once, such as {repeated[0]}")
    if content["kind"] == "spectrum" or "cut" in content:
        return
    if content["ids"]["n"] != len(ids):
        yield alarm("ids", place, f"their header says {content['ids']['n']} rows; there are {len(ids)}")
    if content["kind"] == "probe":
        return
    n_split = len(task.split(content["split"]).examples)
    chosen = [example.id for example in task.evaluation_examples(content["split"], len(ids))]
    if set(chosen) != set(ids):
        others = len(set(ids) - set(chosen))
        yield alarm("ids", place, f"{others} of {len(ids)} rows are not those that the rule chooses of the split")
    elif content["ids"]["sha256"] != ids_hash(chosen):
        yield alarm("ids", place, "the hash of their ids is another one than their header says")
    if content["whole_split"] != (len(ids) == n_split):
        yield alarm("ids", place, f"they are {len(ids)} of {n_split} rows; their header says otherwise")


def check_counts(rows: StoredRows, task: Task, place: str) -> Iterator[Finding]:
    """Count words and bytes of the targets again; look for likelihoods that no distribution has."""
    content = rows.content
    impossible = [row for row in rows.rows if not math.isfinite(row["nll_sum"]) or row["nll_sum"] < 0]
    if impossible:
        yield alarm("likelihood", place, f"{len(impossible)} rows have a probability above 1, or none")
    if "cut" in content:
        return
    examples = {example.id: example for example in task.split(content["split"]).examples}
    for name, count in (("n_words", task.words_of), ("n_bytes", byte_count)):
        wrong = []
        for row in rows.rows:
            example = examples.get(str(row["id"]))
            if example is not None and row[name] != count(example.target):
                wrong.append(row["id"])
        if wrong:
            yield alarm("counts", place, f"{name} of {len(wrong)} rows is not that of their target, such as {wrong[0]}")
