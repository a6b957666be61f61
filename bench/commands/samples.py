"""`bench samples`: the texts that methods generated for the same rows, side by side, the most different first."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bench.base.registry import all_names, split_names, unknown
from bench.cli_options import (
    METHOD,
    data_options,
    positive,
    results_option,
    say_damaged,
    stored_names,
    task_names,
    tasks_of,
)
from bench.errors import MissingError, UsageError, did_you_mean
from bench.leaderboards.published.papers import sample_plans, tables_by_address
from bench.models import METHODS
from bench.store.store import Store

if TYPE_CHECKING:
    from bench.board.samples import Held
    from bench.leaderboards.published.paper_files import SamplePlan


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `bench samples`."""
    parser.add_argument("plan", nargs="?", metavar="PAPER/TABLE", help="a paper's table of samples")
    parser.add_argument("--task", metavar="NAME", help="of this task; default that of the table, or any")
    parser.add_argument("--methods", action="append", metavar="NAMES", help="names with commas; default all there are")
    parser.add_argument("--decoding", metavar="D", help="e.g. greedy; default the one that most methods have")
    parser.add_argument("--n", type=positive, default=5, metavar="N", help="rows to show; default 5")
    parser.add_argument("--row", metavar="ID", help="this row only")
    parser.add_argument("--source", metavar="TEXT", help="let the stored models generate for this text instead")
    parser.add_argument("--format", default="terminal", choices=["terminal", "markdown"], help="default terminal")
    results_option(parser)
    data_options(parser)


def run(given: argparse.Namespace) -> int:
    """Print them; return 0, or 1 where files are damaged."""
    from bench.board.samples import MODES, holding, picked, read, side_by_side
    from bench.leaderboards.samples import in_markdown, shown

    render = in_markdown if given.format == "markdown" else shown
    plan = plan_of(given.plan) if given.plan else None
    store = Store(Path(given.results))
    methods = [method_name(name, store) for name in split_names(given.methods) or (plan.methods if plan else ())]
    tasks = task_names([given.task or (plan.task if plan else "all")], store)
    decoding, modes = given.decoding or (plan.decoding if plan else ""), plan.modes if plan else ()
    stored_decoding = decoding if given.source is None else ""
    held = [rows for rows in holding(store, tasks) if rows.fits(methods, stored_decoding, modes)]
    side, notes = side_by_side(held)
    if not side:
        say_damaged(store)
        raise MissingError(how_to(given.results, plan, tasks, methods, decoding))
    headings = heading(side, plan)
    notes = [f"no texts of {name} in '{given.results}'" for name in methods if name not in side] + notes
    if given.source is not None:
        from bench.own_source import sample_of

        samples, reasons = sample_of(given.source, side, decoding, given.data_dir)
        sys.stdout.write(render(headings, samples, [*notes, *reasons]))
        return 0 if samples else MissingError.exit_code
    samples, unread = read(store, side, tasks_of(given).of, modes or MODES)
    samples, remarks = picked(samples, given.n, given.row, plan.prompts if plan else ())
    sys.stdout.write(render([*headings, *remarks], samples, [*notes, *unread]))
    return say_damaged(store)


def method_name(asked: str, store: Store) -> str:
    """Return the name that a method is stored under: built in, of one that the store has, or as its class says it.

    Raises:
        UsageError: there is no such method, here or in the store.
    """
    built_in, stored = all_names(METHODS), stored_names(store, METHOD)
    if asked in built_in or asked in stored:
        return asked
    if ":" in asked:
        from bench.config.resolve import find_method

        return find_method(asked).name
    raise unknown(asked, [*built_in, *stored], "method")


def plan_of(address: str) -> SamplePlan:
    """Return the settings of a paper's table of samples.

    Raises:
        UsageError: there is none of this address.
    """
    plans, name = sample_plans(), address.lower()
    if name in plans:
        return plans[name]
    if name in tables_by_address():
        raise UsageError(f"'{name}' is a table of numbers; bench reproduce {name} shows ours")
    raise UsageError(f"no table of samples '{address}'{did_you_mean(name, plans)}")


def how_to(
    results: str, plan: SamplePlan | None, tasks: Sequence[str] | None, methods: Sequence[str], decoding: str
) -> str:
    """Say that there is nothing to show, and how to make it."""
    typed = f"--task {','.join(tasks or ['logicnlg'])} --method {','.join(methods) or 'all'}"
    typed += f" --decode {decoding}" if decoding else ""
    purpose = f" for '{plan.title}'" if plan else ""
    return f"no texts in '{results}'{purpose}; bench run {typed} makes some"


def heading(side: Mapping[str, Held], plan: SamplePlan | None) -> list[str]:
    """Return headings with the settings of our texts and of the paper's table."""
    first = next(iter(side.values()))
    task, preset, split, _, _, seed, decoding = first.group
    settings = [task, f"{split} split", f"preset {preset}", f"seed {seed}", decoding]
    lines = [" · ".join(filter(None, settings))]
    if plan is not None:
        paper = f"the paper: {plan.title}; {', '.join(plan.methods)} on {plan.backbone}"
        if plan.decoding:
            paper += f", {plan.decoding}"
        lines += [paper, f"its prompts: {'; '.join(plan.prompts)}"]
    return lines
