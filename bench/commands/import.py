"""`bench import`: the texts of another system become stored predictions and rows of leaderboards."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from bench.base.options import read_options
from bench.base.printable import one_line
from bench.base.registry import NAME
from bench.cli_options import add_options, positive
from bench.config.config import parse_sets, section_values
from bench.errors import UsageError
from bench.metrics import find_metric
from bench.models import ALIASES, METHODS
from bench.store.store import Store
from bench.tasks import find_task

if TYPE_CHECKING:
    from bench.imported import Import


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `bench import`."""
    parser.add_argument("file", metavar="FILE", help="texts: a line each, .jsonl with id and text, or .json by id")
    parser.add_argument("--task", required=True, metavar="NAME", help="whose rows they are for; also module:Name")
    parser.add_argument("--system", required=True, metavar="NAME", help="the name of the system in tables, e.g. ptgen")
    parser.add_argument("--rows", type=positive, metavar="N", help="keep the subset that evaluation.rows=N declares")
    add_options(parser, "--results", "--set", "--data-dir")


def run(given: argparse.Namespace) -> int:
    """Store the texts and score them; return 0.

    Raises:
        UsageError: the system has no name or that of a method, or the task has no such option.
    """
    from bench.cells.score import score_families
    from bench.imported import Import, store_import
    from bench.tasks.fetch.sources import resolve

    system = given.system
    if not NAME.fullmatch(system):
        raise UsageError(f"--system is a name of lower-case letters, digits, '.', '_' and '-', not '{system}'")
    if {system, system.partition(".")[0]} & {*METHODS, *ALIASES}:
        other = f"{system.replace('.', '-')}-published"
        raise UsageError(f"'{system}' is a method of this program; give the system another name, e.g. {other}")
    store, kind = Store(Path(given.results)), find_task(given.task)
    overrides = section_values(parse_sets(given.sets), "task", [kind.name])
    task_options = read_options(kind.value, overrides, f"task '{kind.name}'")
    task = kind.value(**task_options)
    task.load(resolve(kind.name, given.data_dir, kind.value.info.folders))
    texts = Import(system, Path(given.file), kind, task, task_options, given.rows)
    store.files.check_writable()
    folder, stored = store_import(store, texts)
    values: dict[str, float | None] = {}
    for content, _ in score_families(folder, task, map(find_metric, task.info.metrics), stored):
        values |= {value["name"]: value["value"] for value in content["values"]}
    print(text_of(texts, len(stored.rows), values, str(folder.path)))
    return 0


def text_of(texts: Import, n: int, values: dict[str, float | None], folder: str) -> str:
    """Return the number of imported texts and their values as text."""
    lines = [f"{texts.kind.name} · test split · {texts.system}: {n:,} texts of {texts.path.name} in {folder}"]
    for name, value in values.items():
        if value is not None:
            lines.append(f"  {name}  {value:.2f}")
    without = [name for name, value in values.items() if value is None]
    if without:
        lines.append(f"  without a value: {', '.join(without)}; bench report says why")
    return "\n".join(map(one_line, lines))
