"""Compare training objectives for text generation: every objective, every task, one metric layer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bench.base.version import __version__

if TYPE_CHECKING:
    from bench.cells.make import make

__all__ = ["__version__", "make"]


def __getattr__(name: str) -> Any:
    """Import what is heavy when it is first asked for."""
    if name == "make":
        from bench.cells.make import make

        return make
    raise AttributeError(f"module 'bench' has no attribute '{name}'")
