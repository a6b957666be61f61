"""`bench reproduce`: a paper's table from our cells, made where they are missing, with a verdict on every number."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.cli_options import (
    data_dir_option,
    json_option,
    limit_option,
    results_option,
    say_damaged,
    set_option,
)
from bench.config.arguments import RunArguments
from bench.config.config import PRESETS, CellConfig, TrainerConfig
from bench.errors import MissingError
from bench.leaderboards.published.papers import (
    Key,
    Need,
    chosen,
    is_scored,
    needs,
    papers,
)

if TYPE_CHECKING:
    from bench.cells.cell import Cell
    from bench.leaderboards.published.paper_files import PublishedCell, PublishedTable
    from bench.leaderboards.published.reproduction import Plan
    from bench.leaderboards.row import TableRow
    from bench.tasks.core.stated import Deviation


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `bench reproduce`."""
    parser.add_argument(
        "tables",
        nargs="*",
        metavar="PAPER/TABLE",
        help="e.g. histalign/table1, a paper, or 'all'; without one, the list",
    )
    parser.add_argument("--preset", choices=PRESETS, default="small", help="default small; paper: as published")
    parser.add_argument("--seeds", default="0", metavar="N,N", help="default 0; an interval takes three")
    parser.add_argument("--run", action=argparse.BooleanOptionalAction, default=True, help="make what is missing")
    parser.add_argument("--dry-run", action="store_true", help="show the plans and what is stored of them")
    parser.add_argument("--strict", action="store_true", help="exit with 4 where a number is off or not there")
    limit_option(parser)
    set_option(parser, "settings of every run, e.g. trainer.steps=100")
    results_option(parser)
    data_dir_option(parser)
    parser.add_argument("--quiet", action="store_true", help="warnings and the tables only")
    parser.add_argument("--markdown", action="store_true", help="print Markdown")
    json_option(parser)


def run(given: argparse.Namespace) -> int:
    """Print the tables that were asked for, or the list of them; return the exit code."""
    if not given.tables:
        every = listed()
        if given.json:
            print(json.dumps(every, indent=1))
        else:
            print("\n".join([*(line for table in every for line in lines_of(table)), "", *how_to_read()]))
        return 0
    from bench.leaderboards.published.reproduction import STRICT_EXIT

    tables = chosen(given.tables)
    made = Made(given)
    for need in needs(tables, given.preset):
        made.make(need)
    if given.dry_run:
        print(json.dumps(made.contents, indent=1) if given.json else made.text())
        return 0
    sys.stdout.write(rendered(tables, made, given))
    return STRICT_EXIT if given.strict and made.short_of else made.code


def rendered(tables: Sequence[PublishedTable], made: Made, given: argparse.Namespace) -> str:
    """Return tables compared with the numbers of the store, as text."""
    from bench.leaderboards import table as ours
    from bench.leaderboards.published.reproduction import reproduce
    from bench.leaderboards.render.reproduction import content, markdown, terminal
    from bench.store.store import Store

    tasks = sorted({need.task for need in needs(tables, given.preset)})
    store = Store(Path(given.results))
    held = ours.tables(store, tasks, "all", made.limited)[0] if tasks else []
    made.code = max(made.code, say_damaged(store))
    found = [reproduce(table, held, given.preset, made.plans) for table in tables]
    made.short_of = sum(one.short_of for one in found)
    if given.json:
        return json.dumps({"tables": [content(one) for one in found], "exit_code": made.code}, indent=1) + "\n"
    return markdown(found) if given.markdown else terminal(found)


