"""Plan file: what any number of workers do together, as one JSON file. It says all that decides a result, with keys.

nonce       names the queue: a new plan tries failed cells again, the same one does not
folder      where the plan was made; relative paths and own modules are looked up from there
results     the store
arguments   of the run (`RunArguments`), for how a cell is worked on
timing      of the queue
jobs        the cells (`Job`), each behind those it waits for
sha256      of all of it
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.base.files import write_atomic
from bench.base.keys import canonical, sha256
from bench.errors import UsageError
from bench.queue.protocol.job import Job
from bench.queue.protocol.timing import Timing

__all__ = ["COPY", "PlanFile", "open_queue", "read_plan", "write_plan"]

SCHEMA = 2
COPY = "plan.json"
"""The plan in the folder of its queue, for the overview of a queue and against two plans of one nonce."""


@dataclass(frozen=True)
class PlanFile:
    """The content of a plan file."""

    nonce: str
    folder: str
    results: str
    arguments: dict[str, Any]
    timing: Timing
    jobs: tuple[Job, ...]

    @property
    def queue(self) -> Path:
        """The folder of the queue."""
        return Path(self.results) / ".work" / f"queue-{self.nonce}"

    def content(self) -> dict[str, Any]:
        """Return plain content, with its hash."""
        content = {
            "schema": SCHEMA,
            "nonce": self.nonce,
            "folder": self.folder,
            "results": self.results,
            "arguments": self.arguments,
            "timing": self.timing.as_dict(),
            "jobs": [job.as_dict() for job in self.jobs],
        }
        return {**content, "sha256": sha256(canonical(content))}


def write_plan(plan: PlanFile, path: Path) -> None:
    """Write a plan file.

    Raises:
        StoreError: the disk is full or refuses.
    """
    text = json.dumps(plan.content(), indent=1)
    write_atomic(path, text.encode("utf-8", "surrogatepass"), replace=True)


def read_plan(path: Path) -> PlanFile:
    """Read a plan file.

    Raises:
        UsageError: it is not there, of another version, or not what was written.
    """
    try:
        content = json.loads(path.read_bytes().decode("utf-8", "surrogatepass"))
        digest = content.pop("sha256")
        schema = content["schema"]
    except (OSError, ValueError, KeyError, AttributeError, TypeError) as error:
        raise UsageError(f"'{path}' is no plan file ({error}); bench plan FILE makes one") from error
    if schema != SCHEMA:
        raise UsageError(f"'{path}' has schema {schema}, this version reads {SCHEMA}; make the plan again: bench plan")
    if digest != sha256(canonical(content)):
        raise UsageError(f"'{path}' is not as it was written; make the plan again: bench plan")
    return PlanFile(
        nonce=content["nonce"],
        folder=content["folder"],
        results=content["results"],
        arguments=content["arguments"],
        timing=Timing(**content["timing"]),
        jobs=tuple(Job.from_dict(job) for job in content["jobs"]),
    )


def open_queue(plan: PlanFile) -> Path:
    """Return the folder of a plan's queue, made where it is not there.

    Raises:
        UsageError: the queue of this nonce has another plan.
        StoreError: the disk is full or refuses.
    """
    copy = plan.queue / COPY
    if not copy.exists():
        write_plan(plan, copy)
    if read_plan(copy).content()["sha256"] != plan.content()["sha256"]:
        raise UsageError(f"the queue '{plan.queue}' belongs to another plan with the same nonce; make a new plan")
    return plan.queue
