"""`bench verify`: whether stored numbers are still what their rows come to; in a kept board, their sums."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from bench.cli_options import cell_folders, positive, rows_options, tasks_of
from bench.errors import DamagedError, UsageError
from bench.store.kept_board import KeptBoard


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `bench verify`."""
    rows_options(parser)
    parser.add_argument(
        "--audit",
        action="store_true",
        dest="makes_models",  # so that the program starts with Lightning
        help="look for more than wrong sums: keys, data, searches, copies; make a little of each cell anew",
    )
    parser.add_argument(
        "--audit-steps", type=positive, metavar="N", help="first steps of each training to replay; default 10"
    )
    parser.add_argument("--audit-rows", type=positive, metavar="N", help="rows of each evaluation; default 64")


def run(given: argparse.Namespace) -> int:
    """Compute every stored number again, from its rows or, in a kept board, its sums; return 0 if all are the same."""
    if given.makes_models:
        return run_audit(given)
    if given.audit_steps or given.audit_rows:
        raise UsageError("--audit-steps and --audit-rows go with --audit")
    from bench.cells.score import cells_of
    from bench.cells.scores_check import checked_scores
    from bench.cells.sums_check import SumsCheck

    tasks = tasks_of(given)
    same, by_rows = 0, False
    unlike: list[str] = []
    kept = SumsCheck()
    for cell in cells_of(cell_folders(given)):
        if isinstance(cell.files, KeptBoard):
            kept.add(cell)
            continue
        by_rows = True
        try:
            n, lines = checked_scores(cell, tasks)
        except DamagedError as error:
            n, lines = 0, [str(error)]
        same += n
        unlike += lines
    found: dict[str, Any] = {"same": same, "differences": [*unlike, *kept.differences]}
    if kept.cells:
        found |= kept.counts()
    if given.json:
        print(json.dumps(found, indent=1))
    else:
        if by_rows:
            print("\n".join([*unlike, f"{same} stored scores are what their rows come to, {len(unlike)} differences"]))
        if kept.cells:
            print("\n".join(kept.lines()))
    return int(bool(found["differences"]))


def run_audit(given: argparse.Namespace) -> int:
    """Print what an audit finds; return 1 if there is an alarm."""
    from bench.audit.audit import audit
    from bench.audit.finding import BLIND, alarms
    from bench.audit.replay import Effort

    effort = Effort(given.audit_steps or Effort.steps, given.audit_rows or Effort.rows)
    looked_at: list[str] = []

    def say(place: str) -> None:
        looked_at.append(place)
        if not given.json and sys.stderr.isatty():
            print(f"audit: {place}", file=sys.stderr)

    findings = list(audit(cell_folders(given), tasks_of(given), effort, say))
    n_alarms = len(list(alarms(findings)))
    if given.json:
        content = {"cells": len(looked_at), "findings": [found.as_dict() for found in findings], "blind": BLIND}
        print(json.dumps(content, indent=1))
    else:
        counts = f"{len(looked_at)} cells audited: {n_alarms} alarms, {len(findings) - n_alarms} questions"
        print("\n".join([*map(str, findings), counts, BLIND]))
    return int(bool(n_alarms))
