"""The API: a page for each public module with signatures and docstrings, and an index of what `bench` itself has.

Files are read as syntax, so what is shown is what is written: a default is the same text on every release of Python.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import bench
from bench.leaderboards.render.text_table import markdown_table
from tests.shipped import MODULES
from tools.catalogue.docstrings import cell, code, read_docstring

FOLDER = "docs/api"
PUBLIC = (
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
    "bench.base.registry",
    "bench.base.options",
    "bench.testing",
    "bench.errors",
)
"""What may be called by those who write a method, task, metric, backbone or decoding of their own."""
SECTIONS = ("Args", "Returns", "Yields", "Raises")


def pages() -> dict[str, Iterator[str]]:
    """Return the lines of every page of the API, by its path in the repository."""
    found = {f"{FOLDER}/{module}.md": _module(source_of(module)) for module in PUBLIC}
    return {f"{FOLDER}/bench.md": _index(), **found}


def _index() -> Iterator[str]:
    """Yield the page of the package: its own names, and every module that has a page."""
    docstring = read_docstring(bench.__doc__)
    yield from ["# bench", "", docstring.lead, ""]
    for block in docstring.blocks:
        yield from [block, ""]
    rows = []
    for name, place in bench.PLACES.items():
        module, _, inside = place.partition(":")
        shown = f"[{code(place)}]({module}.md#{inside.lower()})" if module in PUBLIC else code(place)
        rows.append([code(f"bench.{name}"), shown])
    yield from [*markdown_table(["name", "where it is"], rows), "", "## Modules", ""]
    rows = []
    for module in PUBLIC:
        what = read_docstring(source_of(module).docstring).lead
        rows.append([f"[{code(module)}]({module}.md)", cell(what)])
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


# Source files as data ----------------------------------------------------------------------------------------------


WIDTH = 100
Function = ast.FunctionDef | ast.AsyncFunctionDef
Definition = ast.ClassDef | Function


@dataclass(frozen=True)
class Source:
    """A module.

    Args:
        name: as it is imported.
        text: of its file.
        tree: its syntax.
    """

    name: str
    text: str
    tree: ast.Module

    @property
    def docstring(self) -> str:
        """The module's."""
        return ast.get_docstring(self.tree) or ""

    @property
    def public(self) -> list[str]:
        """The names of `__all__`, else classes and functions without an underscore, in the order of the file."""
        for node in self.tree.body:
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
                return list(ast.literal_eval(node.value))
        return [name for name in self.definitions if not name.startswith("_")]

    @property
    def definitions(self) -> dict[str, Definition]:
        """Classes and functions, by name."""
        return {node.name: node for node in self.tree.body if isinstance(node, Definition)}

    def definition(self, name: str) -> tuple[Source, Definition] | None:
        """Return where a class or function is defined, here or in a module it is imported from; None for a value."""
        if name in self.definitions:
            return self, self.definitions[name]
        for node in ast.walk(self.tree):
            if isinstance(node, ast.ImportFrom) and node.module in MODULES:
                for one in node.names:
                    if name == (one.asname or one.name):
                        return source_of(node.module).definition(one.name)
        return None


@cache
def source_of(module: str) -> Source:
    """Return a module of the package by the name it is imported by."""
    text = MODULES[module].read_text(encoding="utf-8")
    return Source(module, text, ast.parse(text))


def methods_of(node: ast.ClassDef) -> Iterator[Function]:
    """Yield the public methods and properties of a class that say what they are."""
    for inner in node.body:
        if isinstance(inner, Function) and not inner.name.startswith("_") and ast.get_docstring(inner):
            yield inner


def values_of_class(source: Source, node: ast.ClassDef) -> list[str]:
    """Return the lines of a class that give its annotated names, with what is said behind them."""
    lines = source.text.splitlines()
    found = []
    for inner in node.body:
        if isinstance(inner, ast.AnnAssign) and not ast.unparse(inner.target).startswith("_"):
            found += lines[inner.lineno - 1 : inner.end_lineno]
    return [line.removeprefix("    ") for line in found]


def signature(node: Definition) -> list[str]:
    """Return the lines of a signature: one where it fits, else a line for each argument.

    >>> signature(ast.parse("def f(a: int, *, b='x') -> str: ...").body[0])
    ["f(a: int, *, b='x') -> str"]
    """
    if isinstance(node, ast.ClassDef):
        return _class_signature(node)
    result = ""
    if node.returns is not None:
        result = f" -> {ast.unparse(node.returns)}"
    if any(ast.unparse(one) in ("property", "cached_property") for one in node.decorator_list):
        return [f"{node.name}{result}"]
    return _folded(node.name, _arguments(node.args), result)


def _class_signature(node: ast.ClassDef) -> list[str]:
    """Return that of its constructor, and what it is derived from."""
    bases = ", ".join(map(ast.unparse, node.bases))
    for inner in node.body:
        if isinstance(inner, Function) and inner.name == "__init__":
            return _folded(f"class {node.name}", _arguments(inner.args), f"  # {bases}" if bases else "")
    return [f"class {node.name}({bases})" if bases else f"class {node.name}"]


def _folded(name: str, arguments: list[str], result: str) -> list[str]:
    line = f"{name}({', '.join(arguments)}){result}"
    if len(line) <= WIDTH:
        return [line]
    return [f"{name}(", *(f"    {argument}," for argument in arguments), f"){result}"]


def _arguments(given: ast.arguments) -> list[str]:
    """Return arguments as they are written, without `self` and `cls`."""
    positional = [*given.posonlyargs, *given.args]
    defaults = [None] * (len(positional) - len(given.defaults)) + list(given.defaults)
    found = [_argument(one, default) for one, default in zip(positional, defaults, strict=True)]
    if given.posonlyargs:
        found.insert(len(given.posonlyargs), "/")
    if given.vararg:
        found.append(f"*{_argument(given.vararg, None)}")
    elif given.kwonlyargs:
        found.append("*")
    found += [_argument(one, default) for one, default in zip(given.kwonlyargs, given.kw_defaults, strict=True)]
    if given.kwarg:
        found.append(f"**{_argument(given.kwarg, None)}")
    return [argument for argument in found if argument not in ("self", "cls")]


def _argument(one: ast.arg, default: ast.expr | None) -> str:
    text = one.arg
    if one.annotation is not None:
        text += f": {ast.unparse(one.annotation)}"
    if default is None:
        return text
    if one.annotation is not None:
        return f"{text} = {ast.unparse(default)}"
    return f"{text}={ast.unparse(default)}"
