"""`bench reproduce`: a paper's table from our runs, executed where they are missing, with a verdict on every number."""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.base.registry import split_names
from bench.cli_options import add_options, say_damaged
from bench.config.arguments import RunArguments
from bench.config.config import PRESETS, CellConfig, TrainerConfig
from bench.errors import MissingError, UsageError
from bench.leaderboards.published.papers import Key, Need, chosen, is_scored, needs, papers

if TYPE_CHECKING:
    from bench.cells.cell import Cell
    from bench.cells.plan import Plan as PlannedRuns
    from bench.leaderboards.published.paper_files import PublishedCell
    from bench.leaderboards.published.reproduction import Plan
    from bench.leaderboards.row import TableRow
    from bench.tasks.core.published_settings import Deviation


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `bench reproduce`."""
    parser.add_argument(
        "tables",
        nargs="*",
        metavar="PAPER/TABLE",
        help="e.g. histalign/table1; a paper for all its tables, or 'all'; without one, the list",
    )
    parser.add_argument("--method", action="append", metavar="NAMES", help="make only the runs of these; default all")
    parser.add_argument("--preset", choices=PRESETS, default="small", help="default small; paper: as published")
    parser.add_argument("--seeds", default="0", metavar="N,N", help="default 0; three or more give intervals")
    parser.add_argument("--run", action=argparse.BooleanOptionalAction, default=True, help="make what is missing")
    parser.add_argument("--dry-run", action="store_true", help="show the plans and what is stored of them")
    parser.add_argument("--strict", action="store_true", help="exit with 4 if a number is off or missing")
    add_options(parser, "--limit")
    add_options(parser, "--set", help="settings of every run, e.g. trainer.steps=100")
    add_options(parser, "--results", "--data-dir")
    parser.add_argument("--quiet", action="store_true", help="warnings and the tables only")
    add_options(parser, "--json")


def run(given: argparse.Namespace) -> int:
    """Print the chosen tables, or the list of all; return the exit code."""
    if not given.tables:
        from bench.leaderboards.published.paper_files import LEVELS

        every = listed()
        if given.json:
            print(json.dumps(every, indent=1))
        else:
            levels = [f"{level}: {meaning}" for level, meaning in LEVELS.items()]
            print("\n".join([*(line for table in every for line in lines_of(table)), "", *levels]))
            print("The plan of one, with its cost: bench reproduce PAPER/TABLE --dry-run")
        return 0
    from bench.leaderboards import table as ours
    from bench.leaderboards.published.reproduction import STRICT_EXIT, Plan, reproduce
    from bench.leaderboards.render.reproduction import content, terminal
    from bench.store.store import Store

    tables = chosen(given.tables)
    if len(tables) > len(given.tables) and not given.quiet:
        names = ", ".join([*(table.address for table in tables[:4]), *(["..."] if len(tables) > 4 else [])])
        print(f"bench: {len(tables)} tables: {names}", file=sys.stderr)
    needed = needs(tables, given.preset)
    made = Made(given, methods_of(needed, split_names(given.method)), defaultdict(Plan))
    for need in needed:
        made.make(need)
    if given.dry_run:
        if given.json:
            print(json.dumps(made.contents, indent=1))
        elif not needed:
            print("nothing to run: no number of these tables comes from a run")
        return 0
    tasks, store = sorted({need.task for need in needed}), Store(Path(given.results))
    stored = ours.tables(store, tasks, "all", made.limited)[0] if tasks else []
    code = max(made.code, say_damaged(store))
    found = [reproduce(table, stored, given.preset, made.plans) for table in tables]
    if given.json:
        print(json.dumps({"tables": [content(one) for one in found], "exit_code": code}, indent=1))
    else:
        sys.stdout.write(terminal(found))
    return STRICT_EXIT if given.strict and any(one.short_of for one in found) else code


def methods_of(needed: Sequence[Need], names: Sequence[str]) -> list[str]:
    """Return the methods whose runs are made: those of some names, or all that are needed.

    Raises:
        UsageError: no run of the tables is of a named method.
    """
    known = list(dict.fromkeys(method for need in needed for method in need.methods))
    for name in names:
        if name not in known:
            raise UsageError(f"these tables need no run of '{name}'; they need {', '.join(known) or 'no run'}")
    return list(names) or known


@dataclass
class Made:
    """The runs behind some tables, which are planned and executed one need after another, and the exit code.

    Args:
        given: the command line.
        methods: whose runs are made; those of other methods are planned, so that what is stored of them is known.
        plans: what is known of the runs behind published numbers, by task, method and backbone.
        contents: of the plans, for `--dry-run --json`.
        limited: whether runs are limited to some rows.
        code: exit code.
    """

    given: argparse.Namespace
    methods: Collection[str]
    plans: dict[Key, Plan]
    contents: list[dict[str, Any]] = field(default_factory=list)
    limited: bool = False
    code: int = 0

    def make(self, need: Need) -> None:
        """Plan the runs of one need and, unless `--no-run` or `--dry-run` was given, execute those that are missing."""
        from bench.cells.plan import make_plan
        from bench.cells.progress import Progress
        from bench.cells.run import execute
        from bench.commands.run import plan_content, plan_text, say_failed
        from bench.cost import costs_of_plan

        given, running = self.given, self.given.run and not self.given.dry_run
        sets = sets_of(given.sets, need)
        if need.sampling_seeds:
            sets = [f"evaluation.sampling_seeds={','.join(map(str, need.sampling_seeds))}", *sets]
        arguments = RunArguments(
            tasks=(need.task,), methods=need.methods, seeds=given.seeds,
            backbone=need.backbone or None, preset=given.preset, sets=tuple(sets),
            decode=",".join(need.decodings) or None, limit=given.limit, data_dir=given.data_dir or "",
            results=given.results,
        )  # fmt: skip
        self.limited = self.limited or arguments.limit is not None
        with Progress(given.quiet or not running) as progress:
            try:
                plan = make_plan(arguments, progress.say, progress.rows, costs_only=not running)
            except MissingError as error:
                for method in need.methods:
                    self.plans[need.task, method, need.backbone].reason = str(error)
                if given.dry_run:
                    self.show(need, {"why": str(error)}, f"  cannot be planned: {error}")
                if running:
                    print(f"bench: {need.task} · {', '.join(need.methods)}: {error}", file=sys.stderr)
                    self.code = max(self.code, MissingError.exit_code)
                return
            wanted = self.wanted(plan)
            if running and wanted.cells:
                outcome = execute(wanted, arguments, progress)
                say_failed(outcome)
                self.code = max(self.code, outcome.exit_code)
        self.limited = self.limited or plan.is_limited
        for skip in plan.skips:
            self.plans[need.task, skip.method, need.backbone].reason = skip.reason
        for cell in plan.cells:
            known = self.plans[need.task, cell.method.name, need.backbone]
            known.options, known.deviations = cell.config.method_options, deviations_from(cell)
            known.keys = {cell.key, *(known.keys or ())}
            known.reason = why_none(cell) or known.reason
        need = replace(need, methods=tuple(method for method in need.methods if method in self.methods))
        if given.dry_run and need.methods:
            costs = costs_of_plan(wanted)
            text = "\n".join([*(f"data of {line}" for line in plan.data), plan_text(wanted, costs)])
            self.show(need, {"data": plan.data, **plan_content(wanted, costs)}, text)

    def wanted(self, plan: PlannedRuns) -> PlannedRuns:
        """Return the part of a plan that is made: the runs of the chosen methods, with those that they start from."""
        chosen = [cell for cell in plan.cells if cell.method.name in self.methods]
        older = [relative for cell in chosen for first in cell.needed for relative in (*first.needed, first)]
        started = {cell.folder.path for cell in older}
        cells = [cell if cell in chosen else replace(cell, evaluations={}) for cell in plan.cells
                 if cell in chosen or cell.folder.path in started]  # fmt: skip
        return replace(plan, cells=cells, skips=[skip for skip in plan.skips if skip.method in self.methods])

    def show(self, need: Need, content: Mapping[str, Any], text: str) -> None:
        """Print the plan of a need, or keep it for JSON."""
        self.contents.append({**vars(need), **content})
        if not self.given.json:
            seeds = f"sampling seeds {', '.join(map(str, need.sampling_seeds))}" if need.sampling_seeds else ""
            parts = [need.task, ", ".join(need.methods), need.backbone or "the recipe's backbone"]
            print(f"{' · '.join(filter(None, [*parts, ', '.join(need.decodings), seeds]))}\n{text}\n")


def deviations_from(planned: Cell) -> Callable[[PublishedCell, TableRow | None], Sequence[Deviation]]:
    """Return the function that computes the deviations of a planned run, or of a stored row in its place."""
    from bench.config.deviations import deviations_of

    config, method = planned.config, planned.method
    data = {split: planned.task.split(split).status for split in ("train", config.evaluation.split)}

    def deviations(cell: PublishedCell, row: TableRow | None) -> Sequence[Deviation]:
        if not cell.metric:  # the paper counts or compares, and scores nothing
            return ()
        if row is None:
            return deviations_of(config, method, decoding=cell.decoding, backbone=cell.backbone, data=data)
        decoding = row.decoding if cell.decoding else ""
        return deviations_of(as_stored(config, row), method, decoding=decoding, backbone=cell.backbone)

    return deviations


def as_stored(planned: CellConfig, row: TableRow) -> CellConfig:
    """Return the configuration of a stored row: the planned one with the row's backbone and settings."""
    known = {field.name for field in fields(TrainerConfig)}
    trainer = {name: value for name, value in row.config.get("trainer", {}).items() if name in known}
    options = {name: row.config.get(name, {}) for name in ("task_options", "method_options", "backbone_options")}
    return replace(planned, backbone=row.backbone, trainer=TrainerConfig(**trainer), **options)


