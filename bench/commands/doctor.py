"""`bench doctor`: what this machine has and lacks, and what to do about it."""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from bench.base.cores import cores
from bench.cli_options import json_option
from bench.errors import MissingError
from bench.metrics import METRICS
from bench.metrics.requirements import describe, missing
from bench.tasks import TASKS
from bench.tasks.fetch.sources import cache_folder

REQUIRED = (
    "torch",
    "lightning",
    "torchmetrics",
    "transformers",
    "tokenizers",
    "datasets",
    "nltk",
    "rouge_score",
    "sacrebleu",
    "wandb",
    "rich",
    "yaml",
)
OPTIONAL = {
    "mauve": "pip install 'objective-bench[mauve]'",
    "spacy": "pip install 'objective-bench[metrics]'",
    "peft": "pip install 'objective-bench[lora]'",
    "submitit": "pip install 'objective-bench[integrations]'",
    "matplotlib": "pip install 'objective-bench[pictures]'",
    "tensorboard": "pip install tensorboard",
}
DISTRIBUTIONS = {"yaml": "pyyaml", "rouge_score": "rouge-score", "mauve": "mauve-text"}
"""Names to install by, where they differ from the name of the module."""

TRIED = {
    "torch": "2.13.0",
    "lightning": "2.6.6",
    "torchmetrics": "1.9.0",
    "transformers": "5.24.0",
    "tokenizers": "0.23.3",
    "datasets": "5.2.0",
    "sacrebleu": "2.6.0",
    "wandb": "0.31.0",
}
"""Newest versions that the tests ran with. constraints.txt has them too, and those of everything else."""

BAD_LIGHTNING = ("2.6.2", "2.6.3")
FREE_GIB = 2
"""Least free space on disk."""


class Finding(NamedTuple):
    """One thing looked at.

    Args:
        state: `ok`, `missing` (a run cannot start), or a word for what can be done without.
        what: its name.
        detail: what it is, or what to do about it.
    """

    state: str
    what: str
    detail: str


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `bench doctor`."""
    json_option(parser)


def run(given: argparse.Namespace) -> int:
    """Print the findings; return 0 when a run can start, 3 when something it needs is missing."""
    checks: list[Callable[[], list[Finding]]] = [python, packages, device, data, hub, metrics, wandb_key, disk]
    findings = [finding for check in checks for finding in check()]
    if given.json:
        print(json.dumps([finding._asdict() for finding in findings], indent=1))
    else:
        for finding in findings:
            print(f"{finding.state:<9}{finding.what:<26}{finding.detail}")
    if any(finding.state == "missing" for finding in findings):
        return MissingError.exit_code
    return 0


def python() -> list[Finding]:
    """Check the interpreter."""
    version = ".".join(map(str, sys.version_info[:3]))
    return [Finding("ok", "python", f"{version} (3.11 or newer is needed)")]


def packages() -> list[Finding]:
    """Check required and optional packages."""
    findings = [package(name, "missing", "pip install -c constraints.txt -e .") for name in REQUIRED]
    if version_of("lightning") in BAD_LIGHTNING:
        detail = "this release was compromised; pip install 'lightning>=2.6.4'"
        findings.append(Finding("missing", "lightning", detail))
    findings += [package(name, "optional", how) for name, how in OPTIONAL.items()]
    return findings


def package(name: str, state: str, how: str) -> Finding:
    """Check one package: its version, or the state of a machine without it and how to install it."""
    if importlib.util.find_spec(name) is None:
        return Finding(state, name, how)
    version = version_of(name)
    if name in TRIED and version != "?" and _release(version) > _release(TRIED[name]):
        back = f"pip install '{name}=={TRIED[name]}'"
        return Finding("untried", name, f"{version} is newer than any that the tests ran with; if a run fails, {back}")
    return Finding("ok", name, version)


def _release(version: str) -> tuple[int, ...]:
    """Return the numbers of a version, without what names a build: `2.13.0+cpu` is no newer than `2.13.0`."""
    from packaging.version import Version

    return Version(version).release


def version_of(module: str) -> str:
    """Return an installed version, or a question mark."""
    try:
        return importlib.metadata.version(DISTRIBUTIONS.get(module, module))
    except importlib.metadata.PackageNotFoundError:
        return "?"


def device() -> list[Finding]:
    """Check for a CUDA GPU."""
    if importlib.util.find_spec("torch") is None:
        return []
    import torch

    if torch.cuda.is_available():
        name = f"{torch.cuda.device_count()} x {torch.cuda.get_device_name(0)}"
        return [Finding("ok", "gpu", name)]
    return [Finding("ok", "cpu", f"{cores()} cores, no CUDA GPU")]


def data() -> list[Finding]:
    """Check where each task's data would come from."""
    from bench.tasks.fetch.sources import resolve

    findings = []
    for name in TASKS:
        try:
            source = resolve(name)
        except MissingError as error:
            return [Finding("missing", "BENCH_DATA", str(error))]
        state = "sample"
        if source.folder:
            state = "ok"
        findings.append(Finding(state, f"data {name}", source.why))
    return findings


def hub() -> list[Finding]:
    """Check whether pretrained models can be had."""
    from bench.base.network import hub_reachable

    if hub_reachable():
        return [Finding("ok", "model hub", "reachable")]
    detail = "not reachable: --preset paper needs cached models (bench models list) or --set backbone.path=DIR"
    return [Finding("offline", "model hub", detail)]


def metrics() -> list[Finding]:
    """Check what metrics need beside their rows; nothing is loaded, `bench check` does that."""
    findings = []
    for name, metric in METRICS.items():
        if not metric.requires:
            continue
        if lacks := missing(metric.requires):
            findings.append(Finding("optional", f"metric {name}", f"needs {lacks}"))
        else:
            findings.append(Finding("ok", f"metric {name}", describe(metric.requires)))
    return findings


def wandb_key() -> list[Finding]:
    """Check whether W&B would have a key."""
    has_key = bool(os.environ.get("WANDB_API_KEY")) or (Path.home() / ".netrc").exists()
    mode = os.environ.get("WANDB_MODE", "")
    state, detail = "optional", "no key: --logger wandb needs one, or WANDB_MODE=offline"
    if has_key:
        state, detail = "ok", "key found"
    if mode == "offline":
        state = "ok"
    return [Finding(state, "wandb", mode or detail)]


def disk() -> list[Finding]:
    """Check free space beside the store and the cache."""
    free = shutil.disk_usage(Path.cwd()).free / 2**30
    state = "missing"
    if free > FREE_GIB:
        state = "ok"
    return [Finding(state, "disk", f"{free:.0f} GiB free here; cache in {cache_folder()}")]
