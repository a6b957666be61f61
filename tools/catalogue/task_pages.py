"""The catalogue of tasks: a table of all, and a page for each."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import Any

from bench.leaderboards.render.markdown_table import markdown_table
from bench.tasks import TASKS, TaskEntry
from bench.tasks.fetch.hub_copies import HUB
from tools.catalogue import evidence
from tools.catalogue.docstrings import cell, code, prose, read_docstring, sentence
from tools.catalogue.options import option_table
from tools.catalogue.places import TASKS as PAGE
from tools.catalogue.places import link, task_page

__all__ = ["task_pages"]


def task_pages() -> dict[str, str]:
    """Return every page of the catalogue of tasks, by name below `docs`."""
    pages = {PAGE: "\n".join(_overview())}
    for name, entry in TASKS.items():
        pages[task_page(name)] = "\n".join(_page(name, entry))
    return pages


def _overview() -> Iterator[str]:
    """Yield the page with the table of all tasks."""
    rows = []
    for name, entry in TASKS.items():
        info = entry.load().info
        shown, primary = link(code(name), task_page(name), PAGE), code(entry.primary)
        rows.append([shown, cell(prose(entry.summary)), cell(prose(entry.paper)), info.language, primary])
    yield from ["# Tasks", "", "`--task NAME` runs one; `bench data list` says where its rows come from.", ""]
    yield from markdown_table(["task", "what it is", "source", "language", "ordered by"], rows)
    yield ""


def _page(name: str, entry: TaskEntry) -> Iterator[str]:
    """Yield the page of a task."""
    kind = entry.load()
    module, docstring = read_docstring(sys.modules[kind.__module__].__doc__), read_docstring(kind.__doc__)
    yield from [f"# {name}", "", sentence(entry.summary, entry.paper), ""]
    for block in [*module.blocks, docstring.lead, *docstring.blocks]:
        if not block.startswith("Shapes:"):
            yield from [block, ""]
    yield from ["## At a glance", "", *markdown_table(["", ""], list(_facts(name, entry))), ""]
    options = option_table(kind, docstring.arguments, "task")
    if options:
        yield from ["## Options", "", *options, ""]
    yield from ["## Presets", "", *_presets(kind.recipes), ""]
    tables = evidence.published_rows(name, "task")
    if tables:
        yield from ["## Tables of papers", "", "`bench reproduce ADDRESS` puts our cells beside the paper's.", ""]
        yield from [*markdown_table(["address", "table", "level"], tables), ""]


def _facts(name: str, entry: TaskEntry) -> Iterator[list[str]]:
    """Yield what its `TaskInfo` and its entry say, a row each."""
    kind = entry.load()
    info = kind.info
    sizes = ", ".join(f"{split} {rows:,}" for split, rows in info.sizes.items())
    source = prose(info.source)
    if info.source.startswith("https://"):
        source = f"<{info.source}>"
    yield ["publisher", source]
    yield ["licence", cell(prose(info.licence))]
    yield ["official rows", sizes or "as many as you have"]
    yield ["language", info.language]
    if name in HUB:
        yield ["copy of the hub", code(HUB[name].repository) + " at " + code(HUB[name].revision or "main")]
    if info.fields:
        yield ["fields of a row", ", ".join(map(code, sorted(info.fields)))]
    yield ["what is learned", "the whole text; generation continues a prompt" if info.open_ended else "the target"]
    yield ["evaluations", ", ".join(info.evaluations)]
    yield ["metrics", ", ".join(map(code, info.metrics))]
    yield ["columns of its table", ", ".join(code(column) for column in entry.columns)]
    yield ["ordered by", code(entry.primary)]
    yield ["class", code(f"{kind.__module__}:{kind.__name__}")]
    yield ["version", str(kind.version)]


def _presets(recipes: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return the lines of a table of what each preset sets."""
    settings = list(dict.fromkeys(name for recipe in recipes.values() for name in recipe))
    rows = []
    for name in settings:
        values = [_value(recipe[name]) if name in recipe else "" for recipe in recipes.values()]
        rows.append([code(name), *values])
    return markdown_table(["setting", *map(code, recipes)], rows)


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return cell(", ".join(code(f"{name}={inner}") for name, inner in value.items()))
    if isinstance(value, (list, tuple)):
        return code(",".join(map(str, value)))
    return code(str(value))
