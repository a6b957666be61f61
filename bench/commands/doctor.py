"""`bench doctor`: the packages, devices and models of metrics on this machine, and how to get what is missing."""

import argparse
import importlib.metadata
import platform
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from packaging.requirements import Requirement

from bench.base.machine import cache_root, cores
from bench.errors import MissingError
from bench.metrics import METRICS
from bench.metrics.requirements import describe, missing

DISTRIBUTION = "objective-bench"
DEVELOPMENT = ("dev", "docs")
"""Extras that no run uses."""
FREE_GIB = 2
"""Least free space on disk."""


class Finding(NamedTuple):
    """The result of one check.

    Args:
        state: `ok`; `missing`, where a run cannot start; or why something that not every run needs is not there.
        what: the name of what was checked.
        detail: its version or place, or what to do about it.
    """

    state: str
    what: str
    detail: str


def options(parser: argparse.ArgumentParser) -> None:
    """`bench doctor` has no options."""


def run(given: argparse.Namespace) -> int:
    """Print the findings; return 0 when a run can start, 3 when something it needs is missing."""
    found = Finding("ok", "python", f"{platform.python_version()} (3.11 or newer is needed)")
    findings = [found, *packages(), *device(), *metrics(), *disk()]
    for finding in findings:
        print(f"{finding.state:<9}{finding.what:<26}{finding.detail}")
    print("the data of tasks: bench list --data; models of backbones and metrics: bench models list")
    if any(finding.state == "missing" for finding in findings):
        return MissingError.exit_code
    return 0


def packages() -> Iterator[Finding]:
    """Check the packages that are required, then those of each extra, as the installed distribution declares them."""
    try:
        wanted = list(map(Requirement, importlib.metadata.requires(DISTRIBUTION) or []))
    except importlib.metadata.PackageNotFoundError:
        yield Finding("missing", DISTRIBUTION, "pip install -c constraints.txt -e .")
        return
    for needed in wanted:
        if needed.marker is None or needed.marker.evaluate({"extra": ""}):
            yield package(needed, "missing", f"pip install '{needed}'")
    for extra in importlib.metadata.metadata(DISTRIBUTION).get_all("Provides-Extra", []):
        for needed in wanted:
            is_of_extra = needed.marker is not None and needed.marker.evaluate({"extra": extra})
            if is_of_extra and extra not in DEVELOPMENT:
                yield package(needed, "optional", f"pip install '{DISTRIBUTION}[{extra}]'")


def package(needed: Requirement, state: str, how: str) -> Finding:
    """Check one package.

    Args:
        needed: its name and the versions that will do.
        state: of a machine that does not have it.
        how: to install it.
    """
    try:
        version = importlib.metadata.version(needed.name)
    except importlib.metadata.PackageNotFoundError:
        return Finding(state, needed.name, how)
    if not needed.specifier.contains(version, prereleases=True):
        return Finding(state, needed.name, f"{version} is installed, {needed.specifier} is required; {how}")
    return Finding("ok", needed.name, version)


def device() -> Iterator[Finding]:
    """Look for a CUDA GPU."""
    try:
        import torch
    except ModuleNotFoundError:  # `packages` has named it
        return
    if torch.cuda.is_available():
        yield Finding("ok", "gpu", f"{torch.cuda.device_count()} x {torch.cuda.get_device_name(0)}")
    else:
        yield Finding("ok", "cpu", f"{cores()} cores, no CUDA GPU")


def metrics() -> Iterator[Finding]:
    """Check the models and packages that metrics need; nothing is loaded, which `bench check` does."""
    for name, metric in METRICS.items():
        if needed := missing(metric.requires):
            yield Finding("optional", f"metric {name}", f"needs {needed}")
        elif metric.requires:
            yield Finding("ok", f"metric {name}", describe(metric.requires))


def disk() -> Iterator[Finding]:
    """Check the free space on the disk of the current folder."""
    free = shutil.disk_usage(Path.cwd()).free / 2**30
    yield Finding("ok" if free > FREE_GIB else "missing", "disk", f"{free:.0f} GiB free here; cache in {cache_root()}")
