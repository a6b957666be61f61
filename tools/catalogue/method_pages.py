"""The catalogue of methods: a table of all, and a page for each with its variants."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bench.base.own_code import load
from bench.commands.list import one_gradient_lines
from bench.leaderboards.render.markdown_table import markdown_table
from bench.models import METHODS, MethodEntry
from tools.catalogue import evidence
from tools.catalogue.docstrings import cell, code, prose, sentence
from tools.catalogue.hooks import hook_rows
from tools.catalogue.method_class import class_lines, fact_rows, settings_text
from tools.catalogue.places import CLAIMS, link, method_page
from tools.catalogue.places import METHODS as PAGE

__all__ = ["method_pages"]

GROUPS = {"papers": "Methods of the papers", "modern": "Other objectives"}
SOURCES = {
    "paper body": "the paper",
    "released code": "the authors' released code",
    "secondary": "what others write of it",
    "memory": "nothing: from memory, so no claim of a paper is tested",
}
"""What equations were read in, for people."""
VARIANT_WORDS = ("class", "summary", "parent")
"""Of a variant, what is no setting."""


def method_pages() -> dict[str, str]:
    """Return every page of the catalogue of methods, by name below `docs`."""
    pages = {PAGE: "\n".join(_overview())}
    for name, entry in METHODS.items():
        pages[method_page(name)] = "\n".join(_page(name, entry))
    return pages


def _overview() -> Iterator[str]:
    """Yield the page with the table of all methods."""
    yield "# Methods"
    yield ""
    yield "`--method NAME` runs one; a page says what it is, from its own docstring."
    for group, title in GROUPS.items():
        entries = {name: entry for name, entry in METHODS.items() if entry.group == group and not entry.baseline}
        yield from ["", f"## {title}", "", *_table(entries)]
    trivial = {name: entry for name, entry in METHODS.items() if entry.baseline}
    yield from ["", "## Baselines and trivial controls", "", *_table(trivial), ""]


def _table(entries: Mapping[str, MethodEntry]) -> list[str]:
    rows = []
    for name, entry in entries.items():
        kind = entry.load()
        hooks = ", ".join(hook[0] for hook in hook_rows(kind))
        shown = link(code(name), method_page(name), PAGE)
        controls, read_in = ", ".join(map(code, entry.controls)), "" if entry.baseline else SOURCES[entry.source]
        rows.append([shown, cell(prose(entry.summary)), entry.paper, hooks, controls, read_in])
    return markdown_table(["method", "what it is", "source", "hooks", "controls", "equations read in"], rows)


def _page(name: str, entry: MethodEntry) -> Iterator[str]:
    """Yield the page of a method."""
    kind = entry.load()
    yield from [f"# {name}", "", sentence(entry.summary, entry.paper), ""]
    yield from class_lines(kind, 2)
    yield from ["## At a glance", "", *markdown_table(["", ""], [*_entry_rows(entry, kind), *fact_rows(kind)]), ""]
    for line in one_gradient_lines(name):
        yield from [sentence(line), ""]
    yield from _variants(name, entry)
    yield from _controls(name, entry)
    yield from _section("Claims", ["claim", "where", "verdict"], evidence.claim_rows(name), _claims_text(name))
    heading = ["address", "table", "level"]
    text = "`bench reproduce ADDRESS` puts our cells beside the paper's."
    yield from _section("Tables of papers", heading, evidence.published_rows(name, "method"), text)
    yield from _costs(name)
    yield from _class_variants(name, entry)


def _entry_rows(entry: MethodEntry, kind: type[Any]) -> Iterator[list[str]]:
    if kind.equations and not entry.baseline:
        yield ["equations were read in", SOURCES[entry.source]]
    if entry.tuned_by:
        yield ["untuned without a search over", code(entry.tuned_by)]


def _variants(name: str, entry: MethodEntry) -> Iterator[str]:
    """Yield the table of variants."""
    rows = []
    for variant, given in (entry.variants or {}).items():
        settings = {key: value for key, value in given.items() if key not in VARIANT_WORDS}
        what = given.get("summary", "")
        if "parent" in given:
            what = f"{what}; starts from a trained cell of {given['parent']}"
        rows.append([code(f"{name}.{variant}"), cell(prose(what)), cell(settings_text(settings))])
    yield from _section("Variants", ["method", "what it is", "settings"], rows)


def _controls(name: str, entry: MethodEntry) -> Iterator[str]:
    """Yield the rows that would explain its gain away, and whose gain it would explain away."""
    page = method_page(name)
    controlled = [other for other, one in METHODS.items() if name in {text.partition(".")[0] for text in one.controls}]
    if not entry.controls and not controlled:
        return
    yield from ["## Controls", ""]
    if entry.controls:
        shown = ", ".join(link(code(control), method_page(control), page) for control in entry.controls)
        yield from [f"What would explain its gain away, run with `--method all`: {shown}.", ""]
    if controlled:
        shown = ", ".join(link(code(other), method_page(other), page) for other in controlled)
        yield from [f"It, or a variant of it, is a control of {shown}.", ""]


def _claims_text(name: str) -> str:
    return f"Of the kept runs; the evidence is on {link('the page of claims', CLAIMS, method_page(name))}."


def _costs(name: str) -> Iterator[str]:
    """Yield what it costs: as planned, as measured and as published."""
    planned, measured = evidence.planned_rows(name), evidence.measured_rows(name)
    published = evidence.published_time_rows(name)
    if not (planned or measured or published):
        return
    yield from ["## Cost", ""]
    if planned:
        heading = ["task", "backbone", "parameters", "peak of a step", "times `mle`"]
        yield from ["A step of the small recipe on a GPU, as planned:", ""]
        yield from [*markdown_table(heading, planned, texts=2), ""]
    if measured:
        heading = ["method", "task", "backbone", "times `mle`", "pairs"]
        yield from ["Training seconds of the kept runs, beside `mle` of the same seed, recipe and machine:", ""]
        yield from [*markdown_table(heading, measured, texts=3), ""]
    if published:
        heading = ["where", "task", "backbone", "hours and hardware"]
        yield from ["What papers say of their training:", "", *markdown_table(heading, published), ""]


def _class_variants(name: str, entry: MethodEntry) -> Iterator[str]:
    """Yield a part for each variant that has a class of its own."""
    for variant, given in (entry.variants or {}).items():
        if "class" in given:
            kind: type[Any] = load(given["class"])
            yield from [f"## {name}.{variant}", "", sentence(given["summary"]), ""]
            yield from class_lines(kind, 3)
            yield from [*markdown_table(["", ""], fact_rows(kind)), ""]


def _section(title: str, heading: Sequence[str], rows: Sequence[Sequence[str]], text: str = "") -> Iterator[str]:
    """Yield a heading, a line of text and a table; nothing where there is no row."""
    if not rows:
        return
    yield from [f"## {title}", ""]
    if text:
        yield from [text, ""]
    yield from [*markdown_table(heading, rows), ""]
