"""`bench list`: the methods, tasks, backbones, metrics and decodings there are, and the data of tasks."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bench.base.entries import Entry, installed, package_of, split_names
from bench.base.entries import expand as expand_names
from bench.base.redaction import one_line
from bench.cli_options import data_dir_of, data_options, json_option, set_texts
from bench.config.config import parse_sets
from bench.decodings import DECODINGS
from bench.decodings.core.decoding import Decoding
from bench.errors import MissingError, UsageError, did_you_mean
from bench.metrics import METRICS, MetricEntry
from bench.metrics.columns import SIGNS, expand
from bench.metrics.requirements import describe
from bench.models import METHODS, MethodEntry, one_gradient
from bench.models.backbones import BACKBONES, BackboneEntry
from bench.tasks import TASKS, TaskEntry, find_task
from bench.tasks.fetch.hub_copies import is_commit

if TYPE_CHECKING:
    from bench.tasks.core.task import Task

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
    parser.add_argument(
        "--data",
        nargs="*",
        metavar="TASK",
        help="where the rows of all tasks are; with names, what each split is and how it differs from the published",
    )
    parser.add_argument("--fetch", action="store_true", help="with --data TASK: download rows from the hub first")
    data_options(parser)


def run(given: argparse.Namespace) -> int:
    """Print what was asked for; return the exit code."""
    if given.data is not None:
        return list_data(given)
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
        lines.append(f"needs {describe(entry.requires)}")
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
        held["needs"] = describe(entry.requires)
        held["columns"] = {name: SIGNS[pattern[0]] for pattern in entry.columns for name in expand(pattern[1:])}
    return held


# The data of tasks ------------------------------------------------------------------------------------------------

PLACES = ("task", "language", "train / valid / test", "rows from", "hub")
SHOWN = 300
"""Number of characters of a source or target that are shown."""


def list_data(given: argparse.Namespace) -> int:
    """Print where the rows of tasks are; of tasks that are named, what the rows are. Return 0.

    Raises:
        MissingError: rows were to be downloaded and cannot be.
        DataError: a file is there and cannot be read.
    """
    from bench.cells.splits import opened

    names = split_names(given.data)
    if not names:
        list_places(given)
        return 0
    found = {}
    for name in expand_names(names, TASKS, "task", own=True):
        kind: type[Task] = find_task(name).value
        task = opened(kind, parse_sets(set_texts(given)), data_dir_of(given), fetch=given.fetch)
        found[kind.name] = data_of(task, given.fetch)
    if given.json:
        print(json.dumps(found, ensure_ascii=False, indent=1))
    else:
        print("\n".join(one_line(line) for name, data in found.items() for line in data_lines(name, data)))
    return 0


def list_places(given: argparse.Namespace) -> None:
    """Print where the rows of every task are, without reading them."""
    from bench.cells.splits import SPLITS, where
    from bench.leaderboards.render.text_table import aligned

    rows: list[dict[str, Any]] = []
    for name, entry in TASKS.items():
        kind: type[Task] = find_task(name).value
        hub, revision = hub_of(name, entry)
        if hub and not is_commit(revision):
            revision = "unpinned"
        content = {
            "task": name,
            "language": kind.info.language,
            "from": where(kind, data_dir_of(given)).why,
            "official": {split: kind.info.sizes.get(split) for split in SPLITS},
            "hub": hub,
            "revision": revision,
            "publisher": kind.info.source,
            "licence": kind.info.licence,
        }
        rows.append(content)
    if given.json:
        print(json.dumps(rows, indent=1))
        return
    lines = []
    for row in rows:
        sizes = " / ".join("-" if size is None else f"{size:,}" for size in row["official"].values())
        hub = row["hub"] or "-"
        if row["revision"] == "unpinned":
            hub += " (unpinned)"
        lines.append((row["task"], row["language"], sizes, row["from"], hub))
    print("\n".join(aligned(PLACES, lines, texts=len(PLACES))))


def data_of(task: Task, is_fetched: bool) -> dict[str, Any]:
    """Return where the rows of a task are, what each split is, its first test row, and how to get the published rows.

    Raises:
        MissingError: the rows should have been downloaded, and only the built-in sample is there.
    """
    from bench.cells.splits import SPLITS, described, how_to_get

    if is_fetched and task.source.folder is None:
        raise MissingError(f"{task.name}: {task.source.why}; {how_to_get(type(task), by_hand=True)}")
    splits = {split: described(task, split) for split in SPLITS}
    content = {"from": task.source.why, "splits": splits, "row": {}, "get": ""}
    if task.source.folder is None:
        content["get"] = how_to_get(type(task))
    there = [split for split in ("test", "valid", "train") if splits[split]["rows"]]
    if there:
        row = task.split(there[0]).examples[0]
        texts = {"source": task.plain_source(row), "target": row.target, "references": list(row.references)}
        content["row"] = {"split": there[0], "id": row.id, **texts}
    return content


def data_lines(name: str, data: Mapping[str, Any]) -> Iterator[str]:
    """Yield the data of a task for people."""
    yield f"{name}: {data['from']}"
    if data["get"]:
        yield f"  {data['get']}"
    for split in data["splits"].values():
        line = f"  {split['split']:<6}{split['status']:<9}"
        if split["status"] != "missing":
            line += f"{split['rows']:,} rows, {split['bytes']:,} bytes, sha256 {split['sha256'][:16]}"
        yield line
        yield from (f"        {difference}" for difference in split["differences"])
    row = data["row"]
    if row:
        yield f"  the first {row['split']} row, {row['id']}:"
        yield from (f"        {part} {shortened(row[part])}" for part in ("source", "target") if row[part])


def shortened(text: str) -> str:
    """Return a text in one line of at most `SHOWN` characters."""
    text = " ".join(text.split())
    if len(text) > SHOWN:
        return f"{text[:SHOWN]}..."
    return text
