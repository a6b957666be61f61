"""`bench run`: plan, execute, show the table."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from bench.base.printable import one_line
from bench.cli_options import add_options, positive
from bench.config.arguments import AUTO, KeptCheckpoints, RunArguments, collect
from bench.config.config import PAPER, PRESETS, ExecutionConfig
from bench.errors import BenchError, StoreError, UsageError, each_once
from bench.launch.group import current_group

if TYPE_CHECKING:
    from bench.cells.plan import Plan
    from bench.cells.progress import Progress
    from bench.cells.run import Outcome
    from bench.cost import Cost


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `bench run`: what is run, and how. Names after `dest` are fields of `RunArguments`."""
    what_options(parser.add_argument_group("what is run"))
    how_options(parser.add_argument_group("how it is run (never changes a result)"))


def what_options(group: argparse._ArgumentGroup) -> None:
    """Add the options that are in the keys of results."""
    plugin = "module:Name or file.py:Name"

    def names(option: str, dest: str, help: str) -> None:
        group.add_argument(option, action="append", metavar="NAMES", dest=dest, help=help)

    names("--task", "tasks", f"names with commas, 'all', globs, {plugin}")
    names(
        "--method",
        "methods",
        f"names with commas, 'all', 'modern', globs, {plugin}; default 'papers', those of the papers' tables",
    )
    names("--metrics", "metrics", "in addition to those of each task")
    group.add_argument("--seeds", metavar="N,N", help="default 0")
    group.add_argument(
        "--sampling-seeds",
        metavar="N,N",
        help="seeds for sampling: each trained model writes once with each; default: the seed of its training",
    )
    group.add_argument("--backbone", metavar="NAME", help=f"name, hub id, folder, {plugin}; default: that of the task")
    group.add_argument(
        "--preset", choices=PRESETS, help="default small; mid fine-tunes a pretrained model; paper: as published"
    )
    speed = ", ".join(each.name for each in fields(ExecutionConfig))
    settings = "section.name=value, e.g. method.alpha=0.5, trainer.precision=bf16-mixed, logicnlg:evaluation.rows=50"
    add_options(group, "--set", help=f"{settings}; execution.name=value changes speed and no result: {speed}")
    group.add_argument(
        "--trials",
        nargs="+",
        metavar="N",
        help="how many random learning rates to try for each method; the one with the best validation likelihood is "
        "kept. 3,histalign=18 gives a method its own number; trainer.lr=1e-4,1e-3 tries these values instead. May be "
        "followed by steps=1/3, the length of a trial (ties are repeated at full length), rows=5000, its number of "
        "validation rows, and by=rouge-1, the column that decides",
    )
    group.add_argument("--decode", metavar="LIST", help="e.g. greedy,topk=3,nucleus=0.95,beam=4")
    group.add_argument("--config", type=Path, metavar="FILE", help="a YAML file; the command line wins over it")
    group.add_argument(
        "--no-controls",
        action="store_false",
        dest="controls",
        help="leave out the controls that 'all', 'papers' and 'modern' add",
    )
    add_options(group, "--limit")


def how_options(group: argparse._ArgumentGroup) -> None:
    """Add the options that change speed and place. Rarer ones are settings of the section `execution`."""
    group.add_argument(
        "--jobs",
        type=lambda text: AUTO if text == AUTO else positive(text),
        default=AUTO,
        metavar="N",
        help="runs executed at once on this machine; default auto: as many runs of small models as its cores and "
        "memory allow, and one run if the model is larger or there is a GPU",
    )
    group.add_argument("--devices", type=positive, metavar="N", help="processes that share a run")
    group.add_argument(
        "--threads", type=positive, metavar="N", help="CPU threads of a process; 1 in presets small and mid"
    )
    group.add_argument(
        "--micro-batch",
        type=positive,
        metavar="ROWS",
        help="most rows of a micro-batch; default all rows of a step, in one process halved where memory is too small",
    )
    group.add_argument(
        "--keep-checkpoints",
        choices=get_args(KeptCheckpoints),
        help="of runs that are finished and scored: all or none; default all",
    )
    add_options(group, "--data-dir", "--results")
    group.add_argument(
        "--logger",
        action="append",
        dest="loggers",
        metavar="NAMES",
        help="copy curves, scores and samples: wandb, module:Name or file.py:Name (docs/commands.md)",
    )
    group.add_argument(
        "--dry-run", action="store_true", help="show the plan, what is skipped and what it costs; train nothing"
    )
    group.add_argument("--quiet", action="store_true", help="warnings and the table only")
    add_options(group, "--json")


def run(given: argparse.Namespace) -> int:
    """Execute the runs, alone or as one of the processes that torchrun has started; return the exit code."""
    from bench.cells.progress import Progress
    from bench.launch.jobs import launcher_of

    arguments, group = collect(given), current_group()
    if given.trials and arguments.keep_checkpoints != "all":
        raise UsageError(
            "--keep-checkpoints does not go with --trials, which needs the checkpoints of all that was tried to pick "
            "from; leave it out, and delete model-*.safetensors of runs afterwards"
        )
    if group is not None and (arguments.devices > 1 or arguments.jobs not in (1, AUTO)):
        raise UsageError("torchrun has started the processes: leave --devices and --jobs out")
    if group is not None and group.rank:
        return group.follow()
    with nullcontext() if group is None else group.led(), Progress(given.quiet) as progress:
        if given.trials:
            return tune(given, arguments, progress)
        plan = planned(given, arguments, progress)
        if given.dry_run:
            return 0
        outcome = launcher_of(plan, arguments)(progress)
    return ended(plan, outcome, arguments, given.json)


