"""`python -m tools.kept_grid`: the kept grid, every trained method on real rows with equal tuning, in slices.

A slice works for `--minutes`, stops behind a step, and keeps what is whole as `leaderboards/runs/grid`; the same
command goes on from the store. `--estimate` trains one cell of each task and says how long all of it takes. Built-in
samples are refused: each task's rows are those of `BENCH_DATA`.

Every method has 3 learning rates, tried with a third of the steps each, on the first seed and 5,000 validation rows.
Those of a method that tie are repeated at full length before one is picked; the estimate does not count them.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.cli import main as bench
from bench.leaderboards.claim.claim_files import read
from bench.store.export import export
from bench.store.store import Store
from tools.paper_rows import TRY_AGAIN, slice_of
from tools.regenerate import RUNS

KEPT = RUNS / "grid"
METHODS = "papers,unigram,bigram,mle.untrained,seq2seq.untrained"
"""Every trained method with its controls, and the trivial ones that gates of claims ask for."""
SEEDS = ("--seeds", "0,1,2")
TUNING = ("--trials", "3", "steps=1/3", "rows=5000")


@dataclass(frozen=True)
class Part:
    """The cells of one task.

    Args:
        task: of ours.
        more: options of its own, such as the one decoding.
        sets: settings of methods that only the whole grid has.
        variants: further methods, such as those as the authors' code has them.
    """

    task: str
    more: tuple[str, ...] = ()
    sets: tuple[str, ...] = ()
    variants: str = ""


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


@dataclass(frozen=True)
class Estimate:
    """How long the cells of a task take on one core.

    Args:
        train_s, evaluation_s: seconds of its MLE cell.
        steps: of that cell's training.
        planned: the steps of each cell that is planned.
    """

    train_s: float
    evaluation_s: float
    steps: int
    planned: tuple[int, ...]

    @property
    def hours(self) -> float:
        """Of all cells, each trained as fast as MLE and evaluated as long.

        >>> Estimate(train_s=30, evaluation_s=6, steps=300, planned=(300, 100)).hours * 3600
        52.0
        """
        of_step = self.train_s / self.steps
        return sum(of_step * steps + self.evaluation_s for steps in self.planned) / 3600


def command(part: Part, results: str, *more: str) -> list[str]:
    """Return what is run for one task."""
    return ["run", "--task", part.task, "--preset", "small", "--results", results, *part.more, *more]


def whole(part: Part, results: str, jobs: int) -> list[str]:
    """Return what makes all cells of a task."""
    methods = METHODS
    if part.variants:
        methods = f"{METHODS},{part.variants}"
    how = ("--jobs", str(jobs), "--set", "execution.state_every=120", "--yes")
    return command(part, results, *part.sets, "--method", methods, *SEEDS, *TUNING, *how)


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


def estimate(part: Part, results: str) -> Estimate:
    """Make the MLE cell of a task in an empty store, and count the cells that are planned."""
    one = command(part, results, "--method", "mle", "--seeds", "0", "--quiet", "--json")
    begun = time.monotonic()
    asked(one)
    seconds = time.monotonic() - begun
    (cell,) = (cell for cell in Store(Path(results)).cells() if cell.path.parts[-3] == part.task)
    record = cell.trained()
    assert record is not None
    train_s = cell.provenance()["wall_s"]
    plan = asked([*whole(part, results, 1), "--dry-run", "--json"])
    planned = tuple(planned["config"]["trainer"]["steps"] for planned in plan["cells"])
    return Estimate(train_s, seconds - train_s, record["train"]["steps"], planned)


def run_slice(part: Part, given: argparse.Namespace, until: float) -> int:
    """Work on a task until a time of the clock; return the exit code, `TRY_AGAIN` where there is more to do."""
    return slice_of(whole(part, given.results, given.jobs), max(1.0, until - time.monotonic()))


def main(arguments: Sequence[str] | None = None) -> int:
    """Do one slice; return 0 when the grid is whole, 75 when the same command goes on, else what went wrong."""
    parser = argparse.ArgumentParser(prog="python -m tools.kept_grid", description=__doc__)
    parser.add_argument("tasks", nargs="*", help=f"default: {', '.join(part.task for part in PARTS)}")
    parser.add_argument("--minutes", type=float, default=90.0, help="of a slice; default 90")
    parser.add_argument("--jobs", type=int, default=2, help="cells at once; default 2")
    parser.add_argument("--results", default="grid", help="the store; default grid")
    parser.add_argument("--estimate", action="store_true", help="say how long it takes, from one cell of each task")
    given = parser.parse_args(arguments)
    if unknown := set(given.tasks) - {part.task for part in PARTS}:
        parser.error(f"no part {', '.join(sorted(unknown))}; there are: {', '.join(part.task for part in PARTS)}")
    parts = [part for part in PARTS if not given.tasks or part.task in given.tasks]
    refuse_samples(parts)
    if given.estimate:
        with tempfile.TemporaryDirectory() as empty:
            for part in parts:
                found = estimate(part, empty)
                print(f"{part.task}: {len(found.planned)} cells, about {found.hours:.1f} hours of one core", flush=True)
        return 0
    code, until = 0, time.monotonic() + 60 * given.minutes
    for part in parts:
        code = run_slice(part, given, until)
        export(Path(given.results), KEPT)
        print(f"{part.task}: {'whole' if not code else f'ended with {code}'}; kept as {KEPT.name}", flush=True)
        if code == TRY_AGAIN:
            print("there is more to do; the same command goes on", flush=True)
        if code:
            break
    return code


if __name__ == "__main__":
    sys.exit(main())
