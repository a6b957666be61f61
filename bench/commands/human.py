"""`bench human`: makes a study for people from stored texts, and reads what they answered."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.base.entries import split_names
from bench.cli_options import data_options, json_option, positive, say_damaged, task_name, tasks_of, whole
from bench.errors import MissingError, UsageError
from bench.store.fields import is_imported
from bench.store.reading import readable, readable_rows
from bench.store.store import CellFolder, Store, StoredRows

if TYPE_CHECKING:
    from bench.leaderboards.human.study import Shorten

SETTINGS = ("preset", "backbone", "decoding", "split")
"""What must be the same for all methods of a study."""


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `bench human`: those of `make` and those of `read`."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    make_options(
        actions.add_parser("make", help="a blinded study of stored texts: page, HITs and key", allow_abbrev=False)
    )
    read_options(actions.add_parser("read", help="what raters answered", allow_abbrev=False))


def make_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `bench human make`."""
    parser.add_argument(
        "results", nargs="+", type=Path, metavar="RESULTS", help="the store, or one cell for each method"
    )
    parser.add_argument("--task", required=True, metavar="NAME", help="whose rows are rated")
    parser.add_argument(
        "--methods",
        required=True,
        action="append",
        metavar="A,B",
        help="ours first in pairs, the baseline first in single studies",
    )
    parser.add_argument("--kind", choices=["pairwise", "single"], default="pairwise", help="default pairwise")
    parser.add_argument("--items", type=positive, default=50, metavar="N", help="rows to rate; default 50")
    parser.add_argument("--checks", type=whole, default=0, metavar="N", help="attention checks beside the items")
    parser.add_argument(
        "--gap",
        type=whole,
        metavar="N",
        help="texts of a pair differ by fewer characters; default 200, 0 for any",
    )
    parser.add_argument(
        "--relevant",
        type=positive,
        metavar="N",
        help="of a source, only the N sentences nearest to each text shown (kind single; HistAlign B.2 has 10)",
    )
    parser.add_argument(
        "--encoder",
        metavar="NAME",
        help="of these sentences: a folder or a hub id in the cache; default sentence-transformers/all-mpnet-base-v2",
    )
    parser.add_argument("--draw", type=whole, default=0, metavar="SEED", help="of what is drawn, ordered and put left")
    parser.add_argument("--out", required=True, type=Path, metavar="DIR", help="where the study is written")
    for name in ("--preset", "--backbone", "--decode", "--split"):
        parser.add_argument(name, metavar="NAME", help="needed where the store has several")
    parser.add_argument("--seed", type=whole, metavar="N", help="of the runs; default the lowest that all methods have")
    data_options(parser)
    json_option(parser)


def read_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `bench human read`."""
    parser.add_argument("answers", nargs="+", type=Path, metavar="FILE", help="saved by the page, or MTurk's results")
    parser.add_argument("--key", required=True, type=Path, metavar="FILE", help="the study's key.json")
    parser.add_argument("--format", choices=["terminal", "markdown"], default="terminal", help="default terminal")
    json_option(parser)


def run(given: argparse.Namespace) -> int:
    """Make a study, or read its answers; return the exit code."""
    if given.action == "make":
        return make(given)
    read(given)
    return 0


# bench human read ---------------------------------------------------------------------------------------------------


def read(given: argparse.Namespace) -> None:
    """Print what raters said."""
    from bench.leaderboards.human.answers import read_answers, read_key
    from bench.leaderboards.human.results import as_content, results
    from bench.leaderboards.human.tables import markdown, terminal

    key = read_key(given.key)
    answers = results(read_answers(given.answers, key), key)
    if given.json:
        print(json.dumps(as_content(answers), indent=1, allow_nan=False))
    elif given.format == "markdown":
        print(markdown(answers), end="")
    else:
        print(terminal(answers), end="")


# bench human make ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class GeneratedRows:
    """One rows file of generated texts, with the cell that has it and the cell's record."""

    cell: CellFolder
    record: Mapping[str, Any]
    stored: StoredRows

    @property
    def method(self) -> str:
        """The method they are shown under."""
        return str(self.stored.content.get("shown_as") or self.record["config"]["method"])

    @property
    def seed(self) -> int:
        """The seed of the run."""
        return int(self.record["config"]["seed"])

    @property
    def settings(self) -> tuple[str, ...]:
        """The values of SETTINGS."""
        config, content = self.record["config"], self.stored.content
        return (config["preset"], config["backbone"], content["decoding"]["name"], content["split"])

    @property
    def of_split(self) -> tuple[str, str]:
        """Name and hash of the split they are of."""
        return str(self.stored.content["split"]), str(self.stored.content["split_sha256"])

    @property
    def texts(self) -> dict[str, str]:
        """The texts by row id."""
        return {row["id"]: row["text"] for row in self.stored.rows}


