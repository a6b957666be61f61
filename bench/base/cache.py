"""Cache: the folder of what can be made again at any time."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["cache_root"]


def cache_root() -> Path:
    """Return it: `BENCH_CACHE`, or `~/.cache/objective-bench`."""
    return Path(os.environ.get("BENCH_CACHE", Path.home() / ".cache" / "objective-bench"))
