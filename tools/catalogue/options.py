"""Options of a class or factory as a table: values, default and meaning, from annotations and the docstring."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from bench.base.options import default_text, options_of, words_of
from bench.leaderboards.render.text_table import markdown_table
from tools.catalogue.docstrings import cell, code

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
        rows.append([typed, cell(words_of(annotation)), cell(default_of(default)), cell(meaning)])
    if not rows:
        return []
    return markdown_table(HEADING, rows)


def default_of(default: Any) -> str:
    """Return a default as it is typed; `required` without one."""
    text = default_text(default)
    return text if text in ("required", "empty") else code(text)
