"""The catalogue of backbones: a table of all, and what each function that makes one takes."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator

from bench.leaderboards.render.markdown_table import markdown_table
from bench.models.backbones import BACKBONES
from tools.catalogue.docstrings import cell, code, prose, read_docstring
from tools.catalogue.options import option_table
from tools.catalogue.places import BACKBONES as PAGE
from tools.catalogue.places import FAMILIES, link

__all__ = ["backbone_pages"]

SAME = re.compile(r"Args: as `(\w+)`.*")
"""In place of a section: the arguments are those of another function of the file."""


def backbone_pages() -> dict[str, str]:
    """Return the page of all backbones, by name below `docs`."""
    return {PAGE: "\n".join(_page())}


def _page() -> Iterator[str]:
    yield from ["# Backbones", ""]
    families = link("families of `transformers`", FAMILIES, PAGE)
    yield f"`--backbone NAME` takes one, the id of a model on the hub or a folder with one. Which {families} are exact."
    yield ""
    rows = []
    for name, entry in BACKBONES.items():
        hub = code(entry.hub) if entry.hub else ""
        rows.append([code(name), cell(prose(entry.summary)), entry.architecture, cell(prose(entry.paper)), hub])
    yield from [*markdown_table(["backbone", "what it is", "architecture", "source", "weights"], rows), ""]
    makers: dict[str, list[str]] = {}
    for name, entry in BACKBONES.items():
        makers.setdefault(entry.target, []).append(name)
    for target, names in makers.items():
        yield from _maker(target, names)


def _maker(target: str, names: list[str]) -> Iterator[str]:
    """Yield the part of a function that makes backbones."""
    make = BACKBONES[names[0]].load()
    docstring, arguments = read_docstring(make.__doc__), read_docstring(make.__doc__).arguments
    yield from [f"## {', '.join(names)}", "", f"Made by {code(target)}.", ""]
    for block in [docstring.lead, *docstring.blocks]:
        same = SAME.fullmatch(block)
        if same:
            arguments = read_docstring(getattr(sys.modules[make.__module__], same[1]).__doc__).arguments
        else:
            yield from [block, ""]
    options = option_table(make, arguments, "backbone")
    if options:
        yield from [*options, ""]
