"""What is known of a method beside its text: verdicts on claims, tables of papers, what it costs."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING
from unittest import mock

from bench.cost.memory import peak_bytes
from bench.leaderboards.claim.claim_files import names, read
from bench.leaderboards.claim.report import claim_cells
from bench.leaderboards.published.costs import MeasuredCost
from bench.leaderboards.published.paper_files import Level
from bench.leaderboards.published.papers import papers
from bench.leaderboards.published.training_times import TrainingTime
from tools.catalogue.docstrings import cell, code, prose
from tools.catalogue.places import BOARD, CLAIMS, DOCS

if TYPE_CHECKING:
    from bench.cells.cell import Cell
    from bench.cost.trace import Trace

__all__ = ["claim_rows", "measured_rows", "planned_rows", "published_rows", "published_time_rows"]

UNESCAPED_BAR = re.compile(r"(?<!\\)\|")
CLAIM_COLUMNS = 6
"""Of a table of claims: number, claim, where, the paper's number, ours, verdict."""
PLANNED_TASKS = ("gigaword", "text")
"""Of each architecture one whose recipe most methods run on."""
PLANNED_KIND = "cuda"


# Claims -----------------------------------------------------------------------------------------------------------


def claim_rows(method: str) -> list[list[str]]:
    """Return a row for each claim that is about a method or its variants: claim, place in the paper, verdict.

    Verdicts are those of the page of claims, which another test compares with the kept runs.

    Raises:
        KeyError: the page has no line for a claim; `make boards` makes it again.
    """
    rows = []
    for file in map(read, names()):
        for claim in file.claims:
            if _base(claim.better.method) == method:
                where = prose(f"{file.name}, {claim.paper}")
                rows.append([cell(prose(claim.says)), cell(where), verdicts()[tuple(claim_cells(claim))]])
    return rows


@cache
def verdicts() -> dict[tuple[str, ...], str]:
    """Return the verdict of each line of the page of claims, by claim and place."""
    found = {}
    for line in (DOCS / CLAIMS).read_text(encoding="utf-8").splitlines():
        cells = [text.strip() for text in UNESCAPED_BAR.split(line)[1:-1]]
        if len(cells) == CLAIM_COLUMNS:
            found[tuple(cells[1:3])] = cells[5].strip("*")
    return found


def _base(method: str) -> str:
    return method.partition(".")[0]


# Tables of papers -------------------------------------------------------------------------------------------------


def published_rows(name: str, kind: str) -> list[list[str]]:
    """Return a row for each table of a paper that has a method or a task: address, paper, title.

    Args:
        name: of the method or task.
        kind: `method` or `task`.
    """
    rows = []
    for paper in papers():
        for table in paper.tables:
            found = {_base(getattr(one, kind)) for row in table.rows for one in row}
            if name in found:
                title = f"{paper.name}, {table.name}: {table.title}"
                rows.append([code(table.address), cell(prose(title)), _level(table.levels)])
    return rows


def _level(levels: Iterable[Level]) -> str:
    """Return how near our rows can come to a table, or to its parts."""
    return ", ".join(dict.fromkeys(level.level for level in levels))


# Costs ------------------------------------------------------------------------------------------------------------


@cache
def measured() -> tuple[MeasuredCost, ...]:
    """Return how long the kept runs trained, beside their baseline."""
    from bench.leaderboards.published.costs import measured_costs
    from bench.store.store import Store

    return tuple(measured_costs(Store(BOARD)))


def measured_rows(method: str) -> list[list[str]]:
    """Return a row for each kept training of a method and its variants: name, task, backbone, times as long, pairs."""
    rows = []
    for cost in measured():
        if _base(cost.method) == method:
            rows.append([code(cost.method), code(cost.task), code(cost.backbone), f"{cost.ratio:.2f}", str(cost.pairs)])
    return rows


def published_time_rows(method: str) -> list[list[str]]:
    """Return a row for each training of a method that a paper states: paper, task, backbone, hours and hardware."""
    return [
        [cell(prose(f"{time.paper}, {time.where}")), code(time.task), code(time.backbone), cell(prose(time.text))]
        for time in _training_times()
        if _base(time.method) == method
    ]


def _training_times() -> Iterator[TrainingTime]:
    for paper in papers():
        yield from paper.training


@cache
def planned() -> dict[tuple[str, str], tuple[str, int, float]]:
    """Return what a step of the small recipe takes: backbone, trained parameters and peak bytes, by task and method.

    Only what `bench/cost/kept.json` has of it: no model is run.
    """
    from bench.cells.plan import make_plan
    from bench.config.arguments import RunArguments

    found = {}
    with tempfile.TemporaryDirectory() as folder:
        hidden = {"BENCH_CACHE": folder, "BENCH_DATA": "", "HF_HUB_OFFLINE": "1"}
        with mock.patch.dict(os.environ, hidden):
            for one in make_plan(RunArguments(PLANNED_TASKS, ("all",), results=folder), costs_only=True).cells:
                trace = kept_trace(one)
                if trace is not None:
                    rows = one.config.trainer.batch_size
                    peak = max(peak_bytes(trace.memory, trace.parameters, rows, 1, PLANNED_KIND).values())
                    found[one.config.task, one.config.method] = (one.config.backbone, trace.parameters.trained, peak)
    return found


def kept_trace(one: Cell) -> Trace | None:
    """Return the kept trace of a cell; None where nothing is trained, or nothing is kept."""
    from bench.cost.disk import takes_steps
    from bench.cost.trace import Tracer, kept_traces
    from bench.cost.training_rows import longest
    from bench.models.core.objective import Objective

    if not issubclass(one.method.kind, Objective) or not takes_steps(one):
        return None
    tracer, lengths, rows = Tracer(PLANNED_KIND), longest(one), one.config.trainer.batch_size
    if tracer.key(one, lengths, rows) not in kept_traces():
        return None
    return tracer.trace(one, lengths, rows)


def planned_rows(method: str) -> list[list[str]]:
    """Return a row for each planned task: task, backbone, parameters, peak memory, and times that of `mle`."""
    rows = []
    for task in PLANNED_TASKS:
        if (task, method) in planned():
            backbone, parameters, peak = planned()[task, method]
            ratio = f"{peak / planned()[task, 'mle'][2]:.2f}"
            rows.append([code(task), code(backbone), f"{parameters:,}", f"{peak / 2**20:.0f} MiB", ratio])
    return rows