def planned(given: argparse.Namespace, arguments: RunArguments, progress: Progress) -> Plan:
    """Return the plan of a run; `--dry-run` prints it."""
    from bench.cells.plan import make_plan

    plan = make_plan(arguments, progress.say, progress.rows, costs_only=given.dry_run)
    for skip in plan.skips:
        progress.say(f"skipped {skip.task} · {skip.method} · {skip.backbone}: {skip.reason}")
    if given.dry_run:
        show_plan(plan, given)
    plan.refuse_empty()
    return plan


def tune(given: argparse.Namespace, arguments: RunArguments, progress: Progress) -> int:
    """Search for settings, and run what was picked; return the exit code."""
    from bench.cells.search import plan_of_search, read_trials, run_search
    from bench.launch.jobs import launcher_of

    search = read_trials(given.trials)
    if given.dry_run:
        show_plan(plan_of_search(search, arguments, progress), given)
        return 0
    return ended(*run_search(search, arguments, progress, launcher_of), arguments, given.json)


def show_plan(plan: Plan, given: argparse.Namespace) -> None:
    """Print a plan with its costs, for `--dry-run`."""
    from bench.cost import costs_of_plan

    costs = costs_of_plan(plan)
    print(json.dumps(plan_content(plan, costs), indent=1) if given.json else plan_text(plan, costs))


def ended(plan: Plan, outcome: Outcome, arguments: RunArguments, as_json: bool) -> int:
    """Print the tables of a run, or its outcome as JSON; return its exit code, or that of a page not written."""
    code = outcome.exit_code
    if as_json:
        names = ("exit_code", "ok", "stored", "diverged", "failed")
        print(json.dumps({name: getattr(outcome, name) for name in names}, indent=1))
    elif outcome.any_number:
        page_code = show(plan, arguments)
        code = code or page_code
    sys.stdout.flush()
    say_failed(outcome)  # last, where it is seen
    return code


def say_failed(outcome: Outcome) -> None:
    """Print why runs failed, each reason once, with the first run that it ended; the others were named meanwhile."""
    for line in each_once((label, "".join(why.splitlines()[:1])) for label, why in outcome.failed.items()):
        print(one_line(f"bench: failed: {line}"), file=sys.stderr)


def show(plan: Plan, arguments: RunArguments) -> int:
    """Print the tables of the runs, or the reason why there is none, and write the page.

    Returns:
        The exit code of a page that cannot be written, else 0: a run without tables may be all right.
    """
    from bench.board.page import NAME, among, page_of
    from bench.leaderboards.leaderboards import leaderboards_of
    from bench.leaderboards.render.formats import render
    from bench.leaderboards.table import tables
    from bench.store.store import Store

    results = arguments.results_folder
    known = list({id(cell.task): cell.task for cell in plan.cells}.values())
    try:
        leaderboards = leaderboards_of(Store(results), limited=plan.is_limited, full=False)
        of_run = leaderboards.of_tasks({cell.config.task for cell in plan.cells})
        of_run.refuse_empty(results)
        sys.stdout.write(render(of_run, "terminal"))
    except BenchError as error:  # such as a damaged file of another run in the store
        print(f"bench: {error}", file=sys.stderr)
        return 0
    if plan.is_limited and tables(Store(results))[0]:  # the page shows whole runs where there are any
        return 0
    try:
        path = page_of(leaderboards, Store(results), results / NAME, among(known))
    except StoreError as error:
        print(f"bench: {error}", file=sys.stderr)
        return error.exit_code
    sys.stdout.write(f"page with tables and samples: {path}\n")
    return 0


def plan_text(plan: Plan, costs: Sequence[Cost]) -> str:
    """Return a plan and its costs for people."""
    from bench.cells.completion import missing_evaluations
    from bench.cost import cost_text

    lines = [f"preset {plan.preset}"]
    for cell in plan.cells:
        state = "stored" if cell.folder.trained() else "to train"
        n_stored = len(cell.evaluations) - len(missing_evaluations(cell))
        lines.append(f"  {cell.label}  [{cell.key}]  {state}, {n_stored} of {len(cell.evaluations)} evaluations stored")
    lines += [f"  skipped: {s.task} · {s.method} · {s.backbone}: {s.reason}" for s in plan.skips]
    lines += [f"  missing: {line}" for line in missing_inputs(plan)]
    return "\n".join([*lines, *(["", cost_text(costs)] if costs else [])])


def missing_inputs(plan: Plan) -> list[str]:
    """Return what the runs of a plan need and is not on this machine: published data, and weights of models."""
    from bench.cells.completion import missing_evaluations
    from bench.cells.plan import why_without_data
    from bench.pretrained.catalogue import catalogue

    found: dict[str, None] = {}
    for cell in plan.cells:
        if cell.folder.trained() is not None and not missing_evaluations(cell):
            continue
        if plan.preset == PAPER and (reason := why_without_data(cell.task)):
            found[f"data: {cell.config.task} {reason}"] = None
        model = None if cell.method.is_baseline else catalogue().get(cell.config.backbone)
        if model is not None and not model.is_here and not cell.config.backbone_options.get("path"):
            found[f"weights of {model.name}; get them with: {model.get_command}"] = None
    return list(found)


def plan_content(plan: Plan, costs: Sequence[Cost]) -> dict[str, Any]:
    """Return a plan and its costs as plain content."""
    from bench.cost import cost_content

    cells = [
        {
            "key": cell.key,
            "folder": str(cell.folder.path),
            "trained": cell.folder.trained() is not None,
            "config": cell.config.as_dict(),
        }
        for cell in plan.cells
    ]
    skips = [vars(skip) for skip in plan.skips]
    return {
        "preset": plan.preset,
        "cells": cells,
        "skips": skips,
        "missing": missing_inputs(plan),
        "cost": cost_content(costs),
    }
