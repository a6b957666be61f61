"""`bench run`: plan, execute, show the table."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from bench.base.entries import split_names
from bench.config.arguments import RunArguments
from bench.config.config import read_yaml
from bench.errors import BenchError, UsageError


def run(given: argparse.Namespace) -> int:
    """Run what was asked for; return the exit code."""
    arguments = collect(given)
    from bench.cells.grid import run_grid
    from bench.cells.plan import make_plan
    from bench.cells.progress import Progress
    from bench.cells.run import execute

    with Progress(given.quiet) as progress:
        if axes := [axis for axes in given.grid for axis in axes]:
            return ended(*run_grid(axes, arguments, progress), arguments, given.json)
        plan = make_plan(arguments, progress.say)
        for skip in plan.skips:
            progress.say(f"skipped {skip.task} · {skip.method} · {skip.backbone}: {skip.reason}")
        if given.dry_run:
            print(json.dumps(plan_content(plan), indent=1) if given.json else plan_text(plan))
            return 0
        if not plan.cells:
            raise UsageError(f"nothing to run: {'; '.join(f'{s.task} · {s.method} {s.reason}' for s in plan.skips)}")
        outcome = execute(plan, arguments, progress)
    return ended(plan, outcome, arguments, given.json)


def ended(plan: Any, outcome: Any, arguments: RunArguments, as_json: bool) -> int:
    """Say what became of a run; return its exit code."""
    for label, why in outcome.failed.items():
        print(f"bench: failed: {label}: {why.splitlines()[0]}", file=sys.stderr)
    if as_json:
        print(json.dumps({"exit_code": outcome.exit_code, "ok": outcome.ok, "stored": outcome.stored,
                          "diverged": outcome.diverged, "failed": outcome.failed}, indent=1))  # fmt: skip
    elif outcome.ok or outcome.stored or outcome.diverged:
        show(plan, arguments)
    return outcome.exit_code


def show(plan: Any, arguments: RunArguments) -> None:
    """Print the tables of what was run, or say why there is none; the run's exit code stays."""
    from bench.commands.page import NAME, Known, page_of
    from bench.commands.report import report

    tasks = sorted({cell.config.task for cell in plan.cells})
    limited = any(cell.config.trainer.limit is not None for cell in plan.cells)
    known = list({id(cell.task): cell.task for cell in plan.cells}.values())
    try:
        sys.stdout.write(report(arguments.results_folder, tasks, "terminal", limited=limited))
        path = page_of(arguments.results_folder, None, arguments.results_folder / NAME, Known(known), limited)
        sys.stdout.write(f"page with curves, samples and signatures: {path}\n")
    except BenchError as error:  # such as a damaged file of another cell in the store
        print(f"bench: {error}", file=sys.stderr)


def collect(given: argparse.Namespace) -> RunArguments:
    """Join a configuration file and the command line; the command line wins."""
    file = read_yaml(given.config) if given.config else {}
    sets = [f"{key}={value}" for key, value in (file.get("set") or {}).items()]
    sets += precision_of(file.get("precision"))
    sets += [text for texts in given.sets for text in texts]
    sets += precision_of(given.precision)
    tasks = split_names(given.task) or listed(file.get("task"))
    if not tasks:
        raise UsageError("say what to run: --task NAME (see: bench list tasks)")
    return RunArguments(
        tasks=tuple(tasks),
        methods=tuple(split_names(given.method) or listed(file.get("method")) or ["all"]),
        seeds=whole_numbers(given.seeds.split(",") if given.seeds else listed(file.get("seeds")) or ["0"]),
        backbone=given.backbone or file.get("backbone") or None,
        preset=given.preset or file.get("preset") or "auto",
        sets=tuple(sets),
        decode=given.decode or ",".join(listed(file.get("decode"))) or None,
        limit=given.limit,
        controls=given.controls,
        devices=given.devices,
        accumulate=given.accumulate,
        threads=given.threads,
        workers=given.workers,
        on_bad_row=given.on_bad_row,
        data_dir=given.data_dir,
        results=given.results,
        wandb=given.wandb,
        wandb_project=given.wandb_project,
    )


def precision_of(value: str | None) -> list[str]:
    """Return the override that --precision stands for."""
    return [f"trainer.precision={value}"] if value else []


def listed(value: list[str] | str | None) -> list[str]:
    """Return a list from a list or a text with commas."""
    return split_names(value if isinstance(value, list) else [value or ""])


def whole_numbers(texts: list[str]) -> tuple[int, ...]:
    """Return seeds."""
    try:
        return tuple(dict.fromkeys(int(text) for text in texts))
    except ValueError:
        raise UsageError(f"--seeds takes whole numbers with commas, not '{','.join(texts)}'") from None


def plan_text(plan: Any) -> str:
    """Return a plan for people."""
    lines = [f"preset {plan.preset}"]
    for cell in plan.cells:
        state = "stored" if cell.folder.trained() else "to train"
        rows = sum(cell.folder.rows_path(key).exists() for key in cell.evaluations)
        lines.append(f"  {cell.label}  [{cell.key}]  {state}, {rows} of {len(cell.evaluations)} evaluations stored")
    lines += [f"  skipped: {s.task} · {s.method} · {s.backbone}: {s.reason}" for s in plan.skips]
    return "\n".join(lines)


def plan_content(plan: Any) -> dict[str, Any]:
    """Return a plan as plain content."""
    return {
        "preset": plan.preset,
        "cells": [{"key": c.key, "folder": str(Path(c.folder.path)), "trained": c.folder.trained() is not None,
                   "config": c.config.as_dict()} for c in plan.cells],
        "skips": [vars(s) for s in plan.skips],
    }  # fmt: skip