BySettings = dict[tuple[str, ...], dict[int, dict[str, list[GeneratedRows]]]]
"""Rows files by settings, seed and method."""


def make(given: argparse.Namespace) -> int:
    """Write a study of the methods' texts of the same rows; return 0, or 1 where files are damaged."""
    store = Store(given.results[0])
    try:
        write_studied(given, store)
    finally:
        code = say_damaged(store)
    return code


def write_studied(given: argparse.Namespace, store: Store) -> None:
    """Write the study, and say what to do with its files.

    Args:
        given: what was typed.
        store: is told of damaged files; what is in them is left out.
    """
    from bench.leaderboards.human.study import Rated, study, write_study

    methods = split_names(given.methods)
    chosen = chosen_rows(given, methods, store)
    first = next((rows for rows in chosen.values() if not is_imported(rows.record)), chosen[methods[0]])
    contexts = contexts_of(given, first)
    texts = {method: rows.texts for method, rows in chosen.items()}
    shared = set(contexts).intersection(*texts.values())
    rated = []
    for name in sorted(shared):
        by_method = {method: texts[method][name] for method in methods}
        rated.append(Rated(name, contexts[name], by_method))
    about = {
        "task": task_name(given.task),
        "settings": dict(zip(SETTINGS, first.settings, strict=True)),
        "cells": {method: source_of(rows) for method, rows in chosen.items()},
    }
    shorten = None
    if given.relevant is not None:
        shorten, about["relevant"] = shortening(given)
    elif given.encoder is not None:
        raise UsageError("--encoder is for --relevant N, the sentences of a source that raters see")
    made = study(
        rated,
        methods,
        given.kind,
        items=given.items,
        checks=given.checks,
        seed=given.draw,
        gap=given.gap,
        shorten=shorten,
        about=about,
    )
    where = write_study(given.out, made)
    if given.json:
        files = {name: str(path) for name, path in where.items()}
        print(json.dumps({"study": made.key["study"], **files}))
        return
    print(
        f"{where['study.html']}: give this file to raters; it needs no network, and they save their answers\n"
        f"{where['mturk.csv']}, {where['mturk.html']}: the same items as HITs and their layout\n"
        f"{where['key.json']}: says whose text is whose; keep it to yourself and from being lost\n"
        f"then: bench human read answers*.csv --key {where['key.json']}"
    )


def shortening(given: argparse.Namespace) -> tuple[Shorten, dict[str, Any]]:
    """Return what shortens sources to their relevant sentences, and what the key says of it.

    Raises:
        UsageError: the study is one of pairs, whose beginnings are short.
        MissingError: the encoder is not here.
    """
    from bench.leaderboards.human.relevant import ENCODER, relevant
    from bench.metrics.faithfulness.embedder import NoVerifier, embed, load

    if given.kind != "single":
        raise UsageError("--relevant shortens the source of single texts; the beginning of a pair is shown whole")
    checkpoint = given.encoder or ENCODER
    try:
        encoder = load(checkpoint)
    except NoVerifier as error:
        raise MissingError(
            f"--relevant needs the encoder '{checkpoint}' ({error}); hf download {ENCODER} gets that of the paper, or "
            f"name a folder with --encoder"
        ) from error

    def shorten(source: str, texts: Sequence[str]) -> str:
        return relevant(source, texts, lambda parts: embed(encoder, parts)[0].numpy(), given.relevant)

    return shorten, {"sentences": given.relevant, "encoder": encoder.signature}


def source_of(rows: GeneratedRows) -> dict[str, Any]:
    """Return which cell and rows file texts are from, as the study's key keeps it."""
    return {
        "trained": rows.record["key"],
        "seed": rows.seed,
        "rows": rows.stored.key,
        "rows_sha256": rows.stored.sha256,
    }


