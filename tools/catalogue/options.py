"""Options of a class or factory as a table: values, default and meaning, from annotations and the docstring."""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Literal, Union

from bench.base.options import Range, options_of
from bench.leaderboards.render.text_table import markdown_table
from tools.catalogue.docstrings import cell, code

KINDS = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}
UNIONS = (Union, types.UnionType)
HEADING = ["option", "values", "default", "what it is"]


def option_table(make: Callable[..., Any], arguments: Mapping[str, str], section: str) -> list[str]:
    """Return the lines of a table of options; none where there is no option.

    Args:
        make: a class or factory.
        arguments: what its docstring says of each.
        section: of the configuration, as typed after `--set`.
    """
    rows = []
    for name, (annotation, default) in options_of(make).items():
        typed, meaning = code(f"{section}.{name}"), arguments.get(name, "")
        rows.append([typed, cell(values_of(annotation)), cell(default_of(default)), cell(meaning)])
    if not rows:
        return []
    return markdown_table(HEADING, rows)


def values_of(annotation: Any) -> str:
    """Return which values an option takes, in words.

    >>> values_of(Annotated[float, Range(0, 1)]), values_of(Literal["a", "b"]), values_of(int | None)
    ('a number at least 0 and at most 1', '`a` or `b`', 'a whole number or `none`')
    """
    origin, inside = typing.get_origin(annotation), typing.get_args(annotation)
    if annotation is type(None):
        return code("none")
    if origin is Annotated:
        ranges = [str(rule) for rule in inside[1:] if isinstance(rule, Range)]
        return " ".join([values_of(inside[0]), *ranges])
    if origin is Literal:
        return " or ".join(code(value) for value in inside)
    if origin in UNIONS:
        return " or ".join(map(values_of, inside))
    if inspect.isclass(origin) and issubclass(origin, Sequence):
        return f"several with commas: {values_of(inside[0])}"
    return KINDS[annotation]


def default_of(default: Any) -> str:
    """Return a default as it is typed; `required` without one.

    >>> default_of(None), default_of(0.5), default_of("")
    ('`none`', '`0.5`', 'empty')
    """
    if default is inspect.Parameter.empty:
        return "required"
    if default == "":
        return "empty"
    if isinstance(default, (list, tuple)):
        return code(",".join(map(str, default)))
    if isinstance(default, bool) or default is None:
        return code(str(default).lower())
    return code(default)