@dataclass
class Made:
    """The runs behind some tables, which are planned and made one need after another, and the exit code.

    Args:
        given: the command line.
        plans: of the runs behind published numbers.
        contents: of the plans, for people and programs.
        limited: whether runs are limited to some rows.
        short_of: how many numbers are off or missing.
        code: exit code.
    """

    given: argparse.Namespace
    plans: dict[Key, Plan] = field(default_factory=dict)
    contents: list[dict[str, Any]] = field(default_factory=list)
    limited: bool = False
    short_of: int = 0
    code: int = 0

    def make(self, need: Need) -> None:
        """Plan the runs of one need and, if asked, make those that are missing."""
        from bench.cells.plan import make_plan
        from bench.cells.progress import Progress
        from bench.cells.run import execute

        running = self.given.run and not self.given.dry_run
        arguments = self.arguments(need)
        self.limited = self.limited or arguments.limit is not None
        with Progress(self.given.quiet or not running) as progress:
            try:
                plan = make_plan(arguments, progress.say, progress.rows, costs_only=not running)
            except MissingError as error:
                self.note_missing(need, str(error), running)
                return
            if running and plan.cells:
                outcome = execute(plan, arguments, progress)
                for label, why in outcome.failed.items():
                    print(f"bench: failed: {label}: {why.splitlines()[0]}", file=sys.stderr)
                self.code = max(self.code, outcome.exit_code)
        self.note(need, plan)

    def arguments(self, need: Need) -> RunArguments:
        """Return the arguments of `bench run` for a need."""
        given, sets = self.given, sets_of(self.given.sets, need)
        if need.sampling_seeds:
            sets = [f"evaluation.sampling_seeds={','.join(map(str, need.sampling_seeds))}", *sets]
        return RunArguments(
            tasks=(need.task,), methods=need.methods, seeds=given.seeds,
            backbone=need.backbone or None, preset=given.preset, sets=tuple(sets),
            decode=",".join(need.decodings) or None, limit=given.limit, data_dir=given.data_dir or "",
            results=given.results,
        )  # fmt: skip

    def plan(self, key: Key) -> Plan:
        """Return what is known of the planned run of a task, method and backbone."""
        from bench.leaderboards.published.reproduction import Plan

        return self.plans.setdefault(key, Plan())

    def note_missing(self, need: Need, why: str, running: bool) -> None:
        """Note why a need cannot be planned here."""
        for key in need.keys:
            self.plan(key).reason = why
        self.contents.append({**about(need), "why": why})
        if running:
            print(f"bench: {need.task} · {', '.join(need.methods)}: {why}", file=sys.stderr)
            self.code = max(self.code, MissingError.exit_code)

    def note(self, need: Need, plan: Any) -> None:
        """Note the keys and the costs of a plan, and the reasons of runs without a number."""
        from bench.commands.run import plan_content, plan_text

        cost: dict[str, Any] = {}
        texts = [*data_lines(plan), plan_text(plan)]
        if self.given.dry_run:
            from bench.cost import cost_content, cost_text, costs_of_plan

            found = costs_of_plan(plan)
            cost = {"cost": cost_content(found)}
            if found:
                texts.append(cost_text(found))
                texts += dict.fromkeys(filter(None, map(missing_weights, plan.cells)))
        for skip in plan.skips:
            self.plan((need.task, skip.method, need.backbone)).reason = skip.reason
        for cell in plan.cells:
            self.limited = self.limited or cell.config.trainer.limit is not None
            known = self.plan((need.task, cell.method.name, need.backbone))
            known.options, known.deviations = cell.config.method_options, deviations_from(cell)
            known.keys = {cell.key, *(known.keys or ())}
            known.reason = why_none(cell) or known.reason
        text = "\n".join(texts)
        self.contents.append({**about(need), "data": plan.data, "text": text, **plan_content(plan), **cost})

    def text(self) -> str:
        """Return all plans for people."""
        texts = []
        for plan in self.contents:
            parts = [plan["task"], ", ".join(plan["methods"]), plan["backbone"] or "the recipe's backbone"]
            parts += filter(None, [", ".join(plan["decodings"])])
            if seeds := plan.get("sampling_seeds"):
                parts.append(f"sampling seeds {', '.join(map(str, seeds))}")
            texts += [" · ".join(parts), plan.get("text") or f"  cannot be planned: {plan['why']}"]
        return "\n".join(texts or ["nothing to run: no number of these tables comes from a run"])


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


def about(need: Need) -> dict[str, Any]:
    """Return a need as plain content."""
    content = {name: list(value) if isinstance(value, tuple) else value for name, value in vars(need).items()}
    return {name: value for name, value in content.items() if value or name != "sampling_seeds"}


def as_stored(planned: CellConfig, row: TableRow) -> CellConfig:
    """Return the configuration of a stored row: the planned one with the row's backbone and settings."""
    known = {field.name for field in fields(TrainerConfig)}
    trainer = {name: value for name, value in row.config.get("trainer", {}).items() if name in known}
    options = {name: row.config.get(name, {}) for name in ("task_options", "method_options", "backbone_options")}
    return replace(planned, backbone=row.backbone, trainer=TrainerConfig(**trainer), **options)


