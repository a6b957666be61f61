"""Entries: light table rows that name what there is, so that `bench list` imports nothing heavy."""

from __future__ import annotations

import fnmatch
import importlib
from collections.abc import Iterable, Mapping, Sequence
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
        variants: named settings (`section.name` to value) of the same class, usable as `name.variant`.
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
        MissingError: when the module is not there, or needs one that is not.
        UsageError: when the module breaks while it is imported, or has no such name.
    """
    module_name, _, name = target.partition(":")
    try:
        module = importlib.import_module(module_name)
    except ImportError as error:
        raise MissingError(f"cannot import '{module_name}' for '{target}': {error}") from error
    except Exception as error:
        raise UsageError(f"importing '{module_name}' for '{target}' fails: {type(error).__name__}: {error}") from error
    if not hasattr(module, name):
        public = [attribute for attribute in vars(module) if not attribute.startswith("_")]
        raise UsageError(f"module '{module_name}' has no '{name}'{did_you_mean(name, public)}")
    return getattr(module, name)


def all_names(table: Mapping[str, Entry]) -> list[str]:
    """Return every name of a table, variants behind the name they belong to."""
    names = []
    for name, entry in table.items():
        names.append(name)
        names += [f"{name}.{variant}" for variant in entry.variants or ()]
    return names


def expand(
    wanted: Iterable[str],
    table: Mapping[str, Entry],
    kind: str,
    *,
    own: bool = False,
    groups: Mapping[str, Sequence[str]] | None = None,
) -> list[str]:
    """Turn names, `all` and globs into names, in table order for groups, without repeats.

    Args:
        wanted: as typed.
        table: what there is.
        kind: for messages.
        own: whether a name with a colon is a user's own class and passes through.
        groups: names that stand for several; `all` is the whole table unless it is one of them.

    >>> table = {"mle": Entry("m:M", ""), "trime": Entry("t:T", "", variants={"released": {}})}
    >>> expand(["all"], table, "method"), expand(["tr*"], table, "method")
    (['mle', 'trime'], ['trime', 'trime.released'])
    """
    known = all_names(table)
    groups = {"all": list(table), **(groups or {})}
    chosen: dict[str, None] = {}
    for name in wanted:
        if name in groups:
            chosen |= dict.fromkeys(groups[name])
        elif own and ":" in name:
            chosen[name] = None
        elif any(c in name for c in "*?["):
            matching = fnmatch.filter(known, name)
            if not matching:
                raise UsageError(f"no {kind} matches '{name}'{did_you_mean(name, known)}")
            chosen |= dict.fromkeys(matching)
        elif name in known:
            chosen[name] = None
        else:
            raise UsageError(f"no {kind} '{name}'{did_you_mean(name, [*known, *groups])}")
    return list(chosen)


def split_names(given: Sequence[str] | None) -> list[str]:
    """Return names from repeated options with commas.

    >>> split_names(["a,b", "c"])
    ['a', 'b', 'c']
    """
    return [name for text in given or [] for name in text.split(",") if name]
