"""Docstrings are text that Markdown shows as it is meant: the API and the catalogue are made of them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

from tests.shipped import MODULES

DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
TRAPS = {
    "a rule of a table or heading of reStructuredText; write a Markdown table": re.compile(r"^\s*[=~^-]{4,}[=~^ -]*$"),
    "a line that ends in ::, which is shown; one colon is enough": re.compile(r"::$"),
    "a directive of reStructuredText, which is shown": re.compile(r"^\s*\.\. \w"),
    "a field or role of reStructuredText, which is shown": re.compile(r"^\s*:(param|return|raises|rtype)|:\w+:`"),
    "double backticks; one is enough": re.compile(r"``[^`\s][^`]*``"),
    "a heading, which would be one of the page": re.compile(r"^#{1,6} "),
}


def docstrings(tree: ast.Module) -> Iterator[str]:
    """Yield the docstrings of a module, and of what is public in it."""
    for node in ast.walk(tree):
        if isinstance(node, DOCUMENTED) and not getattr(node, "name", "").startswith("_"):
            yield ast.get_docstring(node) or ""


def trapped(text: str) -> list[str]:
    """Return what is wrong with a docstring, a line of it with a reason."""
    return [f"{line!r}: {reason}" for line in text.splitlines() for reason, trap in TRAPS.items() if trap.search(line)]


def test_no_docstring_has_markup_that_is_shown() -> None:
    found = {}
    for name, path in MODULES.items():
        wrong = [line for text in docstrings(ast.parse(path.read_text(encoding="utf-8"))) for line in trapped(text)]
        if wrong:
            found[name] = wrong
    assert found == {}


@pytest.mark.parametrize("line", ["===== ====", "  -----", "As here::", ".. note:: x", ":param x: y", "``x``", "# x"])
def test_each_trap_is_seen(line: str) -> None:
    assert trapped(line)


@pytest.mark.parametrize("line", ["a - b", "|---|---|", "x[::2] of a", "`a:b`", "-- and --", "1: a == b"])
def test_text_is_no_trap(line: str) -> None:
    assert trapped(line) == []
