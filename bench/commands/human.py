"""`bench human`: makes a study for people from stored texts, and reads what they answered."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.base.entries import split_names
from bench.cells.score import cells_of, gold_of
from bench.commands.score import tasks_of
from bench.errors import MissingError, UsageError
from bench.leaderboards.human.study import Rated, study, write_study
from bench.store.store import CellFolder, StoredRows

Found = tuple[CellFolder, Mapping[str, Any], StoredRows]
SETTINGS = ("preset", "backbone", "decoding", "split")


def human(given: argparse.Namespace) -> int:
    """Make a study, or read its answers; return the exit code."""
    return make(given) if given.action == "make" else read(given)


def make(given: argparse.Namespace) -> int:
    """Write a study of the methods' texts of the same rows."""
    methods = split_names(given.methods)
    chosen = chosen_rows(given, methods)
    contexts = contexts_of(given, chosen[methods[0]])
    texts = {method: {row["id"]: row["text"] for row in stored.rows} for method, (_, _, stored) in chosen.items()}
    shared = sorted(set.intersection(*(set(one) for one in texts.values())) & set(contexts))
    rows = [Rated(name, contexts[name], {method: texts[method][name] for method in methods}) for name in shared]
    about = {"task": given.task, "settings": dict(zip(SETTINGS, settings_of(chosen[methods[0]]), strict=True)),
             "cells": {method: {"trained": record["key"], "seed": record["config"]["seed"], "rows": stored.key,
                                "rows_sha256": stored.sha256}
                       for method, (_, record, stored) in chosen.items()}}  # fmt: skip
    made = study(rows, methods, given.kind, items=given.items, checks=given.checks, seed=given.draw, gap=given.gap,
                 about=about)  # fmt: skip
    where = write_study(given.out, made)
    if given.json:
        print(json.dumps({"study": made.key["study"], **{name: str(path) for name, path in where.items()}}))
    else:
        print(f"{where['study.html']}: give this file to raters; it needs no network, and they save their answers\n"
              f"{where['mturk.csv']}, {where['mturk.html']}: the same items as HITs and their layout\n"
              f"{where['key.json']}: says whose text is whose; keep it to yourself and from being lost\n"
              f"then: bench human read answers*.csv --key {where['key.json']}")  # fmt: skip
    return 0


def read(given: argparse.Namespace) -> int:
    """Print what raters said."""
    from bench.leaderboards.human.answers import read_answers, read_key
    from bench.leaderboards.human.results import as_content, results
    from bench.leaderboards.human.tables import markdown, terminal

    key = read_key(given.key)
    found = results(read_answers(given.answers, key), key)
    if given.json:
        print(json.dumps(as_content(found), indent=1, allow_nan=False))
    else:
        print({"terminal": terminal, "markdown": markdown}[given.format](found), end="")
    return 0


def chosen_rows(given: argparse.Namespace, methods: Sequence[str]) -> dict[str, Found]:
    """Return each method's generated rows, all of one preset, backbone, decoding, split and seed.

    Raises:
        MissingError: no such rows for all methods.
        UsageError: several fit.
    """
    by_settings: dict[tuple[str, ...], dict[int, dict[str, list[Found]]]] = {}
    for one in generated(given.results, given.task):
        method = one[2].content.get("shown_as") or one[1]["config"]["method"]
        if method in methods and fits(given, one):
            seeds = by_settings.setdefault(settings_of(one), {})
            seeds.setdefault(one[1]["config"]["seed"], {}).setdefault(method, []).append(one)
    whole = {}
    for settings, seeds in by_settings.items():
        if full := [seed for seed, found in sorted(seeds.items()) if set(found) == set(methods)]:
            whole[settings] = seeds[full[0]]
    if not whole:
        have = sorted({method for seeds in by_settings.values() for found in seeds.values() for method in found})
        raise MissingError(f"no texts of {', '.join(methods)} for {given.task} with one preset, backbone, decoding and "
                           f"seed (there are some of: {', '.join(have) or 'none'}); bench run makes them")  # fmt: skip
    if len(whole) > 1:
        several = "; ".join(" ".join(settings) for settings in sorted(whole))
        raise UsageError(f"several settings fit ({several}); say which with --preset, --backbone, --decode or --split")
    (found,) = whole.values()
    for method in methods:
        if len(found[method]) > 1:
            cells = ", ".join(str(cell.path) for cell, _, _ in found[method])
            raise UsageError(f"several cells of {method} fit ({cells}); name one folder for each method, not the store")
    return {method: found[method][0] for method in methods}


def generated(places: Sequence[Path], task: str) -> list[Found]:
    """Return every rows file of texts of a task's cells, with its cell."""
    found: list[Found] = []
    for cell in cells_of(places):
        record = cell.trained() or {}
        if record.get("status") == "ok" and record["config"]["task"] == task:
            found += [(cell, record, rows) for rows in cell.all_rows() if rows.content["kind"] == "generation"]
    return found


def fits(given: argparse.Namespace, one: Found) -> bool:
    """Return whether rows are of the settings that were asked for."""
    asked = (given.preset, given.backbone, given.decode, given.split)
    seed = given.seed is None or one[1]["config"]["seed"] == given.seed
    return seed and all(want in (None, have) for want, have in zip(asked, settings_of(one), strict=True))


def settings_of(one: Found) -> tuple[str, ...]:
    """Return what must be the same for all methods: preset, backbone, decoding, split."""
    config, content = one[1]["config"], one[2].content
    return (config["preset"], config["backbone"], content["decoding"]["name"], content["split"])


def contexts_of(given: argparse.Namespace, one: Found) -> dict[str, str]:
    """Return what every row's text was written from: the stored prompt, else the source from the task's data."""
    stored = one[2]
    if all("prompt" in row for row in stored.rows):
        return {row["id"]: row["prompt"] for row in stored.rows}
    gold = gold_of(tasks_of(given).of(one[1], stored), stored, ("source",))
    return {name: str(row.get("source", "")) for name, row in gold.items()}
