"""`bench human`: stored texts for people to judge, with the methods hidden, and what they answered."""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.base.entries import split_names
from bench.cli_options import data_options, json_option, positive, say_damaged, task_name, tasks_of, whole
from bench.errors import MissingError, UsageError
from bench.store.fields import is_imported
from bench.store.reading import readable, readable_rows
from bench.store.store import CellFolder, Store, StoredRows


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `bench human export` and `bench human import`."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    export = actions.add_parser("export", help="write texts as CSV for an annotation tool", allow_abbrev=False)
    export.add_argument(
        "results", nargs="+", type=Path, metavar="RESULTS", help="the store, or the folder of a run for each method"
    )
    export.add_argument("--task", required=True, metavar="NAME", help="whose texts are judged")
    export.add_argument("--methods", required=True, action="append", metavar="A,B", help="two for pairs, or more")
    export.add_argument("--kind", choices=["pairs", "ratings"], default="pairs", help="default pairs")
    export.add_argument(
        "--questions", action="append", metavar="NAMES", help="columns of answers; default fluency and coherence"
    )
    export.add_argument("--items", type=positive, default=50, metavar="N", help="rows to judge; default 50")
    export.add_argument("--draw", type=whole, default=0, metavar="SEED", help="of rows, order and sides; default 0")
    export.add_argument("--html", action="store_true", help="escape texts for tools that show HTML (MTurk)")
    export.add_argument("--out", required=True, type=Path, metavar="DIR", help="where items.csv and key.json go")
    for name in ("--preset", "--backbone", "--decode", "--split"):
        export.add_argument(name, metavar="NAME", help="needed where the store has several")
    export.add_argument("--seed", type=whole, metavar="N", help="of the runs; default the lowest that all have")
    data_options(export)
    json_option(export)
    answers = actions.add_parser("import", help="read answers; print results and agreement", allow_abbrev=False)
    answers.add_argument("answers", nargs="+", type=Path, metavar="FILE", help="CSV of the annotation tool")
    answers.add_argument("--key", required=True, type=Path, metavar="FILE", help="key.json of the export")
    json_option(answers)


def run(given: argparse.Namespace) -> int:
    """Export texts or import answers; return the exit code."""
    if given.action == "import":
        return import_answers(given)
    store = Store(given.results[0])
    try:
        export(given, store)
    finally:
        code = say_damaged(store)
    return code


# Answers ------------------------------------------------------------------------------------------------------------


def import_answers(given: argparse.Namespace) -> int:
    """Print what raters said of each method, and how far they agree."""
    from bench.leaderboards.human import read_answers, read_key, results
    from bench.leaderboards.render.text.aligned import aligned

    key = read_key(given.key)
    found = results(read_answers(given.answers, key), key)
    if given.json:
        print(json.dumps(found, indent=1))
        return 0
    value, first = "percent preferred" if found["kind"] == "pairs" else "mean", found["methods"][0]
    headings = ["question", "method", value, "95 % interval", "n", f"less {first}", "95 % interval"]
    rows = []
    for one in found["results"]:
        cells = [one["question"], one["method"], f"{one['value']:.2f}", between(one["low"], one["high"]), str(one["n"])]
        difference = "" if "difference" not in one else f"{one['difference']:+.2f}"
        rows.append([*cells, difference, between(one.get("difference_low"), one.get("difference_high"))])
    print("\n".join(aligned(headings, rows, texts=2)))
    answered, of = found["items"]
    print(f"{answered} of {of} items, {found['raters']} raters; intervals are over rows")
    for one in found["agreement"]:
        alpha = "not defined" if one["alpha"] is None else f"{one['alpha']:.2f}"
        print(f"agreement on {one['question']}: Krippendorff's alpha {alpha}, {one['n']} items with several raters")
    return 0


def between(low: float | None, high: float | None) -> str:
    """Return the ends of an interval as text, empty where there is none."""
    return "" if low is None or high is None else f"{low:.2f} to {high:.2f}"


# Texts --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Texts:
    """The texts that one stored run has generated with one decoding."""

    cell: CellFolder
    record: Mapping[str, Any]
    stored: StoredRows

    @property
    def method(self) -> str:
        """The method they are shown under."""
        return str(self.stored.content.get("shown_as") or self.record["config"]["method"])

    @property
    def settings(self) -> tuple[str, ...]:
        """Split with its hash, preset, backbone and decoding; texts of another system have the split alone."""
        config, content = self.record["config"], self.stored.content
        split = (str(content["split"]), str(content["split_sha256"]))
        if is_imported(self.record):
            return split
        return (*split, str(config["preset"]), str(config["backbone"]), str(content["decoding"]["name"]))


