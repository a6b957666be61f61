"""`bench human`: export of stored texts to an annotation tool, with the methods hidden, and import of the answers."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from bench.base.registry import split_names
from bench.cli_options import add_options, positive, say_damaged, task_name, tasks_of
from bench.errors import MissingError, UsageError
from bench.store.store import Store

if TYPE_CHECKING:
    from bench.board.samples import Held


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `bench human export` and `bench human import`."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    export = actions.add_parser("export", help="write texts as CSV for an annotation tool", allow_abbrev=False)
    export.add_argument("results", type=Path, metavar="RESULTS", help="the results folder")
    export.add_argument("--task", required=True, metavar="NAME", help="whose texts are judged")
    export.add_argument("--method", required=True, action="append", metavar="A,B", help="two for pairs, or more")
    export.add_argument("--kind", choices=["pairs", "ratings"], default="pairs", help="default pairs")
    export.add_argument(
        "--questions", action="append", metavar="NAMES", help="columns of answers; default fluency and coherence"
    )
    export.add_argument("--items", type=positive, default=50, metavar="N", help="rows to judge; default 50")
    export.add_argument("--output", required=True, type=Path, metavar="DIR", help="where items.csv and key.json go")
    export.add_argument("--decode", default="", metavar="D", help="default: one that all methods have texts of")
    add_options(export, "--set", "--data-dir")
    answers = actions.add_parser("import", help="read answers; print results and agreement", allow_abbrev=False)
    answers.add_argument("answers", nargs="+", type=Path, metavar="FILE", help="CSV of the annotation tool")
    answers.add_argument("--key", required=True, type=Path, metavar="FILE", help="key.json of the export")
    add_options(answers, "--json")


def run(given: argparse.Namespace) -> int:
    """Export texts or import answers; return the exit code."""
    if given.action == "import":
        return import_answers(given)
    store = Store(given.results)
    try:
        export(given, store)
    finally:
        code = say_damaged(store)
    return code


# Answers ------------------------------------------------------------------------------------------------------------


def import_answers(given: argparse.Namespace) -> int:
    """Print the results of each method, and the agreement of raters."""
    from bench.leaderboards.human import read_answers, read_key, results
    from bench.leaderboards.render.text_table import aligned

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


def export(given: argparse.Namespace, store: Store) -> None:
    """Write a study of the methods' texts of the same rows.

    Raises:
        MissingError: a method has no texts, or the sources of the texts are not on this machine.
        UsageError: several runs or settings fit, or the study cannot be made of these texts.
    """
    from bench.board.samples import read
    from bench.leaderboards.human import study, write_study

    methods = split_names(given.method)
    side = chosen_texts(given, methods, store)
    samples, notes = read(store, side, tasks_of(given).of)
    if notes:
        raise MissingError("; ".join(notes))
    texts = {method: {sample.id: sample.texts[method] for sample in samples} for method in methods}
    sources = {method: [held.record["key"], held.rows, *held.group] for method, held in side.items()}
    about = {"task": task_name(given.task), "sources": sources}
    contexts = {sample.id: sample.prompt for sample in samples}
    questions = split_names(given.questions)
    items, key = study(texts, contexts, given.kind, questions, n=given.items, about=about)
    write_study(given.output, items, key)
    preset, _, _, seed, decoding = next(iter(side.values())).group[1:]
    print(
        f"texts of the preset {preset}, seed {seed}, {decoding}\n"
        f"{given.output / 'items.csv'}: {len(items)} items for an annotation tool such as Label Studio; ask for "
        f"{', '.join(key['questions'])} (docs/commands.md)\n"
        f"{given.output / 'key.json'}: the method of each text; hide it from raters and keep it for the import\n"
        f"then: bench human import ANSWERS.csv --key {given.output / 'key.json'}"
    )


def chosen_texts(given: argparse.Namespace, methods: list[str], store: Store) -> dict[str, Held]:
    """Return each method's texts, all of one preset, split, seed and decoding.

    Raises:
        MissingError: a method has no such texts.
        UsageError: several runs of a method fit.
    """
    from bench.board.samples import holding, side_by_side

    held = holding(store, [task_name(given.task)])
    side, notes = side_by_side(one for one in held if one.fits(methods, given.decode))
    if missing := [method for method in methods if method not in side]:
        raise MissingError(
            f"no texts of {', '.join(missing)} for {given.task} of one preset, seed and decoding with those of "
            f"{', '.join(side) or 'the others'}; bench run makes them, bench import those of others"
        )
    if notes:
        raise UsageError(f"several runs fit ({'; '.join(notes)}); put those of other settings in another store")
    return {method: side[method] for method in methods}
