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

from bench.metrics import METRICS
from bench.metrics.requirements import lacking, words
from bench.tasks import TASKS
from bench.tasks.fetch.sources import cache_folder

REQUIRED = ("torch", "lightning", "torchmetrics", "transformers", "tokenizers", "datasets", "nltk", "rouge_score",
            "sacrebleu", "wandb", "rich", "yaml")  # fmt: skip
OPTIONAL = {"mauve": "pip install 'objective-bench[mauve]'", "spacy": "pip install 'objective-bench[metrics]'"}
BAD_LIGHTNING = ("2.6.2", "2.6.3")

Check = Callable[[], list[tuple[str, str, str]]]
"""Returns (state, what, detail) of each thing looked at."""


def run(given: argparse.Namespace) -> int:
    """Print the findings; return their exit code."""
    text, code = doctor(given.json)
    print(text)
    return code


def doctor(as_json: bool) -> tuple[str, int]:
    """Return the findings and an exit code: 0 when a run can start, 3 when something it needs is missing."""
    checks: list[Callable[[], list[tuple[str, str, str]]]] = [
        python,
        packages,
        device,
        data,
        hub,
        metrics,
        mirror,
        disk,
    ]
    found = [line for check in checks for line in check()]
    code = 3 if any(state == "missing" for state, _, _ in found) else 0
    if as_json:
        return json.dumps([{"state": s, "what": w, "detail": d} for s, w, d in found], indent=1), code
    return "\n".join(f"{state:<9}{what:<26}{detail}" for state, what, detail in found), code


def python() -> list[tuple[str, str, str]]:
    """Check the interpreter."""
    version = ".".join(map(str, sys.version_info[:3]))
    return [("ok" if sys.version_info >= (3, 11) else "missing", "python", f"{version} (3.11 or newer is needed)")]


def packages() -> list[tuple[str, str, str]]:
    """Check required and optional packages."""
    found = []
    for name in REQUIRED:
        there = importlib.util.find_spec(name) is not None
        found.append(
            ("ok" if there else "missing", name, version_of(name) if there else "pip install -c constraints.txt -e .")
        )
    if version_of("lightning") in BAD_LIGHTNING:
        found.append(("missing", "lightning", "this release was compromised; pip install 'lightning>=2.6.4'"))
    for name, how in OPTIONAL.items():
        there = importlib.util.find_spec(name) is not None
        found.append(("ok" if there else "optional", name, version_of(name) if there else how))
    return found


def version_of(module: str) -> str:
    """Return an installed version, or a question mark."""
    names = {"yaml": "pyyaml", "rouge_score": "rouge-score", "mauve": "mauve-text"}
    try:
        return importlib.metadata.version(names.get(module, module))
    except importlib.metadata.PackageNotFoundError:
        return "?"


def device() -> list[tuple[str, str, str]]:
    """Check for a CUDA GPU."""
    if importlib.util.find_spec("torch") is None:
        return []
    import torch

    if torch.cuda.is_available():
        return [("ok", "gpu", f"{torch.cuda.device_count()} x {torch.cuda.get_device_name(0)}; --preset auto is paper")]
    return [("ok", "cpu", f"{os.cpu_count()} cores, no CUDA GPU; --preset auto is small")]


def data() -> list[tuple[str, str, str]]:
    """Check where each task's data would come from."""
    from bench.errors import MissingError
    from bench.tasks.fetch.sources import resolve

    found = []
    for name in TASKS:
        try:
            source = resolve(name)
        except MissingError as error:
            return [("missing", "BENCH_DATA", str(error))]
        found.append(("ok" if source.folder else "sample", f"data {name}", source.why))
    return found


def hub() -> list[tuple[str, str, str]]:
    """Check whether pretrained models can be had."""
    from bench.base.network import hub_reachable

    reachable = hub_reachable()
    return [
        (
            "ok" if reachable else "offline",
            "model hub",
            "reachable"
            if reachable
            else "not reachable: --preset paper needs cached models or --set backbone.path=DIR",
        )
    ]


def metrics() -> list[tuple[str, str, str]]:
    """Check what metrics need beside their rows; nothing is loaded, `bench metric-check` does that."""
    found = []
    for name, metric in METRICS.items():
        if metric.requires:
            lacks = lacking(metric.requires)
            found.append(("optional" if lacks else "ok", f"metric {name}",
                          f"needs {lacks}" if lacks else words(metric.requires)))  # fmt: skip
    return found


def mirror() -> list[tuple[str, str, str]]:
    """Check whether W&B would have a key."""
    keyed = bool(os.environ.get("WANDB_API_KEY")) or (Path.home() / ".netrc").exists()
    mode = os.environ.get("WANDB_MODE", "")
    return [
        (
            "ok" if keyed or mode == "offline" else "optional",
            "wandb",
            mode or ("key found" if keyed else "no key: --wandb needs one, or WANDB_MODE=offline"),
        )
    ]


def disk() -> list[tuple[str, str, str]]:
    """Check free space beside the store and the cache."""
    free = shutil.disk_usage(Path.cwd()).free / 2**30
    return [("ok" if free > 2 else "missing", "disk", f"{free:.0f} GiB free here; cache in {cache_folder()}")]
