"""`python -m tools.kept_grid`: the kept boards, trained on real rows in slices.

A slice works for `--minutes`, stops behind a step, and keeps what is whole below `leaderboards/runs`; the same command
goes on from the store. Built-in samples are refused: each task's rows are those of `BENCH_DATA`.

The board `grid` trains small models from scratch: every method has 3 trials of its learning rate, of a third of the
steps each, on the first seed and 5,000 validation rows. Those that tie are trained whole before one is picked.

The board `mid` fine-tunes a pretrained model (preset `mid`): the rate of each family of methods is picked from 3 whole
trainings of its released variant on the first seed, by the likelihood of 1,000 validation rows. On LogicNLG, where a
training takes longest, all methods have the rate that was picked most often, and HistAlign, whose loss is still falling
after the 65 steps, is left out. Checkpoints of 538 MB are not kept. How often headlines end in a loop is added by
`bench score STORE/gigaword --metrics diversity`, and how much is copied by `bench score STORE --metrics copying`.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.cli import main as bench
from bench.leaderboards.claim.claim_files import read
from bench.store.export import export
from bench.store.store import Store
from tools.paper_rows import TRY_AGAIN, slice_of
from tools.regenerate import RUNS

RATES = ("--trials", "optim.lr=1e-5,2e-5,5e-5", "rows=1000")
"""Whole trainings of each rate."""
MEMORIES = ("mle.cache:trainer.validate_rows=1000", "mle.knn:trainer.validate_rows=1000", "mle.knn:method.keys=10000")
"""The two memories over mle of the board `mid` choose on 1,000 rows and keep 10,000 states. Of all rows they would take
an hour and a half for each seed; mle itself is trained on 2,400 rows."""
METHODS = "papers,unigram,bigram,mle.untrained,seq2seq.untrained"
"""Every trained method with its controls, and the trivial ones that preconditions of claims ask for."""
SEEDS = ("--seeds", "0,1,2")
TUNING = ("--trials", "3", "steps=1/3", "rows=5000")


HOW = ("--set", "execution.state_every=120")


@dataclass(frozen=True)
class Part:
    """The cells of one task.

    Args:
        task: of ours.
        more: options of its own, such as the one decoding.
        sets: settings of methods that only the whole grid has.
        variants: further methods, such as those as the authors' code has them.
        rates: of the board `mid`: methods whose rate is picked, by the first word of their names, and the variant that
            picks it for all others.
    """

    task: str
    more: tuple[str, ...] = ()
    sets: tuple[str, ...] = ()
    variants: str = ""
    rates: Mapping[str, str] = field(default_factory=dict)


TOP_3 = ("--decode", "topk=3+max_new_tokens=64")
UNDER_TOP_3 = ("--set", "mle.penalty:method.under=topk=3")
OF_ADADEC = ("seq2seq", "attexp", "adadec", "adadec_attexp", "adadec.const")
"""After 300 steps of 16 rows these are below the first words of the source, so they are as AdaDec's claims ask."""


def as_claims_of_adadec() -> tuple[str, ...]:
    """Return the settings of the long run of AdaDec's claims, each for its methods alone."""
    run = read("adadec").runs["1,500 steps"]
    found = ["--set"]
    for setting in run.sets:
        if setting.startswith("method."):
            found.append(setting)
        else:
            found += [f"{method}:{setting}" for method in OF_ADADEC]
    return tuple(found)


PARTS = (  # the cheapest first
    Part("ambiguous_template", variants="trime.released,histalign.released"),
    Part("logicnlg"),
    Part("text", TOP_3, UNDER_TOP_3),
    Part("wikitext103", TOP_3, UNDER_TOP_3),
    Part("gigaword", sets=as_claims_of_adadec(), variants="adadec.swapped"),
)
CACHES = {"mle": "mle", "trime": "trime.released", "histalign": "histalign.released"}
FINE_TUNING = ("mle", "ul_token", "scalegrad", "simctg", "tailr.dft", "eaft", "asft", "gem", "label_smoothing")
"""Losses for a pretrained model, which all take as many steps from its weights."""
MID = (
    Part(
        "ambiguous_template",
        sets=MEMORIES,
        variants="mle.untrained,mle,mle.cache,mle.knn,trime,trime.released,histalign,histalign.mean,histalign.released",
        rates=CACHES,
    ),
    Part(
        "gigaword",
        variants=f"lead,mle.untrained,{','.join(FINE_TUNING)},tailr",
        rates={name.partition(".")[0]: name for name in FINE_TUNING},
    ),
    Part(
        "logicnlg",
        sets=("trainer.lr=5e-5",),
        variants=f"lead,mle.untrained,{','.join(FINE_TUNING)}",
    ),
)
BOARDS = {"grid": PARTS, "mid": MID}


