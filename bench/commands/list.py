"""`bench list`: what there is, from the tables of entries alone; signatures only where they are asked for."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping

from bench.base.entries import Entry
from bench.errors import UsageError, did_you_mean
from bench.metrics import METRICS, MetricEntry
from bench.metrics.columns import SIGNS, expand
from bench.metrics.requirements import words
from bench.models import METHODS
from bench.models.backbones import BACKBONES
from bench.tasks import TASKS

KINDS: dict[str, Mapping[str, Entry]] = {
    "methods": METHODS,
    "tasks": TASKS,
    "backbones": BACKBONES,
    "metrics": METRICS,
}


def run(given: argparse.Namespace) -> int:
    """Print what was asked for."""
    if given.kind not in (*KINDS, "all"):
        raise UsageError(f"no kind '{given.kind}'{did_you_mean(given.kind, (*KINDS, 'all'))}")
    if given.signatures and given.kind != "metrics":
        raise UsageError(f"--signatures is for 'bench list metrics', got '{given.kind}'")
    print(signatures() if given.signatures else listing(given.kind, given.json))
    return 0


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
            parts += [f"  {'':<{width}}{line}" for line in about(entry)]
            parts += [
                f"  {name + '.' + v:<{width}}  the same with {settings(o)}" for v, o in (entry.variants or {}).items()
            ]
    return "\n".join(parts)


def about(entry: Entry) -> list[str]:
    """Return what else is to be said of an entry: a metric's columns by direction, and what it needs."""
    if not isinstance(entry, MetricEntry):
        return [f"needs {entry.needs}"] if entry.needs else []
    found = []
    for sign, says in {"+": "higher is better", "-": "lower is better", "=": "neither is better"}.items():
        names = [pattern[1:] for pattern in entry.columns if pattern[0] == sign]
        found += [f"{says}: {' '.join(names)}"] if names else []
    return found + ([f"needs {words(entry.requires)}"] if entry.requires else [])


def signatures() -> str:
    """Return every column of every metric with its unit and signature, as computed on example rows.

    A signature also names what depends on rows and machine (a number of references, a checkpoint): those are of the
    examples here. A family whose model is missing says so.
    """
    from bench.metrics.example_rows import example_rows

    parts = []
    for name, metric in METRICS.items():
        parts.append(name)
        for score in metric.load()(*example_rows(metric.kind)):
            parts.append(f"  {score.name:<30} {score.unit or '-':<9} {score.signature}")
    return "\n".join(parts)


def settings(options: Mapping[str, object]) -> str:
    """Return options as typed after --set.

    >>> settings({"variant": "released"})
    'variant=released'
    """
    return ", ".join(f"{name}={value}" for name, value in options.items())


def _content(entry: Entry) -> dict[str, object]:
    found: dict[str, object] = {"summary": entry.summary, "paper": entry.paper, "needs": entry.needs,
             "variants": {name: dict(options) for name, options in (entry.variants or {}).items()}}  # fmt: skip
    if isinstance(entry, MetricEntry):
        found["needs"] = words(entry.requires)
        found["columns"] = {name: SIGNS[p[0]] for p in entry.columns for name in expand(p[1:])}
    return found
