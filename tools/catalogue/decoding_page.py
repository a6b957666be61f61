"""The catalogue of decodings: what is typed, what each does, its settings, and who chooses its tokens."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bench.config.decoding import parse
from bench.decodings import DECODINGS
from bench.decodings.core.decoding import Decoding
from bench.decodings.core.sampler import Sampler
from bench.decodings.core.settings import REQUIRED, Setting
from bench.leaderboards.render.markdown_table import markdown_table
from tools.catalogue.docstrings import Docstring, cell, code, prose, read_docstring
from tools.catalogue.places import DECODINGS as PAGE

__all__ = ["decoding_pages"]

HEADING = ["typed", "values", "default", "what it is"]


def decoding_pages() -> dict[str, str]:
    """Return the page of all decodings, by name below `docs`."""
    return {PAGE: "\n".join(_page())}


def _page() -> Iterator[str]:
    yield from ["# Decodings", ""]
    yield "`--decode` takes several with commas between them, each with its settings behind `+`."
    yield ""
    rows = []
    for name, entry in DECODINGS.items():
        kind = entry.load()
        paper, draws = cell(prose(entry.paper)), "yes" if kind.samples else "no"
        rows.append([code(_example(name, kind)), cell(prose(entry.summary)), paper, draws, _loop(name, kind)])
    yield from [*markdown_table(["typed", "what it is", "source", "draws", "who chooses tokens"], rows), ""]
    for name, entry in DECODINGS.items():
        yield from _one(name, entry.load())
    yield from ["## Settings of every decoding", ""]
    yield from [*_settings(Decoding.settings(), read_docstring(Decoding.__doc__)), ""]


def _one(name: str, kind: type[Any]) -> Iterator[str]:
    """Yield the part of a decoding."""
    docstring = read_docstring(kind.__doc__)
    yield from [f"## {name}", ""]
    for block in [docstring.lead, *docstring.blocks]:
        yield from [block, ""]
    own = {setting: about for setting, about in kind.settings().items() if setting not in Decoding.settings()}
    if own:
        yield from [*_settings(own, docstring), ""]


def _settings(settings: Mapping[str, Setting], docstring: Docstring) -> list[str]:
    """Return the lines of a table of settings."""
    shared = read_docstring(Sampler.__doc__).arguments
    rows = []
    for name, setting in settings.items():
        typed, default = f"+{name}=", code(setting.default_text)
        if setting.value:
            typed = setting.example
        if setting.default is REQUIRED:
            default = "required"
        meaning = docstring.arguments.get(name) or shared.get(name, "")
        rows.append([code(typed), setting.words, default, cell(meaning)])
    return markdown_table(HEADING, rows)


def _example(name: str, kind: type[Any]) -> str:
    """Return what is typed for a decoding, with an example of its value."""
    for setting in kind.settings().values():
        if setting.value:
            return str(setting.example)
    return name


def _loop(name: str, kind: type[Any]) -> str:
    """Return whether the library chooses the tokens, or a loop of the decoding's own."""
    (made,) = parse(_example(name, kind))
    if made.own_loop:
        return "its own loop"
    if any("own_loop" in vars(base) for base in kind.__mro__ if base is not Decoding):
        return "the library; its own loop with some settings"
    if kind.samples:
        return "a seeded sampler"
    return "the library"
