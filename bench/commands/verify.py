"""`bench verify`: whether stored numbers are what their rows come to, and those of kept cells what their sums do."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING, Any

from bench.cli_options import cell_folders, positive, rows_options, tasks_of
from bench.errors import DamagedError, UsageError, each_once
from bench.store.kept_board import KeptBoard

if TYPE_CHECKING:
    from bench.cells.scores_check import CheckedScores


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
    """Compute every stored number again, from its rows or, in a kept board, its sums.

    Returns:
        0 if all are the same, 1 if one differs; where no other is wrong, the code of what could not be checked: 3 for
        want of data or a model.
    """
    if given.makes_models:
        return run_audit(given)
    if given.audit_steps or given.audit_rows:
        raise UsageError("--audit-steps and --audit-rows go with --audit")
    from bench.cells.score import cells_of
    from bench.cells.scores_check import CheckedScores, checked_scores
    from bench.cells.standing import has_only_numbers
    from bench.cells.sums_check import SumsCheck
    from bench.commands.score import exit_code

    tasks, kept, by_rows = tasks_of(given), SumsCheck(), False
    found = CheckedScores()
    for cell in cells_of(cell_folders(given)):
        if isinstance(cell.files, KeptBoard) or has_only_numbers(cell):
            kept.add(cell)
            continue
        by_rows = True
        try:
            checked = checked_scores(cell, tasks)
        except DamagedError as error:
            found.differences.append(str(error))
            continue
        found.same += checked.same
        found.differences += checked.differences
        found.not_checked |= checked.not_checked
    not_checked = [f"{place}: {error}" for place, error in found.not_checked.items()]
    differences = [*found.differences, *kept.differences]
    if given.json:
        content: dict[str, Any] = {"same": found.same, "differences": differences, "not_checked": not_checked}
        if kept.cells:
            content |= kept.counts()
        print(json.dumps(content, indent=1))
    else:
        if by_rows:
            print(text_of(found))
        if kept.cells:
            print("\n".join(kept.lines()))
    if differences:
        return 1
    return exit_code(list(found.not_checked.values()))


def text_of(found: CheckedScores) -> str:
    """Return what was found in cells with rows, for people; a reason that many scores share is said once."""
    counts = f"{found.same} stored scores are what their rows come to, {len(found.differences)} differences"
    if found.not_checked:
        counts += f", {len(found.not_checked)} could not be checked"
    not_checked = [f"not checked: {line}" for line in each_once(found.not_checked.items())]
    return "\n".join([*found.differences, *not_checked, counts])


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
