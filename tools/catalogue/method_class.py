"""What the class of a method says of itself: equations, docstring, options, hooks, and what it is bound to."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from typing import Any

from bench.leaderboards.render.markdown_table import markdown_table
from tools.catalogue.docstrings import cell, code, prose, read_docstring
from tools.catalogue.hooks import hook_rows
from tools.catalogue.options import option_table

__all__ = ["class_lines", "fact_rows", "settings_text"]


def class_lines(kind: type[Any], level: int) -> Iterator[str]:
    """Yield the lines about the class of a method.

    Args:
        kind: its class.
        level: of the headings.
    """
    module, docstring = read_docstring(inspect.getmodule(kind).__doc__), read_docstring(kind.__doc__)
    for equation in kind.equations:
        yield from ["$$", equation, "$$", ""]
    for block in module.blocks:
        if not block.startswith("Shapes:"):  # of the file's code
            yield from [block, ""]
    for block in [docstring.lead, *docstring.blocks]:
        yield from [block, ""]
    options = option_table(kind, docstring.arguments, "method")
    if options:
        yield from [f"{'#' * level} Options", "", *options, ""]
    hooks = list(hook_rows(kind))
    if hooks:
        yield from [f"{'#' * level} Hooks it fills", "", *markdown_table(["hook", "what it does", "class"], hooks), ""]


def fact_rows(kind: type[Any]) -> list[list[str]]:
    """Return what a method is bound to, a row each; nothing of what is as it is for most."""
    rows = [["class", code(f"{kind.__module__}:{kind.__name__}")], ["version", str(kind.version)]]
    if kind.fields:
        rows.append(["task fields", ", ".join(map(code, sorted(kind.fields)))])
    if hasattr(kind, "architectures"):
        rows += list(_objective_rows(kind))
    return [[name, cell(text)] for name, text in rows]


def _objective_rows(kind: type[Any]) -> Iterator[list[str]]:
    """Yield the rows of a method with a model."""
    yield ["backbones", _backbones(kind)]
    if kind.parent:
        yield ["starts from", f"a trained cell of {code(kind.parent)}"]
    if kind.training_free:
        yield ["training", "none: it takes the weights as they are"]
    if kind.second:
        yield ["second model", f"a frozen cell of {code(kind.second)}"]
    if kind.own_decoding:
        yield ["decodes by", code(kind.own_decoding)]
    if kind.settings:
        yield ["settings that make it", settings_text(kind.settings)]
    if kind.defaults:
        yield ["settings where a recipe says nothing", settings_text(kind.defaults)]
    if kind.uses_token_counts:
        yield ["token counts", "read from the training targets"]
    if not kind.batch_invariant:
        yield ["batches", "the loss of a row depends on which rows share its micro-batch"]
    if not kind.training_free and kind.settings.get("trainer.steps") != 0:
        yield ["a search tunes", ", ".join(f"{code(name)} {prose(one.text)}" for name, one in kind.space.items())]


def _backbones(kind: type[Any]) -> str:
    text = " and ".join(kind.architectures)
    if kind.own_backbone:
        text = f"{code(kind.own_backbone)}, {text}"
    if not kind.runs_on_copying:
        text = f"{text}; none that copies"
    return text


def settings_text(settings: Mapping[str, Any]) -> str:
    """Return settings as typed after `--set`."""
    return ", ".join(code(f"{name}={value}") for name, value in settings.items())
