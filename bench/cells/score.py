"""Scoring: stored rows to stored numbers, without a model, the same bits however many processes made the rows."""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from bench.base.keys import key_of
from bench.base.options import read_options
from bench.base.registry import Resolved
from bench.cells.cell import Cell
from bench.cells.completion import required_families
from bench.cells.progress import SCORING
from bench.config.arguments import file_values
from bench.config.config import Override, parse_sets
from bench.errors import BenchError, DataError, MissingError
from bench.metrics import MetricEntry
from bench.metrics.columns import SIGNS, expand
from bench.metrics.requirements import missing, named_models
from bench.metrics.score import NOT_APPLICABLE, Gold, Score
from bench.metrics.sums import Sums
from bench.store.files import StoredRows
from bench.store.provenance import provenance
from bench.store.store import CellFolder
from bench.tasks import find_task
from bench.tasks.core.task import Task
from bench.tasks.fetch.sources import resolve
from bench.training.events import Events

NEEDS = f"{NOT_APPLICABLE}needs "
"""Part of the signature of a value for which a model or a package was missing."""


def score_cell(cell: Cell, metrics: Sequence[str], events: Events) -> list[dict[str, Any]]:
    """Score the predictions of a run by every required family, unless they are scored already."""
    contents: list[dict[str, Any]] = []
    required = required_families(cell, metrics)
    for key in cell.evaluations:
        stored = cell.folder.rows(key)
        if stored is None:
            continue
        for content, _ in score_families(cell.folder, cell.task, required, stored):
            contents.append(content)
            events.beat(SCORING, len(contents))
    return contents


def score_families(
    folder: CellFolder, task: Task, families: Iterable[Resolved], stored: StoredRows
) -> Iterator[tuple[dict[str, Any], bool]]:
    """Yield what `score_rows` returns for each of the metric families that are of the kind of a rows file."""
    for family in families:
        if family.value.kind == stored.content["kind"]:
            yield score_rows(folder, task, family, stored)


def score_rows(folder: CellFolder, task: Task, metric: Resolved, stored: StoredRows) -> tuple[dict[str, Any], bool]:
    """Return the scores of one metric family over one rows file, and whether they were computed now.

    Stored ones are computed again if an environment variable named another model then, and this one gives numbers.
    """
    started, entry = time.monotonic(), metric.value
    gold = gold_of(task, stored, entry.gold)
    decides = {"rows": stored.sha256, "gold": key_of(gold), "family": metric.name, "version": entry.version}
    code = {"code": dict(metric.code)} if metric.code else {}  # of a plug-in
    key = key_of({**decides, **code})
    name, models, is_by_same = f"scores-{key}.json", named_models(entry.requires), True
    known = folder.content(name)
    if known is not None and models:  # older records do not name the models
        is_by_same = folder.record(name)["provenance"].get("models", models) == models
    if known is not None and is_by_same and not is_incomplete(known) and is_whole(folder, known):
        return known, False
    values, sums = computed(entry, stored, gold, task, metric.code)
    content = {
        "family": metric.name,
        "version": entry.version,
        **code,
        "rows": stored.key,
        "rows_sha256": stored.sha256,
        "of": stored.content,
        **values,
    }
    if known is not None and (is_incomplete(content) or (not is_by_same and has_less(content, known))):
        return known, False
    if sums:
        content["items"] = folder.write_sums(sums)  # the stored name, older than today's word
    by = {**provenance(started), **({"models": models} if models else {})}
    folder.write_record(name, content, by, replace=known is not None)
    return content, True


def is_whole(folder: CellFolder, content: Mapping[str, Any]) -> bool:
    """Return whether the file of sufficient statistics that a scores file names is there."""
    return "items" not in content or folder.has(folder.sums_path(content["items"]).name)


def has_less(content: Mapping[str, Any], known: Mapping[str, Any]) -> bool:
    """Return whether scores lack a value where known ones have all, because another model cannot be used."""
    values, before = ([value["value"] for value in each["values"]] for each in (content, known))
    return None in values and None not in before


