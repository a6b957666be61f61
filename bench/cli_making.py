"""Command line of what makes results: run, write, check, perf, new, doctor."""

from __future__ import annotations

import argparse
from pathlib import Path

from bench.cli_options import Command, positive, whole


def _run(run: argparse.ArgumentParser) -> None:
    which = run.add_argument_group("what")
    which.add_argument("--task", action="append", metavar="NAMES", help="names with commas, 'all' or globs")
    which.add_argument("--method", action="append", metavar="NAMES",
                       help="names with commas, 'all', globs, or package.module:Class")  # fmt: skip
    which.add_argument("--seeds", metavar="N,N", help="default 0")
    which.add_argument("--backbone", metavar="NAME", help="name, hub id or folder; default: the task's own")
    which.add_argument("--preset", choices=["auto", "small", "paper"], help="auto: small without a CUDA GPU")
    which.add_argument(
        "--set",
        action="append",
        default=[],
        nargs="+",
        metavar="KEY=VALUE",
        dest="sets",
        help="section.name=value, e.g. method.alpha=0.5, trainer.steps=100, logicnlg:task.eval_rows=50",
    )
    which.add_argument("--grid", action="append", default=[], nargs="+", metavar="KEY=V,V",
                       help="train every combination and keep the best by validation loss, e.g. optim.lr=1e-4,1e-3"
                       )  # fmt: skip
    which.add_argument("--decode", metavar="LIST", help="e.g. greedy,topk=3,nucleus=0.95,beam=4")
    which.add_argument("--precision", metavar="P", help="e.g. bf16-mixed; same as --set trainer.precision=P")
    which.add_argument("--config", type=Path, metavar="FILE", help="a YAML file; the command line wins over it")
    which.add_argument("--no-controls", action="store_false", dest="controls",
                       help="leave out the rows that 'all' adds to explain gains away")  # fmt: skip
    which.add_argument("--limit", type=positive, metavar="N", help="first N rows of each split; for debugging")
    how = run.add_argument_group("how (never changes a result)")
    how.add_argument("--devices", type=positive, default=1, metavar="N", help="processes that share a cell")
    how.add_argument("--accumulate", type=positive, default=1, metavar="N", help="micro-batches of a step")
    how.add_argument(
        "--threads", type=positive, default=0, metavar="N", help="CPU threads of a process; 1 in preset small"
    )
    how.add_argument("--workers", type=whole, default=0, metavar="N", help="processes that prepare batches; default 0")
    how.add_argument("--data-dir", metavar="DIR", help="holds a folder for each task")
    how.add_argument("--on-bad-row", choices=["fail", "skip", "quarantine"], default="fail",
                     help="what becomes of training rows that cannot be used; evaluated splits never skip")  # fmt: skip
    how.add_argument("--results", default="results", metavar="DIR", help="the store; default 'results'")
    how.add_argument("--wandb", action="store_true", help="mirror to Weights & Biases")
    how.add_argument("--wandb-project", default="objective-bench", metavar="NAME")
    how.add_argument("--dry-run", action="store_true", help="show the plan with what is skipped and why")
    how.add_argument("--quiet", action="store_true", help="warnings and the table only")
    how.add_argument("--json", action="store_true", help="machine-readable outcome on stdout")


def _write(command: argparse.ArgumentParser) -> None:
    command.add_argument("cell", metavar="CELL", help="folder of a trained cell, results/<task>/<method>/<key>")
    command.add_argument("--row", metavar="ID", help="a row of the evaluation split")
    command.add_argument("--source", metavar="TEXT", help="a source of your own")
    command.add_argument("--exemplar", action="append", default=[], metavar="TEXT", help="again for each exemplar")
    command.add_argument("--decode", metavar="D", help="e.g. beam=5+length_penalty=1.0; default: the cell's")
    command.add_argument("--data-dir", metavar="DIR", help="holds a folder for each task")
    command.add_argument("--json", action="store_true")


def _perf(command: argparse.ArgumentParser) -> None:
    command.add_argument("--method", action="append", metavar="NAMES", help="default: all")
    sizes = (("batch", 4), ("positions", 256), ("width", 512), ("vocabulary", 30000), ("repeats", 5), ("threads", 1))
    for name, default in sizes:
        command.add_argument(f"--{name}", type=positive, default=default, metavar="N", help=f"default {default}")
    command.add_argument("--layers", type=positive, default=0, metavar="N", help="whole steps of this depth too")
    command.add_argument("--memory", action="store_true", help="peak memory of each form too, in fresh processes")
    command.add_argument("--json", action="store_true")


def _check(command: argparse.ArgumentParser) -> None:
    command.add_argument("methods", nargs="+", metavar="METHOD", help="names, 'all', globs, or package.module:Class")
    command.add_argument("--backbone", action="append", metavar="NAMES", help="default small-causal,small-encdec")
    command.add_argument("--seed", type=whole, default=0, metavar="N", help="of weights; default 0")
    command.add_argument("--set", action="append", default=[], nargs="+", metavar="KEY=VALUE", dest="sets",
                         help="e.g. method.alpha=0.5")  # fmt: skip
    command.add_argument("--quick", action="store_true", help="leave out what starts other processes")
    command.add_argument("--json", action="store_true")


def _new(command: argparse.ArgumentParser) -> None:
    command.add_argument("kind", choices=["method"], metavar="KIND", help="method")
    command.add_argument("name", metavar="NAME", help="lower-case letters, digits and '_'")
    command.add_argument("--folder", type=Path, default=Path(), metavar="DIR",
                         help="where; in a checkout of this project it becomes a built-in")  # fmt: skip


def _doctor(command: argparse.ArgumentParser) -> None:
    command.add_argument("--json", action="store_true")


COMMANDS = {
    "run": Command("train, evaluate and score what is missing", "bench.commands.run:run", _run),
    "write": Command("let a trained cell write for one source", "bench.commands.write:write", _write),
    "perf": Command("time and memory of every method's head and step", "bench.commands.perf:perf", _perf),
    "check": Command("what every objective must keep to, your own too", "bench.commands.check:check", _check),
    "new": Command("begin a method: class, list line and test", "bench.commands.new:new", _new),
    "doctor": Command("what this machine has and lacks", "bench.commands.doctor:run", _doctor),
}
