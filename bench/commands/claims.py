"""`bench claims`: what papers claim, checked on stored cells, with the effect of each seed."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bench.errors import UsageError, did_you_mean
from bench.leaderboards.table import tables
from bench.leaderboards.verdicts import Verdict, claims_of, judge, names
from bench.store import Store


def claims(given: argparse.Namespace) -> int:
    """Judge the claims of a file, after making the cells they need if asked; return the exit code."""
    chosen = [given.name] if given.name else names()
    for name in chosen:
        if name not in names():
            raise UsageError(f"no claims '{name}'{did_you_mean(name, names())}")
    code, found = 0, []
    for name in chosen:
        checks, run = claims_of(name)
        if given.run:
            code = max(code, make_cells(run, given))
        built, _ = tables(Store(Path(given.results)), [run["task"]], "all")
        found += [judge(claim, built, run["task"]) for claim in checks]
    print(json.dumps([content(v) for v in found], indent=1) if given.json else "\n".join(map(text, found)))
    return code


def make_cells(run: dict[str, Any], given: argparse.Namespace) -> int:
    """Run what the claims need; what is stored already is not done again."""
    from bench.commands.run import run as run_cells

    options = {"grid": [], "config": None, "precision": None, "limit": None, "controls": True, "devices": 1,
               "accumulate": 1, "threads": 0, "wandb": False, "wandb_project": "", "dry_run": False, "quiet": False,
               "json": False, "backbone": None, "data_dir": given.data_dir, "results": given.results,
               "sets": given.sets, "preset": "small"}  # fmt: skip
    return run_cells(argparse.Namespace(task=[run["task"]], method=run["methods"], decode=run["decode"],
                                        seeds=",".join(map(str, run["seeds"])), **options))  # fmt: skip


def text(verdict: Verdict) -> str:
    """Return a verdict as two lines."""
    claim = verdict.claim
    if verdict.effect is None:
        return f"{verdict.text}: {claim.says} ({claim.paper})\n    {verdict.why}"
    seeds = ", ".join(f"seed {seed} {value:+.2f}" for seed, value in verdict.by_seed.items())
    wanted = f"within {claim.within:g}" if claim.relation == "near" else (
        f"{claim.factor:g} times" if claim.factor else f"at least {claim.floor:+g}")  # fmt: skip
    control = "" if verdict.explained is None or claim.control is None else (
        f"; {claim.control.method} has {verdict.explained:.0%} of it")  # fmt: skip
    return (f"{verdict.text}: {claim.says} ({claim.paper})\n"
            f"    {claim.column}: {verdict.effect:+.2f} ({seeds}; expected {wanted}){control}")  # fmt: skip


def content(verdict: Verdict) -> dict[str, Any]:
    """Return a verdict as plain content."""
    found = asdict(verdict)
    return {**found, "by_seed": {str(seed): value for seed, value in verdict.by_seed.items()}, "verdict": verdict.text}
