"""`bench list`: all methods, tasks, backbones, metrics and decodings, and the data of tasks."""

from __future__ import annotations

import argparse
import json
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from bench.base.network import is_commit
from bench.base.options import default_text, words_of
from bench.base.printable import one_line, shortened
from bench.base.registry import Entry, split_names
from bench.base.registry import expand as expand_names
from bench.cli_options import add_options
from bench.config.config import parse_sets, section_values
from bench.decodings import DECODINGS
from bench.decodings.core.decoding import Decoding
from bench.errors import MissingError, UsageError, did_you_mean
from bench.metrics import METRICS, MetricEntry
from bench.metrics.columns import SIGNS, expand
from bench.metrics.requirements import describe
from bench.models import METHODS, MethodEntry
from bench.models.backbones import BACKBONES, BackboneEntry
from bench.tasks import TASKS, TaskEntry, find_task
from bench.tasks.fetch.hub_copies import HUB

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
"""The meaning of the first character of a metric's column pattern."""
SHARED = Decoding.options()
"""Options that every decoding has."""


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `bench list`."""
    parser.add_argument(
        "kind", nargs="?", default="all", metavar="KIND", help="methods, tasks, backbones, metrics, decodings or all"
    )
    add_options(parser, "--json")
    parser.add_argument(
        "--data",
        nargs="*",
        metavar="TASK",
        help="where the rows of all tasks are; with names, what each split is and how it differs from the published",
    )
    parser.add_argument("--fetch", action="store_true", help="with --data TASK: download rows from the hub first")
    add_options(parser, "--set", "--data-dir")


def run(given: argparse.Namespace) -> int:
    """Print a list; return the exit code."""
    if given.fetch and not given.data:
        raise UsageError("--fetch needs the names of tasks: --data TASK --fetch")
    if given.data is not None:
        return list_data(given)
    if given.kind not in (*KINDS, "all"):
        raise UsageError(f"no kind '{given.kind}'{did_you_mean(given.kind, (*KINDS, 'all'))}")
    print(listing(given.kind, given.json))
    return 0


def listing(kind: str, as_json: bool) -> str:
    """Return one kind, or all of them, as text or JSON."""
    titles = KINDS if kind == "all" else (kind,)
    chosen = {title: {name: content(name, entry) for name, entry in KINDS[title].items()} for title in titles}
    if as_json:
        return json.dumps(chosen, indent=1)
    width = max(len(name) for table in chosen.values() for name in table) + 2
    lines = []
    for title, table in chosen.items():
        lines.append(title)
        for name, about in table.items():
            paper = f"  ({about['paper']})" if about["paper"] else ""
            lines.append(f"  {name:<{width}}{about['summary']}{paper}")
            lines += [f"  {'':<{width}}{line}" for line in detail_lines(about)]
            for variant, settings in about["variants"].items():
                typed = ", ".join(f"{option}={value}" for option, value in settings.items())
                lines.append(
                    f"  {name + '.' + variant:<{width}}  {settings.get('summary') or f'the same with {typed}'}"
                )
        if title == "decodings":
            lines.append("  each takes too:")
            lines += [f"    {line}" for line in option_lines(Decoding)]
    return "\n".join(lines)


def content(name: str, entry: Entry) -> dict[str, Any]:
    """Return the facts about an entry as plain content."""
    about: dict[str, Any] = {
        "summary": entry.summary,
        "paper": entry.paper,
        "needs": entry.needs,
        "variants": {variant: dict(settings) for variant, settings in (entry.variants or {}).items()},
    }
    if isinstance(entry, MethodEntry) and entry.group == "modern":
        about["source"] = entry.source
    repository, revision = hub_of(name, entry)
    if repository:
        about |= {"hub": repository, "revision": revision}
        if not is_commit(revision):
            about |= {"revision": "unpinned", "branch": revision or "main"}
    if entry in DECODINGS.values():
        about["options"] = {
            option: {"expected": words_of(annotation), "default": default_text(default)}
            for option, (annotation, default) in entry.load().options().items()
        }
        about["typed"] = list(option_lines(entry.load(), SHARED))
    if isinstance(entry, MetricEntry):
        about["needs"] = describe(entry.requires)
        about["columns"] = {each: SIGNS[pattern[0]] for pattern in entry.columns for each in expand(pattern[1:])}
        about["patterns"] = list(entry.columns)
    return about


def detail_lines(about: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines below the summary of an entry: its place on the hub, columns, needs, source and settings."""
    if "hub" in about:
        unpinned = f"{about.get('branch')} (unpinned: the commit of the first download is recorded)"
        yield f"{about['hub']} at {unpinned if 'branch' in about else about['revision']}"
    for sign, meaning in DIRECTIONS.items():
        if names := [pattern[1:] for pattern in about.get("patterns", ()) if pattern[0] == sign]:
            yield f"{meaning}: {' '.join(names)}"
    if about["needs"]:
        yield f"needs {about['needs']}"
    if "source" in about:
        yield f"its equations were read in: {about['source']}"
    yield from about.get("typed", ())


def option_lines(kind: type[Decoding], left_out: Collection[str] = ()) -> Iterator[str]:
    """Yield the options of a decoding as they are typed, without those that are left out."""
    for name, (annotation, default) in kind.options().items():
        if name == kind.main_option:
            yield f"{kind.name}={name}: {words_of(annotation)}"
        elif name not in left_out:
            yield f"+{name}={default_text(default)}: {words_of(annotation)}"


def hub_of(name: str, entry: Entry) -> tuple[str, str]:
    """Return repository and revision of a backbone's weights or a task's rows; empty for all that is not on the hub."""
    if isinstance(entry, BackboneEntry):
        return entry.hub, entry.revision
    if isinstance(entry, TaskEntry) and name in HUB:
        return HUB[name].repository, HUB[name].revision
    return "", ""


