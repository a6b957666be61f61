"""`python -m tools.kept_samples STORE`: trains a few kept cells again, and keeps some of their texts for the page.

A snapshot has numbers and no texts. Cells are made anew from their records, on the rows of `BENCH_DATA`. They must
have the kept keys, and the kept perplexity to `SAME`: on another processor last bits of a training differ, and so do
words of a text, which the page says. Only texts of `TASK` are kept: its rows are in the public domain.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from bench.cells.record import SECTIONS
from bench.cli import main as bench
from bench.leaderboards.row import TableRow
from bench.leaderboards.table import Table, tables
from bench.store.store import CellFolder, Store
from tools.regenerate import RUNS, SAMPLE_TEXTS, without_sweeps

TASK = "text"
BOARD = RUNS / "grid"
METHODS = ("mle", "mle.min_p", "f2softmax", "face", "ul_token_seq", "trime")
"""Not `histalign`: its ranks turn at a last bit, and on another processor its perplexity is 153 and not 167."""
STEPS = 300
"""Of the rows that are shown where a method has rows of several trainings."""
N = 2
"""Texts of each method."""
SAME = 1e-4
"""Relative difference of two perplexities that are the same but for rounding."""
NOTE = (
    "Texts of the first seed. It was trained again on another machine, with the same perplexity to four digits; these "
    "texts may differ from the scored ones."
)


def shown_rows(table: Table) -> list[TableRow]:
    """Return the rows of a table whose texts are shown: those of `METHODS`, of one training of the default backbone."""
    rows = []
    for row in table.rows:
        longer = row.method in ("mle", "f2softmax") and row.config["trainer"]["steps"] != STEPS
        default = "tied" not in row.config["backbone_options"]
        if row.method in METHODS and default and not longer:
            rows.append(row)
    return rows


def first_cell(store: Store, table: Table, row: TableRow) -> CellFolder:
    """Return the cell of the first seed of a row."""
    cells = [store.cell(table.task, row.config["method"], key) for key in row.keys]
    return min(cells, key=lambda cell: record_of(cell)["config"]["seed"])


def record_of(cell: CellFolder) -> dict[str, Any]:
    """Return the record of a trained cell."""
    record = cell.trained()
    assert record is not None, f"expected a trained cell in {cell.path}"
    return record


def config_of(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return what `--config` reads to make a cell again: settings of the one it starts from, then its own."""
    config, start = record["config"], record.get("start")
    sets: dict[str, Any] = {}
    if start is not None:
        sets |= settings(config | start["config"], "")
    return {
        "task": config["task"],
        "method": config["method"],
        "seeds": [config["seed"]],
        "preset": config["preset"],
        "backbone": config["backbone"],
        "decode": ",".join(config["decodings"]),
        "set": sets | settings(config, "" if start is None else f"{config['method']}:"),
    }


def settings(config: Mapping[str, Any], of: str) -> dict[str, Any]:
    """Return the settings of a configuration as `section.name`, each behind the name of a method, if any."""
    lines = {}
    for section, part in SECTIONS.items():
        for name, value in config[part].items():
            common = section in ("task", "evaluation")
            lines[f"{'' if common else of}{section}.{name}"] = value
    return lines


def make_again(record: Mapping[str, Any], table: Table, results: Path) -> None:
    """Make a cell in a store, with the rows of a table: a search has evaluated it on others, too.

    Raises:
        SystemExit: it failed.
    """
    file = results / f"{record['key']}.yaml"
    file.parent.mkdir(parents=True, exist_ok=True)
    config = config_of(record)
    config["set"] |= {"evaluation.split": table.split, "evaluation.rows": table.n}
    file.write_text(yaml.safe_dump(config, sort_keys=False), encoding="utf-8")
    code = bench(["run", "--config", str(file), "--results", str(results), "--no-controls"])
    file.unlink()
    if code:
        sys.exit(f"the cell {record['key']} of {record['config']['method']} ended with {code}")


def check_same(kept: CellFolder, made: CellFolder, split: str) -> None:
    """Refuse a cell that is not the kept one, or has another perplexity.

    Raises:
        SystemExit: naming both.
    """
    if made.trained() is None:
        sys.exit(f"expected the key {kept.path.name}, the cell that was made has another")
    theirs, ours = perplexity_of(kept, split), perplexity_of(made, split)
    if not math.isclose(theirs, ours, rel_tol=SAME):
        sys.exit(f"perplexity of {kept.path.name}: expected {theirs}, got {ours}")


def perplexity_of(cell: CellFolder, split: str) -> float:
    """Return the perplexity of a token that is stored for a cell, of its method itself.

    Raises:
        SystemExit: none is.
    """
    for name in cell.names("scores-*.json"):
        content = cell.record(name)["content"]
        found = {value["name"]: value["value"] for value in content["values"]}
        if "ppl/token" in found and content["of"]["split"] == split and not content["of"]["shown_as"]:
            return float(found["ppl/token"])
    sys.exit(f"expected the perplexity of {cell.path}, found none")


def samples_of(store: Store, table: Table) -> list[dict[str, Any]]:
    """Return a few texts of every row that has some in a store, as a page shows them."""
    from bench.board.page import samples_of as samples
    from bench.board.samples import holding

    held: dict[str, list[Any]] = {}
    for one in holding(store, [table.task]):
        held.setdefault(one.record["key"], []).append(one)
    found = samples(store, replace(table, rows=shown_rows(table)), held, lambda *_: None)
    return [found[place * len(found) // N] for place in range(N)]


def main(arguments: Sequence[str] | None = None) -> int:
    """Make the cells, compare them with the kept ones, and keep texts; return 0."""
    (results,) = map(Path, sys.argv[1:] if arguments is None else arguments)
    kept, made = Store(BOARD), Store(results)
    (table,) = (without_sweeps(table) for table in tables(kept, [TASK])[0])
    for row in shown_rows(table):
        cell = first_cell(kept, table, row)
        record = record_of(cell)
        again = made.cell(TASK, record["config"]["method"], cell.path.name)
        if not again.names("rows-*"):
            make_again(record, table, results)
        check_same(cell, again, table.split)
        print(f"{row.method}: the kept perplexity", flush=True)
    from bench.leaderboards.table import table_ids

    (name,) = table_ids([table])
    content = {"samples": {name: samples_of(made, table)}, "samples_note": {name: NOTE}}
    SAMPLE_TEXTS.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