def export(given: argparse.Namespace, store: Store) -> None:
    """Write a study of the methods' texts of the same rows."""
    from bench.leaderboards.human import study, write_study

    methods = split_names(given.methods)
    chosen = chosen_texts(given, methods, store)
    texts = {method: {row["id"]: row["text"] for row in of.stored.rows} for method, of in chosen.items()}
    contexts = contexts_of(
        given, next((of for of in chosen.values() if not is_imported(of.record)), chosen[methods[0]])
    )
    about = {
        "task": task_name(given.task),
        "sources": {method: [of.record["key"], of.stored.key, *of.settings] for method, of in chosen.items()},
    }
    questions = split_names(given.questions)
    items, key = study(texts, contexts, given.kind, questions, n=given.items, seed=given.draw, about=about)
    write_study(given.out, items, key, as_html=given.html)
    if given.json:
        print(json.dumps({"study": key["study"], "items": len(items), "folder": str(given.out)}))
        return
    print(
        f"{given.out / 'items.csv'}: {len(items)} items for Label Studio, Potato or MTurk; ask for "
        f"{', '.join(key['questions'])} (docs/ask_people.md)\n"
        f"{given.out / 'key.json'}: says which method wrote which text; keep it from raters and from being lost\n"
        f"then: bench human import ANSWERS.csv --key {given.out / 'key.json'}"
    )


def chosen_texts(given: argparse.Namespace, methods: list[str], store: Store) -> dict[str, Texts]:
    """Return each method's texts, all of one preset, backbone, decoding, split and seed.

    Texts of another system have no settings but the split; they stand beside any of ours of the same split.

    Raises:
        MissingError: there are none for all methods.
        UsageError: several fit.
    """
    groups: dict[tuple[tuple[str, ...], int], dict[str, Texts]] = defaultdict(dict)
    for texts in texts_in(given, store):
        if texts.method in methods:
            group = groups[texts.settings, int(texts.record["config"]["seed"])]
            if texts.method in group:
                places = f"{group[texts.method].cell.path}, {texts.cell.path}"
                raise UsageError(f"several runs of {texts.method} fit ({places}); name a folder for each method")
            group[texts.method] = texts
    joined = {(of, seed): {**groups.get((of[:2], 0), {}), **group} for (of, seed), group in groups.items()}
    complete = {place: group for place, group in joined.items() if len(group) == len(methods)}
    if not complete:
        have = ", ".join(sorted(set().union(*groups.values()))) or "none"
        raise MissingError(
            f"no texts of {', '.join(methods)} for {given.task} with one preset, backbone, decoding and seed (there "
            f"are some of: {have}); bench run makes them, bench import those of others"
        )
    if len(several := sorted({of for of, _ in complete})) > 1:
        names = "; ".join(" ".join((of[0], *of[2:])) for of in several)
        raise UsageError(f"several settings fit ({names}); say which with --preset, --backbone, --decode or --split")
    group = complete[min(complete)]
    return {method: group[method] for method in methods}


def texts_in(given: argparse.Namespace, store: Store) -> Iterator[Texts]:
    """Yield the stored texts of the task that were asked for; the store is told of damaged files."""
    from bench.cells.score import cells_of

    for cell in cells_of(given.results):
        record = readable(store, cell.trained) or {}
        if record.get("status") != "ok" or record["config"]["task"] != task_name(given.task):
            continue
        for stored in readable_rows(store, cell):
            if stored.content["kind"] != "generation":
                continue
            config, content = record["config"], stored.content
            have = [content["split"], config["preset"], config["backbone"], content["decoding"]["name"], config["seed"]]
            asked = [given.split, given.preset, given.backbone, given.decode, given.seed]
            if is_imported(record):
                have, asked = have[:1], asked[:1]
            if all(want in (None, is_) for want, is_ in zip(asked, have, strict=True)):
                yield Texts(cell, record, stored)


def contexts_of(given: argparse.Namespace, texts: Texts) -> dict[str, str]:
    """Return what each row's text was written from: the stored prompt, else the source from the task's data."""
    from bench.cells.score import gold_of

    stored = texts.stored
    if all("prompt" in row for row in stored.rows):
        return {row["id"]: row["prompt"] for row in stored.rows}
    gold = gold_of(tasks_of(given).of(texts.record, stored, texts.cell), stored, ("source",))
    return {name: str(row.get("source", "")) for name, row in gold.items()}