def command(part: Part, results: str, preset: str, *more: str) -> list[str]:
    """Return what is run for one task."""
    return ["run", "--task", part.task, "--preset", preset, "--results", results, *part.more, *more]


def whole(part: Part, results: str, jobs: int) -> list[str]:
    """Return what makes all cells of a task."""
    methods = METHODS
    if part.variants:
        methods = f"{METHODS},{part.variants}"
    return command(part, results, "small", *part.sets, "--method", methods, *SEEDS, *TUNING, "--jobs", str(jobs), *HOW)


def asked(words: Sequence[str]) -> Any:
    """Return what a command prints as JSON.

    Raises:
        SystemExit: the command failed.
    """
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        code = bench(words)
    if code:
        sys.exit(f"bench {' '.join(words)} ended with {code}")
    return json.loads(out.getvalue())


def refuse_samples(parts: Sequence[Part]) -> None:
    """End the program where a task has only its built-in rows here."""
    rows = {row["task"]: row["from"] for row in asked(["list", "--data", "--json"])}
    if missing := [part.task for part in parts if rows[part.task].startswith("built-in")]:
        sys.exit(f"expected published rows of {', '.join(missing)}, found the built-in samples; set BENCH_DATA")


def trials(part: Part, results: str, jobs: int) -> list[str]:
    """Return what trains a method of each family of the board `mid` at every rate on the first seed."""
    methods = ("--method", ",".join(part.rates.values()), "--no-controls", "--seeds", "0")
    return command(part, results, "mid", *methods, *RATES, "--jobs", str(jobs), *HOW)


def picked_rates(part: Part, results: str) -> dict[str, float]:
    """Return the picked learning rate of every family whose trials are whole."""
    found = {}
    for family, method in part.rates.items():
        for cell in Store(Path(results)).cells():
            record = cell.trained()
            if cell.contents("grid-*.json") and record is not None and cell.path.parts[-3:-1] == (part.task, method):
                found[family] = record["config"]["trainer"]["lr"]
    return found


def whole_mid(part: Part, results: str, seed: str, jobs: int) -> list[str]:
    """Return what trains all methods of the board `mid` at the picked rates on one seed."""
    sets = [f"{family}:optim.lr={rate}" for family, rate in picked_rates(part, results).items()]
    methods = ("--method", part.variants, "--no-controls", "--seeds", seed, "--keep-checkpoints", "none")
    return command(part, results, "mid", *methods, "--jobs", str(jobs), *HOW, *sets, *part.sets)


def commands(board: str, part: Part, given: argparse.Namespace) -> Iterator[list[str]]:
    """Yield what makes a part of a board, one command after the other."""
    if board == "grid":
        yield whole(part, given.results, given.jobs)
        return
    if part.rates:
        yield trials(part, given.results, given.jobs)
    for seed in SEEDS[1].split(","):
        yield whole_mid(part, given.results, seed, given.jobs)


def run_slice(part: Part, given: argparse.Namespace, until: float) -> int:
    """Work on a task until a time of the clock; return the exit code, `TRY_AGAIN` where there is more to do."""
    for words in commands(given.board, part, given):
        if code := slice_of(words, max(1.0, until - time.monotonic())):
            return code
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Do one slice; return 0 when the grid is whole, 75 when the same command goes on, else what went wrong."""
    parser = argparse.ArgumentParser(prog="python -m tools.kept_grid", description=__doc__)
    parser.add_argument("tasks", nargs="*", help="default: all of the board")
    parser.add_argument("--board", choices=BOARDS, default="grid", help="default grid")
    parser.add_argument("--minutes", type=float, default=90.0, help="of a slice; default 90")
    parser.add_argument("--jobs", type=int, default=2, help="runs at once; default 2")
    parser.add_argument("--results", default="grid", help="the store; default grid")
    given = parser.parse_args(arguments)
    names = [part.task for part in BOARDS[given.board]]
    if unknown := set(given.tasks) - set(names):
        parser.error(f"no part {', '.join(sorted(unknown))}; there are: {', '.join(names)}")
    parts = [part for part in BOARDS[given.board] if not given.tasks or part.task in given.tasks]
    refuse_samples(parts)
    if (RUNS / given.board).is_dir() and not Path(given.results).is_dir():  # another machine made what is kept
        bench(["store", "join", str(RUNS / given.board), given.results])
    code, until = 0, time.monotonic() + 60 * given.minutes
    for part in parts:
        code = run_slice(part, given, until)
        export(Path(given.results), RUNS / given.board)
        print(f"{part.task}: {'whole' if not code else f'ended with {code}'}; kept as {given.board}", flush=True)
        if code == TRY_AGAIN:
            print("there is more to do; the same command goes on", flush=True)
        if code:
            break
    return code


if __name__ == "__main__":
    sys.exit(main())
