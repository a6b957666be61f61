"""`python -m tools.paper_rows`: rows at the papers' size for two of their tables, in slices; `make paper-rows`.

A slice works for `--seconds` and then keeps the state of the cell it is at; the same command goes on from there. Slices
of several machines are joined by `bench store join`. With GPT-2's weights (`--weights FOLDER`, or the hub) the rows of
HistAlign's Table 1 are comparable. Without them the same architecture is trained from scratch, which its name says. The
decoder of F2-Softmax's Table 1 is trained from scratch in the paper too; its text is what there is here.
"""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.config.resolve import find_method
from bench.launch.signals import EXIT_CODES
from bench.tasks import find_task

TRY_AGAIN = EXIT_CODES[signal.SIGUSR1]


@dataclass(frozen=True)
class Rows:
    """The cells behind one published table.

    Args:
        table: its address.
        task: of ours.
        methods: as typed after --method.
        seeds: likewise.
        backbone: of the paper.
    """

    table: str
    task: str
    methods: str
    seeds: str
    backbone: str


ROWS = (
    Rows(
        table="histalign/table1",
        task="ambiguous_template",
        methods="mle,trime,trime.released,histalign,histalign.released",
        seeds="0,1,42",
        backbone="gpt2",
    ),
    Rows(
        table="f2softmax/table1",
        task="wikitext103",
        methods="mle,face,ul_token,ul_token_seq,f2softmax",
        seeds="0",
        backbone="f2-decoder",
    ),
)


def command(rows: Rows, given: argparse.Namespace) -> list[str]:
    """Return what is run for one table."""
    words = ["run", "--preset", "paper", "--task", rows.task, "--method", given.method or rows.methods]
    words += ["--seeds", given.seeds or rows.seeds, "--results", given.results, "--no-controls"]
    backbone = rows.backbone
    if backbone == "gpt2" and given.scratch:
        backbone = "gpt2-scratch"
    words += ["--backbone", backbone]
    sets = ["execution.state_every=120", *(text for texts in given.sets for text in texts)]
    if backbone == "gpt2" and given.weights:
        sets.append(f"backbone.path={given.weights}")
    if given.scale != 1:
        sets += scaled(rows.task, given.method or rows.methods, given.scale)
    if sets:
        words += ["--set", *sets]
    return words


def scaled(task: str, methods: str, scale: float) -> list[str]:
    """Return settings for a share of the recipe's steps."""
    recipe = find_task(task).value.recipes["paper"]
    sets = [f"trainer.epochs={recipe['trainer.epochs'] * scale}"]
    if "finetuned:trainer.steps" in recipe and any(
        find_method(name).on(recipe["backbone"]).parent for name in methods.split(",")
    ):
        sets.append(f"finetuned:trainer.steps={max(1, round(recipe['finetuned:trainer.steps'] * scale))}")
    return sets


def slice_of(words: Sequence[str], seconds: float) -> int:
    """Work on cells for so long; return the exit code, `TRY_AGAIN` where there is more to do."""
    process = subprocess.Popen([sys.executable, "-m", "bench", *words])
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGUSR1)
        return process.wait()


def main(arguments: Sequence[str] | None = None) -> int:
    """Do one slice of each table that was asked for, one after another; return the first exit code that is not 0."""
    parser = argparse.ArgumentParser(prog="python -m tools.paper_rows", description=__doc__)
    parser.add_argument("tables", nargs="*", help=f"default: {', '.join(rows.table for rows in ROWS)}")
    parser.add_argument("--weights", default="", help="a folder with GPT-2's weights and tokenizer")
    parser.add_argument("--scratch", action="store_true", help="GPT-2's architecture with random weights")
    parser.add_argument("--seconds", type=float, default=540, help="of a slice of one table; default 540")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the recipe's steps, to try it out")
    parser.add_argument("--method", default="", help="some of the methods")
    parser.add_argument("--seeds", default="", help="some of the seeds, so that machines share a table")
    parser.add_argument("--results", default="paper-rows", help="the store; default paper-rows")
    parser.add_argument("--set", action="append", nargs="+", default=[], dest="sets", metavar="KEY=VALUE")
    given = parser.parse_args(arguments)
    unknown = set(given.tables) - {rows.table for rows in ROWS}
    if unknown:
        there = ", ".join(rows.table for rows in ROWS)
        parser.error(f"no such table as {', '.join(sorted(unknown))}; there are: {there}")
    if given.weights and given.scratch:
        parser.error("--weights and --scratch exclude each other")
    wanted = [rows for rows in ROWS if not given.tables or rows.table in given.tables]
    if given.weights and not Path(given.weights).is_dir():
        parser.error(f"--weights names no folder: '{given.weights}'")
    for rows in wanted:
        code = slice_of(command(rows, given), given.seconds)
        if code == TRY_AGAIN:
            print(f"{rows.table}: there is more to do; the same command goes on", flush=True)
        if code:
            return code
        print(f"{rows.table}: whole; beside the paper: bench report --results {given.results}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
