"""`bench list`: what there is, from the tables of entries alone; signatures only where they are asked for."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from typing import Any

from bench.base.entries import Entry, installed, package_of
from bench.cli_options import json_option
from bench.decodings import DECODINGS
from bench.decodings.core.decoding import Decoding
from bench.errors import UsageError, did_you_mean
from bench.metrics import METRICS, MetricEntry
from bench.metrics.columns import SIGNS, expand
from bench.metrics.requirements import words
from bench.models import METHODS, MethodEntry, one_gradient
from bench.models.backbones import BACKBONES, BackboneEntry
from bench.tasks import TASKS, TaskEntry
from bench.tasks.fetch.hub_rows import is_commit

KINDS: dict[str, Mapping[str, Entry]] = {
    "methods": METHODS,
    "tasks": TASKS,
    "backbones": BACKBONES,
    "metrics": METRICS,
    "decodings": DECODINGS,
}
DIRECTIONS = {"+": "higher is better", "-": "lower is better", "=": "neither is better"}
"""What the first character of a metric's column pattern says."""
UNPINNED = "(unpinned: the commit of the first download is recorded)"
"""What stands behind a branch of the hub."""


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `bench list`."""
    parser.add_argument(
        "kind", nargs="?", default="all", metavar="KIND", help="methods, tasks, backbones, metrics, decodings or all"
    )
    json_option(parser)
    parser.add_argument("--signatures", action="store_true", help="of metrics: every column as computed on examples")


def run(given: argparse.Namespace) -> int:
    """Print what was asked for."""
    if given.kind not in (*KINDS, "all"):
        raise UsageError(f"no kind '{given.kind}'{did_you_mean(given.kind, (*KINDS, 'all'))}")
    if given.signatures and given.kind != "metrics":
        raise UsageError(f"--signatures is for 'bench list metrics', got '{given.kind}'")
    if given.signatures:
        print(signatures())
    else:
        print(listing(given.kind, given.json))
    return 0


def listing(kind: str, as_json: bool) -> str:
    """Return one kind, or all of them, as text or JSON."""
    titles = list(KINDS)
    if kind != "all":
        titles = [kind]
    chosen = {title: {**KINDS[title], **of_packages(title)} for title in titles}
    if as_json:
        return json.dumps({title: contents(table) for title, table in chosen.items()}, indent=1)
    width = max(len(name) for table in chosen.values() for name in table) + 2
    lines = []
    for title, table in chosen.items():
        lines.append(title)
        for name, entry in table.items():
            lines += entry_lines(name, entry, width)
            if name in DECODINGS and title == "decodings":
                lines += [f"  {'':<{width}}{line}" for line in setting_lines(entry.load())]
        if title == "decodings":
            lines += [f"  {line}" for line in shared_lines()]
    return "\n".join(lines)


def of_packages(title: str) -> dict[str, Entry]:
    """Return what installed packages have registered, as entries that nothing is known of but their place."""
    kind = title.removesuffix("s")
    points = installed(kind, KINDS[title])
    return {name: Entry(point.value, f"of {package_of(point)}") for name, point in points.items()}


def entry_lines(name: str, entry: Entry, width: int) -> list[str]:
    """Return an entry for people: its summary, what else is to be said of it, and its variants."""
    paper = ""
    if entry.paper:
        paper = f"  ({entry.paper})"
    lines = [f"  {name:<{width}}{entry.summary}{paper}"]
    lines += [f"  {'':<{width}}{line}" for line in about(name, entry)]
    for variant, settings in (entry.variants or {}).items():
        text = settings.get("summary") or f"the same with {settings_text(settings)}"
        lines.append(f"  {name + '.' + variant:<{width}}  {text}")
    return lines


def about(name: str, entry: Entry) -> list[str]:
    """Return what else is to be said of an entry: a metric's columns, where on the hub it is, and what it needs."""
    lines = []
    repository, revision = hub_of(name, entry)
    if repository and is_commit(revision):
        lines.append(f"{repository} at {revision}")
    elif repository:
        lines.append(f"{repository} at {revision or 'main'} {UNPINNED}")
    if not isinstance(entry, MetricEntry):
        if entry.needs:
            lines.append(f"needs {entry.needs}")
        if isinstance(entry, MethodEntry):
            if entry.group == "modern":
                lines.append(f"its equations were read in: {entry.source}")
            lines += one_gradient_lines(name)
        return lines
    for sign, meaning in DIRECTIONS.items():
        names = [pattern[1:] for pattern in entry.columns if pattern[0] == sign]
        if names:
            lines.append(f"{meaning}: {' '.join(names)}")
    if entry.requires:
        lines.append(f"needs {words(entry.requires)}")
    return lines


