"""Options of `bench run`, most of which `bench plan` has too: how they are added, and which do not go together."""

from __future__ import annotations

import argparse
from dataclasses import fields
from pathlib import Path

from bench.cli_options import (
    data_dir_option,
    json_option,
    limit_option,
    positive,
    results_option,
    seconds,
    set_option,
    trial_options,
    whole,
)
from bench.config.arguments import KEPT_CHECKPOINTS, STRATEGIES, RunArguments
from bench.config.config import PRESETS
from bench.engines.slurm_script import SlurmOptions
from bench.errors import UsageError

__all__ = [
    "engine_options",
    "how_options",
    "refuse_as_member",
    "refuse_keep_checkpoints",
    "refuse_options",
    "slurm_options",
    "what_options",
]

# Adding options ----------------------------------------------------------------------------------------------------


def what_options(group: argparse._ArgumentGroup) -> None:
    """Add the options that are in the keys of results."""
    own = "module:Name or file.py:Name"
    methods = f"names with commas, 'all', 'modern', globs, {own}; default 'papers', those of the papers' tables"
    group.add_argument("--task", action="append", metavar="NAMES", help=f"names with commas, 'all', globs, {own}")
    group.add_argument("--method", action="append", metavar="NAMES", help=methods)
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
    trial_options(group)
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
    share_options(group)
    memory_options(group)
    speed_options(group)
    time_options(group)
    place_options(group)
    output_options(group)


def share_options(group: argparse._ArgumentGroup) -> None:
    """Add how cells, and the rows of a step, are shared among processes."""
    group.add_argument("--jobs", type=positive, default=1, metavar="N", help="cells worked on at once, here")
    group.add_argument("--devices", type=positive, default=1, metavar="N", help="processes that share a cell")
    group.add_argument("--accumulate", type=positive, default=1, metavar="N", help="micro-batches of a step")


def memory_options(group: argparse._ArgumentGroup) -> None:
    """Add what makes a model fit its device, and its checkpoints the disk."""
    group.add_argument(
        "--micro-batch",
        metavar="ROWS",
        help="most rows of a micro-batch; auto: all rows of a step, halved where memory is too small",
    )
    group.add_argument(
        "--strategy",
        choices=STRATEGIES,
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
        choices=KEPT_CHECKPOINTS,
        default="all",
        help="of cells that are finished and scored: all, of those that differ in their seed the best one's, or none",
    )


def speed_options(group: argparse._ArgumentGroup) -> None:
    """Add how a process computes."""
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


def time_options(group: argparse._ArgumentGroup) -> None:
    """Add what happens after so many seconds."""
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


def place_options(group: argparse._ArgumentGroup) -> None:
    """Add where data comes from, and where results go."""
    data_dir_option(group)
    group.add_argument(
        "--on-bad-row",
        choices=["fail", "skip", "quarantine"],
        default="fail",
        help="what becomes of training rows that cannot be used; evaluated splits never skip",
    )
    results_option(group)
    group.add_argument(
        "--logger",
        action="append",
        metavar="NAMES",
        help="copy curves, scores and samples: wandb, tensorboard, csv, module:Name or file.py:Name (docs/loggers.md)",
    )
    group.add_argument("--log-dir", default="logs", metavar="DIR", help="of loggers that write files; default logs")


def output_options(group: argparse._ArgumentGroup) -> None:
    """Add what is said: of a run, or of its plan alone."""
    group.add_argument("--dry-run", action="store_true", help="show the plan, what is skipped, what it costs")
    group.add_argument("--device", metavar="NAME", help="with --dry-run: what it costs on an h100, a100-40gb, cpu, ...")
    group.add_argument("--memory", metavar="AMOUNT", help="with --dry-run: such as 80GB, in place of the device's")
    group.add_argument("--quiet", action="store_true", help="warnings and the table only")
    json_option(group)


