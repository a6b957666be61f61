"""Figures of papers from our cells: each point is planned and, if asked, made, then drawn or written as text."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence, Set
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from bench.cli_options import say_damaged
from bench.config.arguments import RunArguments, whole_numbers
from bench.errors import MissingError, UsageError
from bench.leaderboards.figures.figure_files import HUMAN, Figure, Point, Series, chosen_figures, figures
from bench.reproduced import asks_before, confirm_to_do, only_planned

if TYPE_CHECKING:
    from bench.leaderboards.figures.filled import FilledFigure, Made

__all__ = ["figure_list", "is_figure", "planned_cell", "reproduce_figures"]


def is_figure(name: str) -> bool:
    """Return whether a name on the command line is of a figure."""
    return name.lower() in figures()


def figure_list() -> list[dict[str, Any]]:
    """Return every figure and what it needs, as `bench reproduce` lists tables; no point is compared with a print."""
    listed = []
    for figure in figures().values():
        listed.append({
            "address": figure.address, "title": figure.title, "cells": len(figure.points), "comparable": 0, "how": "",
            "tasks": list(dict.fromkeys(point.task for point in figure.points)),
            "methods": list(dict.fromkeys(point.method for point in figure.points if point.method != HUMAN)),
            "backbones": [figure.backbone], "decodings": [figure.decoding],
            "levels": [{"part": "", "level": figure.level.level, "why": figure.level.why}],
        })  # fmt: skip
    return listed


def reproduce_figures(names: Sequence[str], given: argparse.Namespace) -> int:
    """Print figures with our numbers; return the exit code.

    Args:
        names: their addresses.
        given: what was typed after `bench reproduce`.

    Raises:
        UsageError: a picture of more than one figure was asked for.
    """
    chosen = chosen_figures(names)
    if given.svg and len(chosen) != 1:
        raise UsageError(f"--svg is for one figure, not {len(chosen)}")
    if asks_before(given):
        to_do = set[str]()
        for figure in chosen:
            counted = Making(figure, only_planned(given))
            counted.make()
            to_do |= counted.to_do
        confirm_to_do(to_do, given)
    code, filled = 0, []
    for figure in chosen:
        making = Making(figure, given)
        making.make()
        code = max(code, making.code)
        if not given.dry_run:
            filled.append(making.filled())
            code = max(code, making.code)
    if given.dry_run:
        return code
    _write(filled, given)
    return code


def _write(filled: Sequence[FilledFigure], given: argparse.Namespace) -> None:
    """Print figures in the form that was asked for, and draw one where a file was named."""
    from bench.board.figure_drawing import draw_figure
    from bench.leaderboards.render.figures import figure_content, figure_markdown, figure_text

    if given.svg:
        print(f"bench: drawn in '{draw_figure(filled[0]).save(given.svg)}'", file=sys.stderr)
    if given.json:
        text = json.dumps({"figures": [figure_content(figure) for figure in filled]}, indent=1) + "\n"
    elif given.markdown:
        text = "\n".join(map(figure_markdown, filled))
    else:
        text = "\n".join(map(figure_text, filled))
    sys.stdout.write(text)


class Making:
    """The cells of one figure as they are planned and made.

    Args:
        figure: of a paper.
        given: what was typed after `bench reproduce`.
    """

    def __init__(self, figure: Figure, given: argparse.Namespace) -> None:
        self.figure, self.given = figure, given
        self.made: dict[Point, Made] = {}
        self.folders: dict[tuple[str, int], Path] = {}
        """Folder of the cell of a series and seed, for those that start from it."""
        self.to_do: set[str] = set()
        self.code = 0
        self.limited = given.limit is not None

    def make(self) -> None:
        """Plan every point, and make what is missing if asked."""
        for series in self.figure.series:
            for point in series.points:
                if point.method != HUMAN:
                    self.made[point] = self.point(series, point)

    def point(self, series: Series, point: Point) -> Made:
        """Plan one point for every seed, and make its cells if asked."""
        from bench.leaderboards.figures.filled import Made

        keys, reason, at = [], "", None
        for seed in whole_numbers(self.given.seeds.split(",")):
            try:
                arguments = self.arguments(series, point, seed)
                planned = planned_cell(arguments, self.given, f"{self.figure.address} · {series.label}")
            except MissingError as error:
                reason = str(error)
                if series.start:  # a cell all the same, once the one it starts from is trained
                    self.to_do.add(f"{series.label}, {point.at}, seed {seed}")
                continue
            cell = planned.cell
            self.to_do |= planned.to_do
            self.code = max(self.code, planned.code)
            keys.append(cell.key)
            reason = planned.failed or reason
            self.folders[series.label, seed] = cell.folder.path
            self.limited = self.limited or cell.config.trainer.limit is not None
            if series.at_tensor and at is None:
                at = length_of(cell, series.at_tensor)
        return Made(frozenset(keys), at, reason)

    def arguments(self, series: Series, point: Point, seed: int) -> RunArguments:
        """Return what `bench run` would be asked for.

        Raises:
            MissingError: the cell that it starts from is not trained.
        """
        given, start = self.given, ""
        if series.start:
            folder = self.folders.get((series.start, seed))
            if folder is None or not (folder / "trained.json").is_file():
                raise MissingError(f"starts from '{series.start}', which is not trained")
            start = str(folder)
        sets = [text for texts in given.sets for text in texts]
        sets += [text.replace("{start}", start) for text in point.sets]
        backbone = None
        if given.preset == "paper":
            backbone = self.figure.backbone
        return RunArguments(
            tasks=(point.task,),
            methods=(point.method,),
            seeds=(seed,),
            backbone=backbone,
            preset=given.preset,
            sets=tuple(sets),
            decode=self.figure.decoding,
            limit=given.limit,
            data_dir=given.data_dir,
            results=given.results,
        )

    def filled(self) -> FilledFigure:
        """Return the figure with what the store has."""
        from bench.leaderboards import table
        from bench.leaderboards.figures.filled import fill_figure
        from bench.store.store import Store

        store = Store(Path(self.given.results))
        tasks = sorted({point.task for point in self.figure.points})
        ours = table.tables(store, tasks, "all", self.limited)[0]
        self.code = max(self.code, say_damaged(store))
        return fill_figure(self.figure, ours, self.given.preset, self.made)


class PlannedCell(NamedTuple):
    """The cell of a point as it was planned and, if asked, made.

    Args:
        cell: of the point.
        failed: why it failed, empty where it did not.
        code: the exit code.
        to_do: keys of the cells that were not there before, this one and those it comes from.
    """

    cell: Any
    failed: str
    code: int
    to_do: Set[str]


def planned_cell(arguments: RunArguments, given: argparse.Namespace, label: str) -> PlannedCell:
    """Plan the one cell that is asked for, and make it if asked.

    Args:
        arguments: of one method and seed.
        given: what was typed after `bench reproduce`.
        label: what the cell is for, said by a dry run.

    Raises:
        MissingError: it cannot be planned here.
    """
    from bench.cells.plan import make_plan
    from bench.cells.plan_checks import is_to_do
    from bench.cells.progress import Progress
    from bench.cells.run import execute

    running = bool(given.run) and not given.dry_run
    failed, code = "", 0
    with Progress(given.quiet or not running) as progress:
        plan = make_plan(arguments, progress.say, progress.rows, costs_only=not running)
        if not plan.cells:
            raise MissingError("; ".join(skip.reason for skip in plan.skips) or "nothing to run")
        cell = plan.cells[-1]
        to_do = {each.key for each in plan.cells if is_to_do(each)}
        if running:
            outcome = execute(plan, arguments, progress)
            code = outcome.exit_code
            failed = "; ".join(why.splitlines()[0] for why in outcome.failed.values())
    if given.dry_run:
        stored = "missing"
        if cell.folder.trained():
            stored = "stored"
        print(f"{label} · {cell.label}: {stored}")
    return PlannedCell(cell, failed, code, to_do)


def length_of(cell: Any, tensor: str) -> float | None:
    """Return the length of a tensor of a trained cell; None where its checkpoint is not there."""
    from bench.errors import StoreError
    from bench.store.checkpoints import stored_tensor

    try:
        found = stored_tensor(cell.folder, tensor)
    except StoreError:  # not kept, as on a snapshot
        return None
    if found is None:
        return None
    return float(len(found))
