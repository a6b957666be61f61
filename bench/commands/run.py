"""`bench run`: plan, execute, show the table."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.base.outward import write_styled
from bench.cli_options import (
    data_dir_option,
    json_option,
    limit_option,
    positive,
    results_option,
    seconds,
    set_option,
    whole,
)
from bench.config.arguments import AUTO, RunArguments, collect
from bench.config.config import PRESETS
from bench.engines.slurm_script import SlurmOptions
from bench.errors import BenchError, StoreError, UsageError
from bench.processes.member import membership

if TYPE_CHECKING:
    from bench.cells.search.search import Search


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `bench run`: what is run, and how."""
    what_options(parser.add_argument_group("what"))
    how_options(parser.add_argument_group("how (never changes a result)"))
    engine_options(parser.add_argument_group("on a cluster (docs/cluster.md)"))


def what_options(group: argparse._ArgumentGroup) -> None:
    """Add the options that are in the keys of results."""
    own = "module:Name or file.py:Name"
    group.add_argument("--task", action="append", metavar="NAMES", help=f"names with commas, 'all', globs, {own}")
    group.add_argument("--method", action="append", metavar="NAMES", help=f"names with commas, 'all', globs, {own}")
    group.add_argument("--seeds", metavar="N,N", help="default 0")
    group.add_argument("--backbone", metavar="NAME", help=f"name, hub id, folder, {own}; default: the task's own")
    group.add_argument("--metrics", action="append", metavar="NAMES", help="beside those of each task; likewise")
    group.add_argument("--preset", choices=PRESETS, help="default small; paper: as published, on real data")
    set_option(group, "section.name=value, e.g. method.alpha=0.5, trainer.steps=100, logicnlg:task.eval_rows=50")
    group.add_argument(
        "--grid",
        action="append",
        default=[],
        nargs="+",
        metavar="KEY=V,V",
        help="train every combination and keep the best by validation loss, e.g. optim.lr=1e-4,1e-3",
    )
    group.add_argument(
        "--trials",
        metavar="N",
        help="tune every method over its own space with so many trials, the best by validation loss is kept; "
        "3,histalign=18,mle=18 gives some their own number",
    )
    group.add_argument(
        "--trial-steps", metavar="SHARE", help="with --trials: share of a training that a trial is, e.g. 1/3; default 1"
    )
    group.add_argument("--decode", metavar="LIST", help="e.g. greedy,topk=3,nucleus=0.95,beam=4")
    group.add_argument("--precision", metavar="P", help="e.g. bf16-mixed; same as --set trainer.precision=P")
    group.add_argument("--config", type=Path, metavar="FILE", help="a YAML file; the command line wins over it")
    group.add_argument(
        "--no-controls",
        action="store_false",
        dest="controls",
        help="leave out the rows that 'all' adds to explain gains away",
    )
    limit_option(group)