def data_lines(plan: Any) -> list[str]:
    """Return what data a plan has, a line a task, and how that differs from the published rows."""
    from bench.config.config import PAPER

    lines = [f"data of {line}" for line in plan.data]
    for task in {cell.task.name: cell.task for cell in plan.cells}.values():
        status, published = task.split("train").status, task.info.sizes.get("train")
        rows = f"{published:,} published rows" if published else "published rows"
        if plan.preset == PAPER and task.source.folder is None:
            known = f"steps and costs are for its {rows}"
            if task.stream is not None or task.training_blocks:  # how many blocks there are depends on the text
                known = "the number of steps is not known"
            lines.append(f"  data of {task.name} is not here: {known}")
        elif status not in ("official", "own"):
            lines.append(f"  steps and costs are for the {status} rows that are here, not for the {rows}")
    return lines


def missing_weights(cell: Any) -> str:
    """Return that the weights of a run's backbone are not on this machine, and what brings them; empty if they are."""
    from bench.pretrained.catalogue import catalogue

    name = cell.config.spec("backbone")
    for model in catalogue().values():
        if f"backbone {name}" in model.uses and not cell.config.backbone_options.get("path") and not model.is_here:
            return f"the weights of {name} are not on this machine; {model.get_command} brings them"
    return ""


def why_none(cell: Any) -> str:
    """Return why a planned cell has no number, or nothing."""
    trained, failed = cell.folder.trained(), cell.folder.failed()
    if trained is not None:
        return "diverged" if trained["status"] == "diverged" else ""
    if failed is None:
        return ""
    return f"{failed['status']}: {' '.join(str(failed['error']).splitlines()[:1])}"


def sets_of(given: Sequence[Sequence[str]], need: Need) -> list[str]:
    """Return the settings that are for this need: those of another task or method, which others take, are left out."""
    from bench.config.config import override
    from bench.models import METHODS
    from bench.tasks import TASKS

    mine, found = {need.task, *need.methods, *(method.partition(".")[0] for method in need.methods)}, []
    for text in (text for texts in given for text in texts):
        scope = override(text.partition("=")[0].strip(), "").scope if "=" in text else None
        if scope is None or scope in mine or (scope not in TASKS and scope.partition(".")[0] not in METHODS):
            found.append(text)
    return found


def listed() -> list[dict[str, Any]]:
    """Return every table and what it needs."""
    found = []
    for paper in papers():
        for table in paper.tables:
            cells = [cell for row in table.rows for cell in row]
            made = [cell for cell in cells if is_scored(cell)]
            found.append({
                "address": table.address, "title": table.title, "cells": len(cells),
                "comparable": sum(cell.comparable for cell in cells),
                "how": "bench human" if any(cell.task.startswith("human/") for cell in cells) else "",
                "tasks": _each(cell.task for cell in made), "methods": _each(cell.method for cell in made),
                "backbones": _each(cell.backbone for cell in made), "decodings": _each(cell.decoding for cell in made),
                "levels": [level.model_dump() for level in table.levels],
            })  # fmt: skip
    return found


def _each(names: Iterable[str]) -> list[str]:
    return [name for name in dict.fromkeys(names) if name]


def lines_of(table: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of one table of the list for people."""
    from bench.leaderboards.published.paper_files import Level

    size = f"{table['cells']} numbers, {table['comparable']} comparable"
    made = f"{', '.join(table['tasks'])}; {', '.join(table['methods'])}; {', '.join(table['backbones'])}"
    yield f"{table['address']:<20} {table['title']}"
    yield f"{'':<20} {size}; needs {table['how'] or (made if table['tasks'] else 'nothing: no score')}"
    for level in table["levels"]:
        yield f"{'':<20} {Level(**level).text}"


def how_to_read() -> list[str]:
    """Return what the levels of the list mean, and what to type next."""
    from bench.leaderboards.published.paper_files import LEVELS

    meanings = [f"{level}: {meaning}" for level, meaning in LEVELS.items()]
    return [*meanings, "The plan of one, with its cost: bench reproduce PAPER/TABLE --dry-run"]