def is_incomplete(content: Mapping[str, Any]) -> bool:
    """Return whether a model or package was missing, which may be there now: such a score is no result to keep."""
    every = [*content["values"], *content.get("human", ())]
    return any(value["value"] is None and NEEDS in value["signature"] for value in every)


def computed(
    metric: MetricEntry,
    stored: StoredRows,
    gold: Gold,
    task: Task | None = None,
    code: Mapping[str, str] | None = None,
) -> tuple[dict[str, list[dict[str, Any]]], dict[str, Sums]]:
    """Compute a metric family over the rows of a file.

    Returns:
        The `values` and, of the texts that people wrote in place of the model, the `human` ones; and the sufficient
        statistics of the values, by column.
    """
    if needed := missing(metric.requires):  # without loading what could not be used
        column, higher_is_better = main_column(metric)
        if column:
            signature = f"{column}|version:{metric.version}|{NEEDS}{needed}"
            score = Score(column, None, "", higher_is_better, len(stored.rows), signature)
            return {"values": [with_source(score, code).as_dict()]}, {}
    score = metric.load()
    scores: list[Score] = score(stored.rows, gold)
    values = {"values": [with_source(value, code).as_dict() for value in scores]}
    sums = {value.name: value.sums for value in scores if value.sums is not None}
    if task is not None and sums and not {"cut", "other_text"} & set(stored.content):
        ids = sorted(str(row["id"]) for row in stored.rows)
        groups = task.clusters(stored.content["split"], ids)
        if len(set(groups)) < len(groups):
            sums = {name: column.together(groups) for name, column in sums.items()}
    if metric.human and all("reference_ids" in row for row in stored.rows):
        by_humans = [by_people(row) for row in stored.rows]
        values["human"] = [with_source(value, code).as_dict() for value in score(by_humans, gold)]
    return values, sums


def with_source(score: Score, code: Mapping[str, str] | None) -> Score:
    """Return the score of a plug-in with its source in the signature; any other as it is.

    So numbers of two sources never share a column.
    """
    if not code:
        return score
    signature, reason, why = score.signature.partition(f"|{NOT_APPLICABLE}")
    return replace(score, signature=f"{signature}|source:{code['source_sha256'][:8]}{reason}{why}")


def main_column(metric: MetricEntry) -> tuple[str, bool | None]:
    """Return the name and the direction of a family's first column; no name where only the loaded family knows it."""
    column = expand(metric.columns[0][1:])[0]
    if "*" in column:
        return "", None
    return column, SIGNS[metric.columns[0][0]]