def why_none(cell: Any) -> str:
    """Return why a planned cell has no number, or nothing."""
    trained, failed = cell.folder.trained(), cell.folder.content("failed.json")
    if trained is not None:
        return "diverged" if trained["status"] == "diverged" else ""
    if failed is None:
        return ""
    return f"{failed['status']}: {' '.join(str(failed['error']).splitlines()[:1])}"


def sets_of(texts: Sequence[str], need: Need) -> list[str]:
    """Return the settings for a need: those whose scope is another task or method are left out."""
    from bench.config.config import override
    from bench.models import METHODS
    from bench.tasks import TASKS

    scopes, found = {need.task, *need.methods, *(method.partition(".")[0] for method in need.methods)}, []
    for text in texts:
        scope = override(text.partition("=")[0].strip(), "").scope if "=" in text else None
        if scope is None or scope in scopes or (scope not in TASKS and scope.partition(".")[0] not in METHODS):
            found.append(text)
    return found


def listed() -> list[dict[str, Any]]:
    """Return every table and what it needs."""
    found = []
    for paper in papers():
        for table in paper.tables:
            cells = [cell for row in table.rows for cell in row]
            made = [cell for cell in cells if is_scored(cell)]
            of_runs = {f"{name}s": list(filter(None, dict.fromkeys(getattr(cell, name) for cell in made)))
                       for name in ("task", "method", "backbone", "decoding")}  # fmt: skip
            found.append({
                "address": table.address, "title": table.title, "cells": len(cells),
                "comparable": sum(not cell.why_not for cell in cells),
                "how": "bench human" if any(cell.task.startswith("human/") for cell in cells) else "",
                **of_runs, "levels": table.levels,
            })  # fmt: skip
    return found


def lines_of(table: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of one table of the list for people."""
    from bench.leaderboards.published.paper_files import level_text

    size = f"{table['cells']} numbers, {table['comparable']} comparable"
    made = f"{', '.join(table['tasks'])}; {', '.join(table['methods'])}; {', '.join(table['backbones'])}"
    yield f"{table['address']:<20} {table['title']}"
    yield f"{'':<20} {size}; needs {table['how'] or (made if table['tasks'] else 'nothing: no score')}"
    for level in table["levels"]:
        yield f"{'':<20} {level_text(**level)}"