# The data of tasks ------------------------------------------------------------------------------------------------

SPLITS = ("train", "valid", "test")
PLACES = ("task", "language", "train / valid / test", "rows from", "hub")
SHOWN = 300
"""Number of characters of a source or target that are shown."""


def list_data(given: argparse.Namespace) -> int:
    """Print where the rows of tasks are; of tasks that are named, what the rows are. Return 0.

    Raises:
        MissingError: rows were to be downloaded and cannot be.
        DataError: a file is there and cannot be read.
    """
    from bench.base.options import read_options
    from bench.tasks.fetch.sources import resolve

    names = split_names(given.data)
    if not names:
        list_places(given)
        return 0
    found = {}
    for name in expand_names(names, TASKS, "task"):
        kind: type[Task] = find_task(name).value
        values = section_values(parse_sets(given.sets), "task", {kind.name})
        task = kind(**read_options(kind, values, f"task '{kind.name}'", only_known=True))
        task.load(resolve(kind.name, given.data_dir, kind.info.folders, fetch=given.fetch))
        found[kind.name] = data_of(task, given.fetch)
    if given.json:
        print(json.dumps(found, ensure_ascii=False, indent=1))
    else:
        print("\n".join(one_line(line) for name, data in found.items() for line in data_lines(name, data)))
    return 0


def list_places(given: argparse.Namespace) -> None:
    """Print where the rows of every task are, without reading them."""
    from bench.leaderboards.render.text_table import aligned
    from bench.tasks.fetch.sources import resolve

    rows: list[dict[str, Any]] = []
    for name, entry in TASKS.items():
        kind: type[Task] = find_task(name).value
        hub, revision = hub_of(name, entry)
        rows.append(
            {
                "task": name,
                "language": kind.info.language,
                "from": resolve(kind.name, given.data_dir, kind.info.folders).why,
                "official": {split: kind.info.sizes.get(split) for split in SPLITS},
                "hub": hub,
                "revision": "unpinned" if hub and not is_commit(revision) else revision,
                "publisher": kind.info.source,
                "licence": kind.info.licence,
            }
        )
    if given.json:
        print(json.dumps(rows, indent=1))
        return
    lines = []
    for row in rows:
        sizes = " / ".join("-" if size is None else f"{size:,}" for size in row["official"].values())
        hub = f"{row['hub'] or '-'}{' (unpinned)' if row['revision'] == 'unpinned' else ''}"
        lines.append((row["task"], row["language"], sizes, row["from"], hub))
    print("\n".join(aligned(PLACES, lines, texts=len(PLACES))))


def data_of(task: Task, is_fetched: bool) -> dict[str, Any]:
    """Return where the rows of a task are, what each split is, its first test row, and how to get the published rows.

    Raises:
        MissingError: the rows should have been downloaded, and only the built-in sample is there.
    """
    if is_fetched and task.source.folder is None:
        raise MissingError(f"{task.name}: {task.source.why}; {how_to_get(type(task), by_hand=True)}")
    splits = {split: about_split(task, split) for split in SPLITS}
    content = {"from": task.source.why, "splits": splits, "row": {}, "get": ""}
    if task.source.folder is None:
        content["get"] = how_to_get(type(task))
    there = [split for split in ("test", "valid", "train") if splits[split]["rows"]]
    if there:
        row = task.split(there[0]).examples[0]
        texts = {"source": task.plain_source(row), "target": row.target, "references": list(row.references)}
        content["row"] = {"split": there[0], "id": row.id, **texts}
    return content


def how_to_get(kind: type[Task], *, by_hand: bool = False) -> str:
    """Say how to get the published rows of a task: from the hub, or, `by_hand`, without it."""
    place = f"put its files into a folder '{kind.name}' below --data-dir DIR or BENCH_DATA"
    if kind.info.source:
        place = f"get it from {kind.info.source} and {place}"
    if kind.name in HUB and not by_hand:
        repository = HUB[kind.name].repository
        return f"bench list --data {kind.name} --fetch downloads {repository}, and so does bench run; or {place}"
    return place


def about_split(task: Task, split: str) -> dict[str, Any]:
    """Return what a split is and how it differs from the published one; `status` is `missing` where it is not there."""
    try:
        task.split(split)
    except MissingError as error:
        if type(error) is not MissingError:  # DataError: it is there and is broken
            raise
        return {"split": split, "status": "missing", "rows": 0, "differences": [str(error)]}
    return {**task.manifest(split).as_dict(), "differences": differences(task, split)}


def differences(task: Task, split: str) -> list[str]:
    """Return one line for each way in which a split differs from the published one."""
    from bench.tasks.core.manifest import known_rows

    manifest, lines = task.manifest(split), []
    official, published = task.info.sizes.get(split), known_rows(task.name, split)
    if official is not None and manifest.rows != official:
        lines.append(f"has {manifest.rows:,} rows, published are {official:,} ({manifest.rows - official:+,})")
    elif published and manifest.sha256 not in published:
        hashes = " or ".join(sha256[:16] for sha256 in published)
        lines.append(
            f"has as many rows as published, but others: their SHA-256 is {manifest.sha256[:16]}..., not {hashes}"
        )
    if manifest.skipped:
        lines.append(f"left out {manifest.skipped:,} rows, e.g. {', '.join(task.split(split).skipped[0])}")
    return lines


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
        texts = {part: " ".join(row[part].split()) for part in ("source", "target") if row[part]}
        yield from (f"        {part} {shortened(text, SHOWN)}" for part, text in texts.items())