def how_options(group: argparse._ArgumentGroup) -> None:
    """Add the options that change speed and place, not results."""
    group.add_argument("--jobs", type=positive, default=1, metavar="N", help="cells worked on at once, here")
    group.add_argument("--devices", type=positive, default=1, metavar="N", help="processes that share a cell")
    group.add_argument("--accumulate", type=positive, default=1, metavar="N", help="micro-batches of a step")
    group.add_argument(
        "--micro-batch",
        type=micro_batch,
        metavar="ROWS",
        help="most rows of a micro-batch; auto: as many as memory has room for. The batch of a step stays",
    )
    group.add_argument(
        "--strategy",
        choices=["ddp", "fsdp"],
        default="ddp",
        help="each process has the whole model, or a share of weights, gradients and moments; default ddp",
    )
    group.add_argument(
        "--activation-checkpointing",
        action="store_true",
        help="compute activations again in the backward pass: less memory, a second forward pass",
    )
    group.add_argument(
        "--keep-checkpoints",
        choices=["all", "best", "none"],
        default="all",
        help="of cells that are finished and scored: all, of those that differ in their seed the best one's, or none",
    )
    group.add_argument(
        "--threads", type=positive, default=0, metavar="N", help="CPU threads of a process; 1 in preset small"
    )
    group.add_argument(
        "--workers", type=whole, default=0, metavar="N", help="processes that prepare batches; default 0"
    )
    group.add_argument(
        "--compile",
        action="store_true",
        help="compile the body of a model for its training: faster on a GPU after a slow start; last bits of a loss "
        "move, and the record says so",
    )
    group.add_argument(
        "--deterministic",
        action="store_true",
        help="only algorithms that give the same bits each time, where torch has them: slower on a GPU",
    )
    group.add_argument(
        "--state-every",
        type=seconds,
        default=300.0,
        metavar="SECONDS",
        help="keep the state of a training so often, to go on from; 0 for after each step; default 300",
    )
    group.add_argument(
        "--cell-timeout", type=seconds, default=0.0, metavar="SECONDS", help="a cell that takes longer fails"
    )
    group.add_argument(
        "--stall-timeout",
        type=seconds,
        default=0.0,
        metavar="SECONDS",
        help="a cell fails when one of its processes gives no sign of life for so long, also while it reads data; "
        "default with --devices or --jobs: 900, or 10 times the longest silence it came back from",
    )
    data_dir_option(group)
    group.add_argument(
        "--on-bad-row",
        choices=["fail", "skip", "quarantine"],
        default="fail",
        help="what becomes of training rows that cannot be used; evaluated splits never skip",
    )
    results_option(group)
    group.add_argument("--wandb", action="store_true", help="copy to Weights & Biases too")
    group.add_argument("--wandb-project", default="objective-bench", metavar="NAME", help="default objective-bench")
    group.add_argument("--dry-run", action="store_true", help="show the plan, what is skipped, what it costs")
    group.add_argument("--device", metavar="NAME", help="with --dry-run: what it costs on an h100, a100-40gb, cpu, ...")
    group.add_argument("--memory", metavar="AMOUNT", help="with --dry-run: such as 80GB, in place of the device's")
    group.add_argument("--quiet", action="store_true", help="warnings and the table only")
    json_option(group)


def micro_batch(text: str) -> str:
    """Read the rows of a micro-batch: a number from 1, or `auto`.

    Raises:
        argparse.ArgumentTypeError: it is neither.
    """
    if text == AUTO:
        return text
    return str(positive(text))


def engine_options(group: argparse._ArgumentGroup) -> None:
    """Add the options that say who starts the workers; those behind `--engine` are None where they were not typed."""
    group.add_argument("--engine", choices=["local", "slurm"], default="local", help="slurm: one array of bench work")
    group.add_argument("--max-workers", type=positive, metavar="N", help="workers at once; default 4")
    group.add_argument("--nodes", type=positive, metavar="N", help="nodes that share a cell; default 1")
    group.add_argument("--gpus", type=whole, metavar="N", help="GPUs of a worker on each of its nodes; default 0")
    group.add_argument("--cpus", type=positive, metavar="N", help="CPUs of a worker on each of its nodes")
    group.add_argument("--mem", metavar="SIZE", help="memory of a worker on each of its nodes, e.g. 32G")
    group.add_argument("--time", metavar="LIMIT", help="e.g. 4:00:00; a worker that is over it goes on later")
    group.add_argument("--notice", type=positive, metavar="SECONDS", help="told ahead of the limit; default 120")
    group.add_argument("--partition", metavar="NAME", help="of the cluster")
    group.add_argument("--account", metavar="NAME", help="that pays")
    group.add_argument("--qos", metavar="NAME", help="quality of service")
    group.add_argument(
        "--sbatch", action="append", metavar="KEY=VALUE", dest="more", help="another option of sbatch, without '--'"
    )


