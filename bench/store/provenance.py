"""Provenance: versions, code, host and time when a file was made; stored with its content, and in no hash."""

import hashlib
import importlib.metadata
import os
import platform
import resource
import subprocess
import sys
import time
from functools import lru_cache
from pathlib import Path
from typing import Any

from bench.base.version import __version__

PACKAGES = ("torch", "lightning", "torchmetrics", "transformers", "tokenizers", "datasets", "numpy", "nltk", "peft")


def provenance(started: float | None = None) -> dict[str, Any]:
    """Return versions, code state, host and time.

    Args:
        started: `time.monotonic()` of the start, for the wall time in seconds.

    Only named things are recorded, never the environment: it may hold keys.
    """
    return {
        "bench": __version__,
        "code": code_state(),
        "environment": environment(),
        "host": hashlib.sha256(platform.node().encode()).hexdigest()[:8],
        "written": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "wall_s": None if started is None else round(time.monotonic() - started, 2),
        "peak_memory_mb": peak_memory(),
    }


def peak_memory() -> dict[str, int]:
    """Return the peak of this process so far in megabytes, on the host and, if torch has used one, on the GPU."""
    unit = 2**20 if sys.platform == "darwin" else 2**10  # of ru_maxrss: bytes there, kibibytes on Linux
    peaks = {"host": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // unit}
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        peaks["gpu"] = torch.cuda.max_memory_allocated() // 2**20
    return peaks


@lru_cache(maxsize=1)
def versions() -> dict[str, str | None]:
    """Return the version of each of `PACKAGES`, None where it is not installed."""
    found: dict[str, str | None] = {}
    for name in PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = None
    return found


def environment() -> dict[str, Any]:
    """Return interpreter, package versions and the devices torch sees (if torch is loaded) with its settings now."""
    facts: dict[str, Any] = {"python": platform.python_version(), "platform": platform.machine(), **versions()}
    torch = sys.modules.get("torch")
    if torch is not None:
        facts["threads"] = torch.get_num_threads()
        facts["gpu"] = torch.cuda.get_device_name(0) if torch.cuda.is_available() else None
        facts["cuda"] = torch.version.cuda
        facts["deterministic"] = torch.are_deterministic_algorithms_enabled()
        facts["tf32"] = torch.backends.cuda.matmul.allow_tf32
    return facts


@lru_cache(maxsize=1)
def code_state() -> dict[str, Any]:
    """Return the commit of a checkout and whether its files differ from it; without git the commit is None."""
    root = Path(__file__).resolve().parents[2]
    commit = _git(root, "rev-parse", "HEAD")
    if not commit or not (root / "pyproject.toml").exists():
        return {"commit": None}
    return {"commit": commit, "dirty": bool(_git(root, "status", "--porcelain"))}


def _git(root: Path, *arguments: str) -> str | None:
    """Return the output of git, or None where there is no git or no repository."""
    command, variables = ["git", "-C", str(root), *arguments], {**os.environ, "LC_ALL": "C"}
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True, env=variables)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
