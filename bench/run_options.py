"""Options of `bench run`, how they are added, and which do not go together."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import get_args

from bench.cli_options import (
    data_dir_option,
    json_option,
    limit_option,
    positive,
    results_option,
    set_option,
)
from bench.config.arguments import AUTO, KEPT_CHECKPOINTS, STRATEGIES, RunArguments
from bench.config.config import OPTIONS, PRESETS
from bench.errors import UsageError
from bench.tasks.files.bad_rows import OnBadRow

TIMED = "timed"
"""The value of `--dry-run` that trains some steps of each run."""

# Adding options ----------------------------------------------------------------------------------------------------


def what_options(group: argparse._ArgumentGroup) -> None:
    """Add the options that are in the keys of results."""
    own = "module:Name or file.py:Name"
    methods = f"names with commas, 'all', 'modern', globs, {own}; default 'papers', those of the papers' tables"
    group.add_argument("--task", action="append", metavar="NAMES", help=f"names with commas, 'all', globs, {own}")
    group.add_argument("--method", action="append", metavar="NAMES", help=methods)
    group.add_argument("--seeds", metavar="N,N", help="default 0")
    group.add_argument(
        "--sampling-seeds",
        metavar="N,N",
        help="seeds that texts are sampled with, by each trained model once; default: the seed of its training",
    )
    group.add_argument("--backbone", metavar="NAME", help=f"name, hub id, folder, {own}; default: the task's own")
    group.add_argument("--metrics", action="append", metavar="NAMES", help="in addition to those of each task")
    group.add_argument(
        "--preset", choices=PRESETS, help="default small; mid fine-tunes a pretrained model; paper: as published"
    )
    set_option(
        group,
        "section.name=value, e.g. method.alpha=0.5, trainer.precision=bf16-mixed, logicnlg:task.eval_rows=50; "
        "execution.name=value changes speed and no result: " + ", ".join(OPTIONS["execution"]),
    )
    group.add_argument(
        "--grid",
        action="append",
        default=[],
        nargs="+",
        metavar="KEY=V,V",
        help="train every combination and keep the one with the best validation likelihood, e.g. optim.lr=1e-4,1e-3",
    )
    trials_option(group)
    group.add_argument("--decode", metavar="LIST", help="e.g. greedy,topk=3,nucleus=0.95,beam=4")
    group.add_argument("--config", type=Path, metavar="FILE", help="a YAML file; the command line wins over it")
    group.add_argument(
        "--no-controls",
        action="store_false",
        dest="controls",
        help="leave out the rows that 'all' adds to explain gains away",
    )
    limit_option(group)


def trials_option(parser: argparse._ActionsContainer) -> None:
    """Add `--trials`, which `bench.cells.search.search` reads."""
    parser.add_argument(
        "--trials",
        nargs="+",
        metavar="N",
        help="try so many learning rates of every method and keep the one with the best validation likelihood; "
        "3,histalign=18,mle=18 gives some methods their own number, lr=1e-4,1e-3 tries the same rates for all; "
        "steps=1/3 behind it makes a trial a third of a training (ties are repeated at full length), rows=5000 scores "
        "it on so many validation rows",
    )


def how_options(group: argparse._ArgumentGroup) -> None:
    """Add the options that change the speed and the place of a run, not its results.

    Those that few runs choose are settings of the section `execution` (`bench.config.execution`).
    """
    group.add_argument(
        "--jobs",
        type=jobs,
        default=AUTO,
        metavar="N",
        help="runs executed at once on this machine; default auto: as many as its cores and memory have room for, and "
        "one where there is a GPU",
    )
    group.add_argument("--devices", type=positive, default=1, metavar="N", help="processes that share a run")
    group.add_argument(
        "--threads", type=positive, default=0, metavar="N", help="CPU threads of a process; 1 in presets small and mid"
    )
    group.add_argument(
        "--micro-batch",
        metavar="ROWS",
        help="most rows of a micro-batch; auto: all rows of a step, in one process halved where memory is too small",
    )
    group.add_argument(
        "--strategy",
        choices=STRATEGIES,
        default="ddp",
        help="each process has the whole model, or a share of weights, gradients and moments; default ddp",
    )
    group.add_argument(
        "--keep-checkpoints",
        choices=KEPT_CHECKPOINTS,
        default="all",
        help="of runs that are finished and scored: all, of those that differ in their seed the best one's, or none",
    )
    data_dir_option(group)
    group.add_argument(
        "--on-bad-row",
        choices=get_args(OnBadRow),
        default="fail",
        help="whether a training row that cannot be used ends the run or is left out; evaluated splits never skip",
    )
    results_option(group)
    group.add_argument(
        "--logger",
        action="append",
        metavar="NAMES",
        help="copy curves, scores and samples: wandb, tensorboard, csv, module:Name or file.py:Name (docs/loggers.md)",
    )
    group.add_argument(
        "--dry-run",
        nargs="?",
        const=True,
        default=False,
        choices=[TIMED],
        help="show the plan, what is skipped and what it costs; timed: seconds and memory of three steps too",
    )
    group.add_argument("--quiet", action="store_true", help="warnings and the table only")
    json_option(group)


def jobs(text: str) -> int | str:
    """Read the value of `--jobs`."""
    return AUTO if text == AUTO else positive(text)


def slurm_option(parser: argparse._ActionsContainer) -> None:
    """Add `--slurm`, which `bench.launch.slurm` reads."""
    parser.add_argument(
        "--slurm",
        action="append",
        nargs="+",
        metavar="KEY=VALUE",
        default=[],
        help="submit the runs to Slurm (docs/cluster.md): options of sbatch without '--', e.g. partition=gpu "
        "time=4:00:00 gpus-per-node=1",
    )


# What does not go together -----------------------------------------------------------------------------------------


def refuse_options(given: argparse.Namespace, arguments: RunArguments) -> None:
    """Refuse options that do not go together.

    Raises:
        UsageError: naming them.
    """
    if given.dry_run == TIMED and (given.slurm or arguments.devices > 1):
        raise UsageError(f"--dry-run {TIMED} trains in this process; leave out --slurm and --devices")
    if given.grid and given.trials:
        raise UsageError("--grid and --trials are two ways to search settings; give one of them")
    if not given.grid and not given.trials:
        return
    option = "--grid" if given.grid else "--trials"
    if given.slurm:
        raise UsageError(f"--slurm does not go with {option}: what is picked depends on what was tried")
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
            f"bench store delete all --checkpoints {kept} --yes"
        )


def refuse_as_member(given: argparse.Namespace, arguments: RunArguments) -> None:
    """Refuse what one of the processes that torchrun has started cannot do.

    Raises:
        UsageError: naming it.
    """
    if arguments.devices > 1 or arguments.jobs not in (1, AUTO) or given.slurm:
        raise UsageError("torchrun has started the processes: leave --devices, --jobs and --slurm out")