def run(given: argparse.Namespace) -> int:
    """Run what was asked for, alone or as one of the processes that torchrun has started; return the exit code."""
    arguments = collect(given)
    member = membership()
    if arguments.strategy == "fsdp" and member is None and arguments.devices == 1:
        raise UsageError("--strategy fsdp shares a model among processes: give --devices 2 or more, or use torchrun")
    if member is None:
        return run_here(given, arguments)
    if arguments.devices > 1 or arguments.jobs > 1 or given.engine != "local":
        raise UsageError("torchrun has started the processes: leave --devices, --jobs and --engine out")
    from bench.cells.shared.members import follow

    if member.rank:
        return follow(member)
    with member.leading() as end:
        end.code = run_here(given, arguments)
    return end.code


def run_here(given: argparse.Namespace, arguments: RunArguments) -> int:
    """Run what was asked for; return the exit code."""
    from bench.board.run import executed
    from bench.cells.plan import make_plan
    from bench.cells.progress import Progress

    options = slurm_options(given)
    with Progress(given.quiet) as progress:
        if (given.device or given.memory) and not given.dry_run:
            raise UsageError("--device and --memory go with --dry-run, which states costs; a run takes what is there")
        search = search_of(given)
        if search is not None:
            from bench.cells.search.search import planned_search, run_search

            if given.dry_run:
                print(dry_text(planned_search(search, arguments, progress), arguments, None, given))
                return 0
            return ended(*run_search(search, arguments, progress, executed), arguments, given.json)
        plan = make_plan(arguments, progress.say, progress.rows, costs_only=given.dry_run)
        for skip in plan.skips:
            progress.say(f"skipped {skip.task} · {skip.method} · {skip.backbone}: {skip.reason}")
        if given.dry_run:
            print(dry_text(plan, arguments, options, given))
        if not plan.cells:
            raise UsageError(f"nothing to run: {'; '.join(f'{s.task} · {s.method} {s.reason}' for s in plan.skips)}")
        if given.dry_run:
            return 0
        if options is None:
            outcome = executed(plan, arguments, progress)
        else:
            from bench.engines.run import run_on_slurm

            outcome = run_on_slurm(plan, arguments, options, progress)
    return ended(plan, outcome, arguments, given.json)


def search_of(given: argparse.Namespace) -> Search | None:
    """Return the search over settings that was asked for, or None.

    Raises:
        UsageError: two were asked for, or it goes with options that need all cells beforehand.
    """
    axes = [axis for axes in given.grid for axis in axes]
    if not axes and not given.trials:
        if given.trial_steps is not None:
            raise UsageError("--trial-steps goes with --trials")
        return None
    option = "--grid" if axes else "--trials"
    if axes and (given.trials or given.trial_steps is not None):
        raise UsageError("--grid and --trials are two ways to search settings; give one of them")
    if given.engine != "local":
        raise UsageError(f"--engine does not go with {option}: what is picked depends on what was tried")
    if axes:
        from bench.cells.search.grid import Grid

        return Grid(tuple(axes))
    from bench.cells.search.trials import parse_trials

    return parse_trials(given.trials, given.trial_steps or "1")


def slurm_options(given: argparse.Namespace) -> SlurmOptions | None:
    """Return what workers on Slurm have, or None where the cells are run here.

    Raises:
        UsageError: options do not go together.
    """
    typed = {}
    for field in fields(SlurmOptions):
        value = getattr(given, field.name)
        if value is not None:
            typed[field.name] = value
    if given.engine == "slurm":
        if given.jobs > 1:
            raise UsageError("--jobs is for this machine: say --max-workers for Slurm")
        return SlurmOptions(**{**typed, "more": tuple(typed.get("more", ()))})
    if typed:
        option = next(iter(typed)).replace("_", "-").replace("more", "sbatch")
        raise UsageError(f"--{option} goes with --engine slurm")
    return None


