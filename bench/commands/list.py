"""`bench list`: what there is, from the tables of entries alone."""

from __future__ import annotations

import json
from collections.abc import Mapping

from bench.entries import Entry
from bench.metrics import METRICS
from bench.models import METHODS
from bench.models.backbones import BACKBONES
from bench.tasks import TASKS

KINDS: dict[str, Mapping[str, Entry]] = {
    "methods": METHODS,
    "tasks": TASKS,
    "backbones": BACKBONES,
    "metrics": METRICS,
}


def listing(kind: str, as_json: bool) -> str:
    """Return one kind, or all of them, as text or JSON."""
    chosen = KINDS if kind == "all" else {kind: KINDS[kind]}
    if as_json:
        return json.dumps({k: {n: _content(e) for n, e in table.items()} for k, table in chosen.items()}, indent=1)
    width = max(len(name) for table in chosen.values() for name in table) + 2
    parts = []
    for title, table in chosen.items():
        parts.append(title)
        for name, entry in table.items():
            paper = f"  ({entry.paper})" if entry.paper else ""
            parts.append(f"  {name:<{width}}{entry.summary}{paper}")
            if entry.needs:
                parts.append(f"  {'':<{width}}needs {entry.needs}")
            parts += [
                f"  {name + '.' + v:<{width}}  the same with {settings(o)}" for v, o in (entry.variants or {}).items()
            ]
    return "\n".join(parts)


def settings(options: Mapping[str, object]) -> str:
    """Return options as typed after --set.

    >>> settings({"variant": "released"})
    'variant=released'
    """
    return ", ".join(f"{name}={value}" for name, value in options.items())


def _content(entry: Entry) -> dict[str, object]:
    return {"summary": entry.summary, "paper": entry.paper, "needs": entry.needs,
            "variants": {name: dict(options) for name, options in (entry.variants or {}).items()}}  # fmt: skip
