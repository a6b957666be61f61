"""The API: a page for each public module, with signatures and docstrings, and an index of what `bench` itself has."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import bench
from bench.leaderboards.render.markdown_table import markdown_table
from tools.catalogue.docstrings import cell, code, read_docstring
from tools.catalogue.places import API_INDEX, link, module_page
from tools.catalogue.sources import Definition, Source, methods_of, signature, source_of, values_of_class

__all__ = ["MODULES", "api_pages"]

MODULES = (
    "bench.board.run",
    "bench.board.board",
    "bench.cells.make",
    "bench.models",
    "bench.models.core.objective",
    "bench.models.core.states",
    "bench.models.core.head",
    "bench.models.core.run_context",
    "bench.models.backbones.backbone",
    "bench.models.backbones.causal",
    "bench.models.backbones.encoder_decoder",
    "bench.tasks.core.task",
    "bench.tasks.core.example",
    "bench.tasks.core.manifest",
    "bench.metrics",
    "bench.metrics.score",
    "bench.metrics.sums",
    "bench.metrics.torch",
    "bench.decodings.core.decoding",
    "bench.decodings.core.sampler",
    "bench.decodings.core.settings",
    "bench.base.entries",
    "bench.base.options",
    "bench.base.space",
    "bench.testing",
    "bench.errors",
)
"""What who writes a method, task, metric, backbone or decoding of his own may call."""
SECTIONS = ("Args", "Returns", "Yields", "Raises")


def api_pages() -> dict[str, str]:
    """Return every page of the API, by name below `docs`."""
    pages = {API_INDEX: "\n".join(_index())}
    for module in MODULES:
        pages[module_page(module)] = "\n".join(_module(source_of(module)))
    return pages


def _index() -> Iterator[str]:
    """Yield the page of the package: its own names, and every module that has a page."""
    docstring = read_docstring(bench.__doc__)
    yield from ["# bench", "", docstring.lead, ""]
    for block in docstring.blocks:
        yield from [block, ""]
    rows = []
    for name, place in bench.PLACES.items():
        module, _, inside = place.partition(":")
        shown = link(code(place), f"{module_page(module)}#{inside.lower()}", API_INDEX)
        rows.append([code(f"bench.{name}"), shown])
    yield from [*markdown_table(["name", "where it is"], rows), "", "## Modules", ""]
    rows = []
    for module in MODULES:
        what = read_docstring(source_of(module).docstring).lead
        rows.append([link(code(module), module_page(module), API_INDEX), cell(what)])
    yield from [*markdown_table(["module", "what it is for"], rows), ""]


def _module(source: Source) -> Iterator[str]:
    """Yield the page of a module."""
    yield from [f"# {source.name}", "", *_text(source.docstring)]
    for name in source.public:
        found = source.definition(name)
        if found is not None:
            yield from _definition(name, *found, inside=source.name)


def _definition(name: str, source: Source, node: Definition, inside: str) -> Iterator[str]:
    """Yield the part of a class or function."""
    yield from [f"## {name}", "", "```py", *signature(node), "```", ""]
    if source.name != inside:
        yield from [f"Defined in {code(source.name)}.", ""]
    yield from _text(ast.get_docstring(node) or "")
    if not isinstance(node, ast.ClassDef):
        return
    values = values_of_class(source, node)
    if values:
        yield from ["```py", *values, "```", ""]
    for method in methods_of(node):
        yield from [f"### {name}.{method.name}", "", "```py", *signature(method), "```", ""]
        yield from _text(ast.get_docstring(method) or "")


def _text(text: str) -> Iterator[str]:
    """Yield a docstring: its blocks, and a list for each section."""
    docstring = read_docstring(text)
    for block in [docstring.lead, *docstring.blocks]:
        if block:
            yield from [block, ""]
    for section in SECTIONS:
        said = docstring.sections.get(section, {})
        if said:
            yield from [f"{section}:", ""]
            yield from [_item(name, what) for name, what in said.items()]
            yield ""


def _item(name: str, what: str) -> str:
    if not name:
        return f"- {what}"
    return f"- {code(name)}: {what}"