def dry_text(plan: Any, arguments: RunArguments, options: SlurmOptions | None, given: argparse.Namespace) -> str:
    """Return what `--dry-run` says: the plan and what it costs, or the script that Slurm would be given."""
    if options is not None and not given.json:
        from bench.engines.run import script_of

        return script_of(plan, arguments, options).rstrip("\n")
    from bench.config.arguments import threads_of
    from bench.cost.devices import device_asked
    from bench.cost.plan_costs import costs_of_plan
    from bench.cost.text import cost_text

    device = device_asked(given.device, given.memory, threads_of(plan.preset, arguments))
    costs = costs_of_plan(plan, device, arguments.devices, arguments.accumulate)
    if given.json:
        return json.dumps({**plan_content(plan), "cost": costs.content()}, indent=1)
    if not costs.cells:
        return plan_text(plan)
    return f"{plan_text(plan)}\n\n{cost_text(costs)}"


def ended(plan: Any, outcome: Any, arguments: RunArguments, as_json: bool) -> int:
    """Say what became of a run; return its exit code, or that of a page which could not be written."""
    shown = 0
    for label, why in outcome.failed.items():
        print(f"bench: failed: {label}: {''.join(why.splitlines()[:1])}", file=sys.stderr)
    if as_json:
        content = {
            "exit_code": outcome.exit_code,
            "ok": outcome.ok,
            "stored": outcome.stored,
            "diverged": outcome.diverged,
            "failed": outcome.failed,
        }
        print(json.dumps(content, indent=1))
    elif outcome.ok or outcome.stored or outcome.diverged:
        shown = show(plan, arguments)
    return int(outcome.exit_code) or shown


def show(plan: Any, arguments: RunArguments) -> int:
    """Print the tables of what was run, or say why there is none, and write the page.

    Returns:
        The exit code of a page that cannot be written, else 0: a run without tables may be all right.
    """
    from bench.board.read import refuse_empty, stored_leaderboards
    from bench.leaderboards.render.formats import render
    from bench.page import NAME, Known, page_of

    results = arguments.results_folder
    tasks = {cell.config.task for cell in plan.cells}
    limited = any(cell.config.trainer.limit is not None for cell in plan.cells)
    known = list({id(cell.task): cell.task for cell in plan.cells}.values())
    try:
        leaderboards = stored_leaderboards(results, limited=limited)
        of_run = leaderboards.of_tasks(tasks)
        refuse_empty(of_run.tables, of_run.notes, results)
        write_styled(render(of_run, "terminal"))
    except BenchError as error:  # such as a damaged file of another cell in the store
        print(f"bench: {error}", file=sys.stderr)
        return 0
    try:
        path = page_of(leaderboards, results, results / NAME, Known(known))
    except StoreError as error:
        print(f"bench: {error}", file=sys.stderr)
        return error.exit_code
    sys.stdout.write(f"page with curves, samples and signatures: {path}\n")
    return 0


def plan_text(plan: Any) -> str:
    """Return a plan for people."""
    lines = [f"preset {plan.preset}"]
    for cell in plan.cells:
        state = "to train"
        if cell.folder.trained():
            state = "stored"
        rows = sum(cell.folder.has(cell.folder.rows_path(key).name) for key in cell.evaluations)
        lines.append(f"  {cell.label}  [{cell.key}]  {state}, {rows} of {len(cell.evaluations)} evaluations stored")
    lines += [f"  skipped: {s.task} · {s.method} · {s.backbone}: {s.reason}" for s in plan.skips]
    return "\n".join(lines)


def plan_content(plan: Any) -> dict[str, Any]:
    """Return a plan as plain content."""
    cells = [
        {
            "key": cell.key,
            "folder": str(Path(cell.folder.path)),
            "trained": cell.folder.trained() is not None,
            "config": cell.config.as_dict(),
        }
        for cell in plan.cells
    ]
    return {"preset": plan.preset, "cells": cells, "skips": [vars(skip) for skip in plan.skips]}