def by_people(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the row of an open-ended text as if the true continuation had been generated."""
    renamed = {"text": "reference", "token_ids": "reference_ids", "groups": "reference_groups"}
    return {**row, **{name: row[true] for name, true in renamed.items() if true in row}}


def gold_of(task: Task, stored: StoredRows, wanted: Sequence[str]) -> Gold:
    """Return what the metrics compare a rows file with, for exactly its rows."""
    ids = {row["id"] for row in stored.rows}
    if "cut" in stored.content or "other_text" in stored.content:
        return {name: {} for name in sorted(ids)}
    split = task.split(stored.content["split"])
    return task.gold([example for example in split.examples if example.id in ids], wanted)


@dataclass
class Tasks:
    """The tasks of stored runs, each read once, and only if its rows are those the runs were evaluated on.

    Args:
        data_dir: as given by `--data-dir`.
        sets: overrides for options that a record leaves out because they only say where data is.
        specs: `module:Name` or `file.py:Name` of tasks; others are imported from the module that their record names.
        import_plugins: whether the code of a task that is a plug-in may be imported.
    """

    data_dir: str | Path | None = None
    sets: Sequence[Override] = ()
    specs: Sequence[str] = ()
    import_plugins: bool = True
    known: dict[str, Task] = field(default_factory=dict)

    def of(self, record: Mapping[str, Any], stored: StoredRows, cell: CellFolder | None = None) -> Task:
        """Return the task of a trained run, with the rows that its predictions were made from.

        Args:
            record: of the run.
            stored: predictions of the run.
            cell: the folder of the run, whose configuration may say where its data is.

        Raises:
            MissingError: there is no such task here.
            DataError: the data here has other rows.
        """
        config, split, there = record["config"], stored.content["split"], stored.content["split_sha256"]
        task = self._configured(record, cell, split, there) or self.named(record)
        here = task.manifest(split).sha256
        if here != there:
            places = [f"--set {task.name}:task.{name}=..." for name in ("path", "hub") if name in task.places]
            is_sample = record.get("data", {}).get("train", {}).get("status") == "sample"
            options = ["--data-dir sample" if is_sample else "--data-dir DIR", *places]
            known = record.get("data", {}).get("train", {}).get("commit", "")
            if known:
                known = f"; it was {known}"
            raise DataError(
                f"{config['task']}: rows were made from a {split} split {there[:12]}, here is {here[:12]} "
                f"({task.source.why}); name the data as the run did, with {' or '.join(options)}{known}"
            )
        return task

    def named(self, record: Mapping[str, Any]) -> Task:
        """Return the task of a trained run with the data that the options name, or that is found without them."""
        kind = self._kind(record)
        return self._loaded(kind, record, self._places(kind, self.sets))

    def _places(self, kind: type[Task], sets: Sequence[Override]) -> dict[str, Any]:
        """Return the options that say where the data of a task is."""
        places: dict[str, Any] = {}
        for scope in (None, kind.name):  # a setting for this task alone goes before one for every task
            given = [override for override in sets if (override.scope, override.section) == (scope, "task")]
            places |= {override.name: override.value for override in given if override.name in kind.places}
        return places

    def _configured(self, record: Mapping[str, Any], cell: CellFolder | None, split: str, rows: str) -> Task | None:
        """Return the task with the data that the run's `config.yaml` names; None if it names none, or other rows.

        Nothing is looked for where the command line says where the data is.
        """
        kind = self._kind(record)
        folders = [Path(self.data_dir).expanduser() / name for name in (kind.name, *kind.info.folders) if self.data_dir]
        if self._places(kind, self.sets) or any(folder.is_dir() for folder in folders):
            return None
        if cell is None or not kind.places:
            return None
        with suppress(Exception):  # what is there now may be anything, and a plug-in may raise anything
            if places := self._places(kind, parse_sets(file_values(cell.path / "config.yaml")["sets"])):
                task = self._loaded(kind, record, places)
                return task if task.manifest(split).sha256 == rows else None
        return None

    def _loaded(self, kind: type[Task], record: Mapping[str, Any], places: Mapping[str, Any]) -> Task:
        """Return the task of a record with its data in reach, once for each source; nothing is read yet."""
        source = resolve(kind.name, self.data_dir, kind.info.folders)
        options, limit = {**record["config"]["task_options"], **places}, record["config"]["trainer"]["limit"]
        name = key_of([kind.name, options, limit, str(source.folder)])
        if name not in self.known:
            task = kind(**read_options(kind, options, f"task '{kind.name}'"))
            task.load(source, limit)
            self.known[name] = task
        return self.known[name]

    def _kind(self, record: Mapping[str, Any]) -> type[Task]:
        """Return the class of a task: a plug-in by its spec, or from the module that the record names."""
        name, code = record["config"]["task"], record.get("own", {}).get("task")
        for spec in self.specs:
            if ":" in spec and find_task(spec).name == name:
                return find_task(spec).value
        try:
            if code is None:
                return find_task(name).value
            if self.import_plugins:
                return find_task(code["class"]).value
        except BenchError as error:
            raise MissingError(f"the task '{name}' is not here; its rows cannot be scored: {error}") from error
        raise MissingError(f"'{name}' is a plug-in ({code['class']}), whose code is not imported here")
