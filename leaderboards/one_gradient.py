"""One gradient: rows whose losses have the same gradient are one method under several names."""

from __future__ import annotations

from collections.abc import Sequence

from bench.base.keys import key_of
from bench.leaderboards.row import TableRow
from bench.models import METHODS

OF_METHOD = ("method", "method_options", "code")
"""The parts of a configuration that say which method it is."""


def one_gradient_lines(rows: Sequence[TableRow]) -> list[str]:
    """Say which rows of one configuration are one method under several names: their losses have the same gradient."""
    groups: dict[tuple[str, str], dict[str, str]] = {}  # by gradient and configuration: a method and its options: name
    for row in rows:
        entry, options = METHODS.get(row.method.partition(".")[0]), row.config.get("method_options", {})
        if entry is None:
            continue
        if gradient := entry.gradient(options):
            rest = {name: value for name, value in row.config.items() if name not in OF_METHOD}
            group = groups.setdefault((gradient, key_of(rest)), {})
            group[key_of([row.method, options])] = row.method
    return [
        f"one gradient under {len(names)} names, so one method: {', '.join(names.values())} ({gradient})"
        for (gradient, _), names in groups.items()
        if len(names) > 1
    ]
