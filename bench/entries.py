"""Entries: light table rows that name what there is, so that `bench list` imports nothing heavy."""

from __future__ import annotations

import fnmatch
import importlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from bench.errors import MissingError, UsageError, did_you_mean


@dataclass(frozen=True)
class Entry:
    """One method, task, backbone or metric: where its class is, and one line about it.

    Args:
        target: `package.module:Name`, imported only when used.
        summary: one line for `bench list`.
        paper: where it comes from.
        needs: what it cannot do without, in words.
        variants: named settings of the same class, usable as `name.variant`.
    """

    target: str
    summary: str
    paper: str = ""
    needs: str = ""
    variants: Mapping[str, Mapping[str, Any]] | None = None

    def load(self) -> Any:
        """Import the module and return the class or function."""
        return load(self.target)


def load(target: str) -> Any:
    """Import `package.module:Name`.

    Raises:
        MissingError: when the module cannot be imported.
        UsageError: when the module has no such name.
    """
    module_name, _, name = target.partition(":")
    try:
        module = importlib.import_module(module_name)
    except ImportError as error:
        raise MissingError(f"cannot import '{module_name}' for '{target}': {error}") from error
    if not hasattr(module, name):
        raise UsageError(f"module '{module_name}' has no '{name}'{did_you_mean(name, vars(module))}")
    return getattr(module, name)


def expand(wanted: Iterable[str], table: Mapping[str, Entry], kind: str) -> list[str]:
    """Turn names, `all` and globs into names, in table order for groups, without repeats.

    A name with a colon is a user's own class and passes through.

    >>> table = {"mle": Entry("m:M", ""), "trime": Entry("t:T", "", variants={"released": {}})}
    >>> expand(["all"], table, "method"), expand(["tr*"], table, "method")
    (['mle', 'trime'], ['trime', 'trime.released'])
    """
    full = [n for name, entry in table.items() for n in (name, *(f"{name}.{v}" for v in entry.variants or ()))]
    chosen: dict[str, None] = {}
    for name in wanted:
        if name == "all":
            chosen |= dict.fromkeys(table)
        elif ":" in name:
            chosen[name] = None
        elif any(c in name for c in "*?["):
            found = fnmatch.filter(full, name)
            if not found:
                raise UsageError(f"no {kind} matches '{name}'{did_you_mean(name, full)}")
            chosen |= dict.fromkeys(found)
        elif name in full:
            chosen[name] = None
        else:
            raise UsageError(f"no {kind} '{name}'{did_you_mean(name, full)}")
    return list(chosen)