def chosen_rows(given: argparse.Namespace, methods: Sequence[str], store: Store) -> dict[str, GeneratedRows]:
    """Return each method's generated rows, all of one preset, backbone, decoding, split and seed.

    Texts of another system have none of these but the split; they stand beside any of ours of the same split.

    Args:
        given: what was typed.
        methods: all of which must have rows.
        store: is told of damaged files.

    Raises:
        MissingError: no such rows for all methods.
        UsageError: several fit.
    """
    by_settings, imported = found_rows(given, methods, store)
    complete = {}
    for settings, seeds in by_settings.items():
        for _, by_method in sorted(seeds.items()):
            whole = {**beside(imported, by_method), **by_method}
            if set(whole) == set(methods):
                complete[settings] = whole
                break
    if not complete:
        have = ", ".join(sorted(methods_in(by_settings) | set(imported))) or "none"
        raise MissingError(
            f"no texts of {', '.join(methods)} for {given.task} with one preset, backbone, decoding and "
            f"seed (there are some of: {have}); bench run makes them, and bench import those of another system, which "
            "stand beside ours where they are of the same split"
        )
    if len(complete) > 1:
        several = "; ".join(" ".join(settings) for settings in sorted(complete))
        raise UsageError(f"several settings fit ({several}); say which with --preset, --backbone, --decode or --split")
    (by_method,) = complete.values()
    for method in methods:
        if len(by_method[method]) > 1:
            cells = ", ".join(str(rows.cell.path) for rows in by_method[method])
            raise UsageError(f"several cells of {method} fit ({cells}); name one folder for each method, not the store")
    return {method: by_method[method][0] for method in methods}


def found_rows(
    given: argparse.Namespace, methods: Sequence[str], store: Store
) -> tuple[BySettings, dict[str, list[GeneratedRows]]]:
    """Return the rows of the methods that fit what was asked for, and the imported ones by system.

    Where all are imported they are compared as those of methods are.
    """
    ours: list[GeneratedRows] = []
    imported: dict[str, list[GeneratedRows]] = {}
    for rows in generated(given.results, task_name(given.task), store):
        if rows.method not in methods:
            continue
        if is_imported(rows.record):
            imported.setdefault(rows.method, []).append(rows)
        else:
            ours.append(rows)
    if set(imported) == set(methods):
        ours, imported = list(chain.from_iterable(imported.values())), {}
    by_settings: BySettings = {}
    for rows in ours:
        if fits(given, rows):
            seeds = by_settings.setdefault(rows.settings, {})
            seeds.setdefault(rows.seed, {}).setdefault(rows.method, []).append(rows)
    return by_settings, imported


def beside(
    imported: Mapping[str, Sequence[GeneratedRows]], by_method: Mapping[str, Sequence[GeneratedRows]]
) -> dict[str, list[GeneratedRows]]:
    """Return the imported rows of the split that methods' rows are of, by system."""
    splits = {rows.of_split for found in by_method.values() for rows in found}
    alike = {}
    for system, found in imported.items():
        of_same = [rows for rows in found if rows.of_split in splits]
        if of_same:
            alike[system] = of_same
    return alike


def methods_in(by_settings: BySettings) -> set[str]:
    """Return the methods that have any rows."""
    methods: set[str] = set()
    for seeds in by_settings.values():
        methods.update(*seeds.values())
    return methods


def generated(places: Sequence[Path], task: str, store: Store) -> Iterable[GeneratedRows]:
    """Yield every rows file of texts of a task's cells; the store is told of damaged ones."""
    from bench.cells.score import cells_of

    for cell in cells_of(places):
        record = readable(store, cell.trained) or {}
        if record.get("status") != "ok" or record["config"]["task"] != task:
            continue
        for stored in readable_rows(store, cell):
            if stored.content["kind"] == "generation":
                yield GeneratedRows(cell, record, stored)


def fits(given: argparse.Namespace, rows: GeneratedRows) -> bool:
    """Return whether rows are of the settings that were asked for."""
    if given.seed not in (None, rows.seed):
        return False
    asked = (given.preset, given.backbone, given.decode, given.split)
    return all(want in (None, have) for want, have in zip(asked, rows.settings, strict=True))


def contexts_of(given: argparse.Namespace, rows: GeneratedRows) -> dict[str, str]:
    """Return what every row's text was written from: the stored prompt, else the source from the task's data."""
    from bench.cells.score import gold_of

    stored = rows.stored
    if all("prompt" in row for row in stored.rows):
        return {row["id"]: row["prompt"] for row in stored.rows}
    gold = gold_of(tasks_of(given).of(rows.record, stored, rows.cell), stored, ("source",))
    return {name: str(row.get("source", "")) for name, row in gold.items()}
