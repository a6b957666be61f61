"""The command line as a page: every command with its arguments, read from the parsers themselves.

No line is one of argparse's own help, whose layout is another in every release of Python.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from bench.cli import Parser, parser
from bench.commands import COMMANDS
from bench.leaderboards.render.markdown_table import markdown_table
from tools.catalogue.docstrings import cell, code, prose, sentence
from tools.catalogue.places import COMMAND_LINE as PAGE

__all__ = ["command_line_pages"]

COUNTS = {"?": "[{}]", "*": "[{} ...]", "+": "{} ..."}
"""How an argument that is given not once is written."""
UNTITLED = ("positional arguments", "options")
"""Of argparse's own groups."""


def command_line_pages() -> dict[str, str]:
    """Return the page of the command line, by name below `docs`."""
    return {PAGE: "\n".join(_page())}


def _page() -> Iterator[str]:
    yield from ["# Command line", "", "`bench COMMAND --help` says the same of one command.", ""]
    rows = [[f"[`bench {name}`](#bench-{name})", cell(prose(command.help))] for name, command in COMMANDS.items()]
    yield from [*markdown_table(["command", "what it does"], rows), ""]
    for name, one in _commands(parser()).items():
        one.read_options()
        yield from [f"## bench {name}", "", sentence(COMMANDS[name].help), ""]
        yield from _arguments(one)
        for action, inner in _commands(one).items():
            yield from [f"### bench {name} {action}", "", *_arguments(inner)]


def _commands(of: argparse.ArgumentParser) -> dict[str, Parser]:
    """Return the parsers of the commands below a parser, by name."""
    found: dict[str, Parser] = {}
    for action in of._actions:
        if isinstance(action, argparse._SubParsersAction):
            found |= action.choices
    return found


def _arguments(of: argparse.ArgumentParser) -> Iterator[str]:
    """Yield what a command takes, a table for each group of its arguments."""
    for group in of._action_groups:
        rows = [_row(of, action) for action in group._group_actions if _is_shown(action)]
        if not rows:
            continue
        if group.title not in UNTITLED:
            yield from [sentence(group.title or "").replace(".", ":"), ""]
        yield from [*markdown_table(["argument", "what it is"], rows), ""]


def _is_shown(action: argparse.Action) -> bool:
    """Whether an argument is for people: `--help` is known, and some have no help."""
    return action.help != argparse.SUPPRESS and not isinstance(action, argparse._HelpAction)


def _row(of: argparse.ArgumentParser, action: argparse.Action) -> list[str]:
    """Return an argument as typed, and what it is, with the values it takes where they are few."""
    text = (action.help or "") % {**vars(action), "prog": of.prog}
    shown = prose(text)
    if action.choices is not None and not isinstance(action, argparse._SubParsersAction):
        shown = f"{shown} (one of {', '.join(code(choice) for choice in action.choices)})".strip()
    return [cell(code(_typed(action))), cell(shown)]


def _typed(action: argparse.Action) -> str:
    """Return an argument as it is typed, with a name for its value."""
    name = action.dest
    if isinstance(action.metavar, str):
        name = action.metavar
    elif action.option_strings:
        name = action.dest.upper()
    if action.nargs != 0:
        name = COUNTS.get(str(action.nargs), "{}").format(name)
    if not action.option_strings:
        return name
    options = ", ".join(action.option_strings)
    if action.nargs == 0:
        return options
    return f"{options} {name}"
