"""Jobs: how many runs this machine executes at once, where it is asked to find out."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from bench.base.cores import cores
from bench.cells.run import lacks_something
from bench.config.arguments import AUTO, RunArguments, threads_of
from bench.launch.member import membership

if TYPE_CHECKING:
    from bench.cells.plan import Plan

__all__ = ["jobs_of"]

BYTES_PER_PARAMETER = 24
"""Weights, gradients and the optimiser's two moments in 32 bits, and half as much again for copies and activations."""
BYTES_PER_PROCESS = 2**30
"""What a process needs for its libraries, its data and the activations of a small batch."""

CGROUPS = {
    "/sys/fs/cgroup/memory.max": "/sys/fs/cgroup/memory.current",
    "/sys/fs/cgroup/memory/memory.limit_in_bytes": "/sys/fs/cgroup/memory/memory.usage_in_bytes",
}
"""Files of the limit of memory of a container, and of what it uses."""


def jobs_of(plan: Plan, arguments: RunArguments) -> int:
    """Return how many runs of a plan are executed at once on this machine.

    `auto` is as many as its cores and its free memory have room for. It is one where processes share a run, and where
    there is a GPU: to use several, give their number with --jobs.
    """
    if arguments.jobs != AUTO:
        return int(arguments.jobs)
    if arguments.devices > 1 or membership() is not None:
        return 1
    threads = threads_of(plan.preset, arguments) or cores()
    lacking = [cell for cell in plan.cells if lacks_something(cell, arguments.metrics)]
    jobs = min(cores() // threads, len(lacking))
    if jobs <= 1:
        return 1
    import torch

    from bench.cost import costs_of_plan

    if torch.cuda.is_available() or torch.backends.mps.is_available():
        return 1
    costs = costs_of_plan(replace(plan, cells=lacking))
    if any(cost.unknown for cost in costs):  # such as a model that is not here
        return 1
    parameters = max((cost.parameters for cost in costs), default=0)
    return max(1, min(jobs, free_memory() // (BYTES_PER_PARAMETER * parameters + BYTES_PER_PROCESS)))


def free_memory() -> int:
    """Return how many bytes of memory are free on this machine, or in the container that this process is in."""
    free = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    with suppress(OSError, AttributeError):  # only Linux says how much of it is in use
        said = re.search(r"^MemAvailable:\s+(\d+) kB", Path("/proc/meminfo").read_text(), re.MULTILINE)
        free = 1024 * int(said.group(1))  # type: ignore[union-attr]
    for limit, used in CGROUPS.items():
        with suppress(OSError, ValueError):  # no such file, or "max"
            free = min(free, int(Path(limit).read_text()) - int(Path(used).read_text()))
    return max(0, free)