def one_gradient_lines(method: str) -> list[str]:
    """Return which names of a method and its variants are one method, and with which others."""
    groups = [(gradient, names) for gradient, names in one_gradient().items() if _is_of(method, names)]
    return [f"one gradient under {len(names)} names: {', '.join(names)} ({gradient})" for gradient, names in groups]


def _is_of(method: str, names: Sequence[str]) -> bool:
    """Return whether some of the names are a method's or its variants'."""
    return any(name.partition(".")[0] == method for name in names)


def setting_lines(kind: type[Decoding]) -> list[str]:
    """Return what a decoding's own settings may be, its value with an example."""
    lines = []
    for name, setting in kind.settings().items():
        if setting.value:
            lines.append(f"{setting.example}: {name}, {setting.words}")
        elif name not in Decoding.settings():
            lines.append(f"+{name}={setting.default_text}: {setting.words}")
    return lines


def shared_lines() -> list[str]:
    """Return the settings that every decoding has."""
    shared = Decoding.settings().items()
    return ["each takes too:", *(f"  +{name}={setting.default_text}: {setting.words}" for name, setting in shared)]


def signatures() -> str:
    """Return every column of every metric with its unit and signature, as computed on example rows.

    A signature also names what depends on rows and machine (a number of references, a checkpoint): those are of the
    examples here. A family whose model is missing says so.
    """
    from bench.metrics.example_rows import example_rows

    lines = []
    for name, metric in METRICS.items():
        lines.append(name)
        for score in metric.load()(*example_rows(metric.kind)):
            lines.append(f"  {score.name:<30} {score.unit or '-':<9} {score.signature}")
    return "\n".join(lines)


def settings_text(settings: Mapping[str, object]) -> str:
    """Return settings as typed after --set.

    >>> settings_text({"method.variant": "released"})
    'method.variant=released'
    """
    return ", ".join(f"{name}={value}" for name, value in settings.items())


def contents(table: Mapping[str, Entry]) -> dict[str, dict[str, Any]]:
    """Return the entries of a table as plain content."""
    return {name: content(name, entry) for name, entry in table.items()}


def hub_of(name: str, entry: Entry) -> tuple[str, str]:
    """Return repository and revision of a backbone's weights or a task's rows; nothing of what is not of the hub."""
    if isinstance(entry, BackboneEntry):
        return entry.hub, entry.revision
    if isinstance(entry, TaskEntry):
        from bench.tasks.fetch.hub_copies import HUB

        if name in HUB:
            return HUB[name].repository, HUB[name].revision
    return "", ""


def content(name: str, entry: Entry) -> dict[str, Any]:
    """Return an entry as plain content."""
    held: dict[str, Any] = {
        "summary": entry.summary,
        "paper": entry.paper,
        "needs": entry.needs,
        "variants": {name: dict(settings) for name, settings in (entry.variants or {}).items()},
    }
    if isinstance(entry, MethodEntry):
        held["one_gradient"] = [names for names in one_gradient().values() if _is_of(name, names)]
    repository, revision = hub_of(name, entry)
    if repository:
        held["hub"], held["revision"] = repository, "unpinned"
        if is_commit(revision):
            held["revision"] = revision
    if entry in DECODINGS.values():
        held["settings"] = {name: setting.as_dict() for name, setting in entry.load().settings().items()}
    if isinstance(entry, MetricEntry):
        held["needs"] = words(entry.requires)
        held["columns"] = {name: SIGNS[pattern[0]] for pattern in entry.columns for name in expand(pattern[1:])}
    return held
