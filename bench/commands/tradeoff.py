"""`bench tradeoff`: what training with an objective buys that decoding does not; `--run` evaluates stored cells first.

bench run --task text --method mle,mle.continued,face,ul_token --seeds 0,1,2
bench tradeoff --run
bench tradeoff
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bench.cli_options import METHOD, TASK, json_option, positive, results_option, say_damaged, yes_option
from bench.errors import MissingError, UsageError
from bench.leaderboards.controls import rivals_of_decoders, trained_as_long
from bench.leaderboards.quality_diversity.decoders import SETTINGS, WHOLE, asked
from bench.leaderboards.table import tables
from bench.processes.process import run_program
from bench.store.store import Store

if TYPE_CHECKING:
    from bench.models.baselines import Baseline
    from bench.models.core.objective import Objective

METRIC = "sample_perplexity"
"""The family of the quality column, which tasks do not ask for by themselves."""
PASSES = 1.4
"""Times that a model reads for a token, on average over all settings: contrastive search reads its candidates."""
TOKENS_A_SECOND = 2500
"""That a model of the small preset reads on one core, with the scoring of its texts."""


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `bench tradeoff`."""
    results_option(parser)
    parser.add_argument("--task", default="text", metavar="NAME", help="an open-ended task; default text")
    parser.add_argument("--run", action="store_true", help="let stored cells write under every decoder first")
    parser.add_argument("--dry-run", action="store_true", help="with --run: show the command and its hours, do nothing")
    parser.add_argument(
        "--seeds", default="0,1,2", metavar="N,N", help="with --run: of the stored cells; default 0,1,2"
    )
    parser.add_argument(
        "--rows", type=positive, default=200, metavar="N", help="with --run: texts a setting; default 200"
    )
    parser.add_argument(
        "--max-new-tokens", type=positive, default=64, metavar="N", help="with --run: of a text; default 64"
    )
    yes_option(parser)
    parser.add_argument("--svg", type=Path, metavar="FILE", help="draw the fronts there")
    json_option(parser)
    parser.add_argument(
        "more",
        nargs="*",
        metavar="-- OPTIONS",
        help="with --run: options of the bench run that trained the cells, such as -- --trials 3 --jobs 2",
    )


def run(given: argparse.Namespace) -> int:
    """Print the section; return 0, or 1 where cells could not be evaluated or read."""
    from bench.leaderboards.quality_diversity.content import content
    from bench.leaderboards.quality_diversity.report import report
    from bench.leaderboards.quality_diversity.section import sections
    from bench.leaderboards.render.text.terminal_markdown import for_stdout

    if not given.run and (given.more or given.dry_run):
        raise UsageError("--dry-run and options behind -- are for --run")
    code = 0
    if given.run:
        code = evaluate(given)
        if given.dry_run:
            return code
    store = Store(Path(given.results))
    found = sections(tables(store, [given.task], "all")[0])
    if given.svg is not None:
        from bench.board.front_drawing import draw_fronts

        draw_fronts(found).save(given.svg)
    if given.json:
        print(json.dumps(content(found), indent=1))
    else:
        print(for_stdout(report(found)))
    return max(code, say_damaged(store))


def evaluate(given: argparse.Namespace) -> int:
    """Run `bench run` on the stored cells with every setting; return its exit code."""
    methods = stored_methods(Path(given.results), given.task)
    commands = [arguments(given, alike, typed) for typed, alike in by_typed(methods).items()]
    n_cells = len(methods) * len(given.seeds.split(","))
    n_tokens = n_cells * len(SETTINGS) * given.rows * given.max_new_tokens
    hours = PASSES * n_tokens / TOKENS_A_SECOND / 3600
    say(f"{n_cells} cells, {len(SETTINGS)} settings, {given.rows} texts: about {hours:.1f} hours of one core")
    for command in commands:
        say(f"bench {' '.join(command)}")
    if given.dry_run:
        return 0
    if not given.yes:
        from bench.cells.plan_checks import confirm_number
        from bench.cells.progress import Progress

        with Progress() as progress:
            confirm_number(n_cells, progress)
    before = n_trained(Path(given.results))
    code = 0
    for command in commands:
        code = code or abs(run_program("bench", *command, output=sys.stderr).returncode)
    if trained := n_trained(Path(given.results)) - before:
        say(f"{trained} cells were trained: type the options of the run that made the store behind --")
    return code


def stored_methods(results: Path, task: str) -> list[str]:
    """Return the objectives that the store has of a task, behind their baselines.

    Raises:
        MissingError: there is none.
    """
    stored = {cell.path.parts[METHOD] for cell in Store(results).cells() if cell.path.parts[TASK] == task}
    methods: dict[str, None] = {}
    for objective in rivals_of_decoders():
        baseline = trained_as_long(objective)
        if {objective, baseline} <= stored:
            methods |= dict.fromkeys(["mle", baseline, objective])
    if not methods:
        raise MissingError(
            f"'{results}' has no objective of {task} that a decoder might replace, with its baseline; first: bench run "
            f"--task {task} --method mle,mle.continued,{','.join(rivals_of_decoders())} --seeds 0,1,2"
        )
    return list(methods)


def by_typed(methods: Sequence[str]) -> dict[tuple[str, ...], list[str]]:
    """Return methods by what is typed for the settings: one command each.

    Where a method's own distribution has no such cut, as F2-Softmax's has none for min-p, it writes by its whole one.
    """
    from bench.config.resolve import find_method

    found: dict[tuple[str, ...], list[str]] = {}
    for method in methods:
        kind = find_method(method).kind
        typed = tuple(setting if decodes(kind, setting) else WHOLE + setting for setting in SETTINGS)
        found.setdefault(typed, []).append(method)
    return found


def decodes(kind: type[Objective] | type[Baseline], setting: str) -> bool:
    """Return whether a method's own distribution has a setting."""
    from bench.config.decoding import parse
    from bench.models.core.objective import Objective

    if not issubclass(kind, Objective):
        return True
    try:
        kind.resolved(parse(setting)[0])
    except UsageError:
        return False
    return True


def arguments(given: argparse.Namespace, methods: Sequence[str], typed: Sequence[str]) -> list[str]:
    """Return the command line of the evaluation of methods that have the same typed settings."""
    return [
        "run",
        *("--task", given.task),
        *("--method", ",".join(methods)),
        *("--seeds", given.seeds),
        *("--decode", asked(given.max_new_tokens, typed)),
        *("--metrics", METRIC),
        *("--set", f"task.eval_rows={given.rows}"),
        *("--results", given.results),
        "--yes",  # cells and hours were said
        *given.more,
    ]


def n_trained(results: Path) -> int:
    """Return how many trained cells a store has."""
    return sum(cell.has("trained.json") for cell in Store(results).cells())


def say(text: str) -> None:
    """Tell the person who waits."""
    print(f"bench: {text}", file=sys.stderr)