def engine_options(group: argparse._ArgumentGroup) -> None:
    """Add the options that say who starts the workers; those behind `--engine` are None where they were not typed."""
    group.add_argument("--engine", choices=["local", "slurm"], default="local", help="slurm: one array of bench work")
    group.add_argument(
        "--max-workers", type=positive, metavar="N", help=f"workers at once; default {SlurmOptions.max_workers}"
    )
    group.add_argument(
        "--nodes", type=positive, metavar="N", help=f"nodes that share a cell; default {SlurmOptions.nodes}"
    )
    group.add_argument(
        "--gpus", type=whole, metavar="N", help=f"GPUs of a worker on each of its nodes; default {SlurmOptions.gpus}"
    )
    group.add_argument("--cpus", type=positive, metavar="N", help="CPUs of a worker on each of its nodes")
    group.add_argument("--mem", metavar="SIZE", help="memory of a worker on each of its nodes, e.g. 32G")
    group.add_argument("--time", metavar="LIMIT", help="e.g. 4:00:00; a worker that is over it goes on later")
    group.add_argument(
        "--notice", type=positive, metavar="SECONDS", help=f"told ahead of the limit; default {SlurmOptions.notice}"
    )
    group.add_argument("--partition", metavar="NAME", help="of the cluster")
    group.add_argument("--account", metavar="NAME", help="that pays")
    group.add_argument("--qos", metavar="NAME", help="quality of service")
    group.add_argument(
        "--sbatch", action="append", metavar="KEY=VALUE", dest="more", help="another option of sbatch, without '--'"
    )


# What does not go together -----------------------------------------------------------------------------------------


def refuse_options(given: argparse.Namespace, arguments: RunArguments, options: SlurmOptions | None) -> None:
    """Refuse options that do not go together.

    Raises:
        UsageError: naming them.
    """
    if given.device or given.memory:
        if not given.dry_run:
            raise UsageError("--device and --memory go with --dry-run, which states costs; a run takes what is there")
        if options is not None:
            raise UsageError(
                "--device and --memory do not go with --engine slurm, whose --dry-run prints the script; leave "
                "--engine out to see what the cells cost on a device"
            )
    for option in ("trial_steps", "trial_rows"):
        if getattr(given, option) is not None and not given.trials:
            raise UsageError(f"--{option.replace('_', '-')} goes with --trials")
    if given.grid and given.trials:
        raise UsageError("--grid and --trials are two ways to search settings; give one of them")
    if not given.grid and not given.trials:
        return
    option = "--grid" if given.grid else "--trials"
    if options is not None:
        raise UsageError(f"--engine does not go with {option}: what is picked depends on what was tried")
    refuse_keep_checkpoints(arguments, option, "needs the checkpoints of all that was tried to pick from")


def refuse_keep_checkpoints(arguments: RunArguments, what: str, why: str) -> None:
    """Refuse `--keep-checkpoints` where nobody would remove any.

    Args:
        arguments: of the run.
        what: does not go with it.
        why: a verb and what follows it.

    Raises:
        UsageError: saying what removes them instead.
    """
    kept = arguments.keep_checkpoints
    if kept != "all":
        raise UsageError(
            f"--keep-checkpoints does not go with {what}, which {why}; remove them afterwards: "
            f"bench clean --checkpoints {kept} --yes"
        )


def refuse_as_member(arguments: RunArguments, options: SlurmOptions | None) -> None:
    """Refuse what one of the processes that torchrun has started cannot do.

    Raises:
        UsageError: naming it.
    """
    if arguments.devices > 1 or arguments.jobs > 1 or options is not None:
        raise UsageError("torchrun has started the processes: leave --devices, --jobs and --engine out")
    if arguments.cell_timeout:
        raise UsageError(
            "--cell-timeout does not go with torchrun, whose processes nobody could end: leave it out and give "
            "--stall-timeout, or keep it and start the cells by --devices, or by bench plan and bench work"
        )


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
