"""Submission: what was handed to Slurm, beside its queue, so that the same command finds it again.

Q/slurm.sh     the script, as it was submitted
Q/slurm.json   `request`: what was asked for; written before the script is submitted
Q/slurm-*.log  what the workers print, a file for each task of the array
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.base.files import write_atomic
from bench.base.keys import canonical, key_of
from bench.base.outward import safe
from bench.cells.cell import Cell
from bench.config.arguments import RunArguments
from bench.engines.slurm_script import LOGS
from bench.errors import UsageError
from bench.queue.plan_file import COPY, PlanFile, open_queue, read_plan
from bench.queue.planned import job_key

__all__ = ["Submission", "find_submission", "last_words", "prepare", "request_of"]

SCRIPT, RECORD = "slurm.sh", "slurm.json"
WORDS = 6
"""Lines of a log that an error repeats."""


@dataclass(frozen=True)
class Submission:
    """A plan that was handed to Slurm.

    Args:
        plan: whose queue it is.
    """

    plan: PlanFile

    @property
    def name(self) -> str:
        """Of the job, by which Slurm is asked for it."""
        return f"bench-{self.plan.nonce}"

    @property
    def script(self) -> Path:
        """As it was submitted."""
        return self.plan.queue / SCRIPT


def request_of(cells: Sequence[Cell], arguments: RunArguments) -> str:
    """Return the name of what was asked for: the same for the same command in the same folder, with the same keys.

    What is stored meanwhile does not change it.
    """
    keys = sorted(job_key(cell) for cell in cells)
    return key_of({"arguments": arguments.as_dict(), "folder": str(Path.cwd()), "cells": keys})


def prepare(plan: PlanFile, script: str, request: str) -> Submission:
    """Write a plan, its script and what was asked for into the folder of its queue.

    Raises:
        StoreError: the disk is full or refuses.
    """
    open_queue(plan)
    found = Submission(plan)
    write_atomic(found.script, script.encode("utf-8", "surrogateescape"))
    write_atomic(plan.queue / RECORD, canonical({"request": request}))
    return found


def find_submission(results: Path, request: str) -> Submission | None:
    """Return what was submitted for a request and not yet reported to anybody, or None.

    Args:
        results: the store.
        request: from `request_of`.
    """
    for record in sorted(results.glob(f".work/queue-*/{RECORD}")):
        try:
            if json.loads(record.read_bytes())["request"] == request:
                return Submission(read_plan(record.with_name(COPY)))
        except (OSError, ValueError, KeyError, TypeError, UsageError):
            continue
    return None


def last_words(submission: Submission) -> str:
    """Return what its workers have printed last, and where."""
    lines = [f"what the workers have printed is in {submission.plan.queue / LOGS}"]
    for log in sorted(submission.plan.queue.glob(LOGS)):
        last = log.read_text(errors="replace").strip().splitlines()[-WORDS:]
        lines += [f"{log.name}: {safe(line)}" for line in last]
    return "\n".join(lines)
