"""`bench models`: list and download the public models that metrics and backbones need."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from typing import Any

from bench.base.registry import split_names
from bench.cli_options import add_options
from bench.errors import BenchError, UsageError

LINES = ("title", "url", "revision", "sha256", "size", "licence", "folder", "fetch", "command", "then", "seen")
"""The facts that are printed of a model, a line each."""


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `bench models`."""
    parser.add_argument("action", choices=list(ACTIONS), metavar="ACTION", help="list or get")
    parser.add_argument("names", nargs="*", metavar="NAME", help="names, or 'all'; list: default all")
    parser.add_argument("--accept-terms", action="store_true", help="get: accept a model's terms of use")
    add_options(parser, "--json")


def run(given: argparse.Namespace) -> int:
    """List or get models; return the exit code."""
    return ACTIONS[given.action](given)


def list_models(given: argparse.Namespace) -> int:
    """Print the facts about models, and whether they are on this machine."""
    from bench.pretrained.catalogue import chosen_models

    rows = [model.as_dict() for model in chosen_models(split_names(given.names) or ["all"])]
    if given.json:
        print(json.dumps(rows, indent=1))
        return 0
    print("\n\n".join(map(text_of, rows)))
    return 0


def text_of(row: Mapping[str, Any]) -> str:
    """Return the facts about one model as text."""
    lines = [f"{row['name']:<16}{'here' if row['here'] else 'not here':<10}{', '.join(row['uses'])}"]
    for name in LINES:
        value = row[name]
        if isinstance(value, Mapping):
            value = ", ".join(f"{file} {digest}" for file, digest in value.items())
        if value:
            lines.append(f"  {name:<12}{value}")
    return "\n".join(lines)


def get_models(given: argparse.Namespace) -> int:
    """Get models; return the code of the worst error."""
    from bench.pretrained.catalogue import catalogue, chosen_models
    from bench.pretrained.get import get

    if not given.names:
        raise UsageError(f"which model? bench models get NAME, one of {', '.join(catalogue())}")
    code = 0
    for model in chosen_models(split_names(given.names)):
        try:
            get(model, print, given.accept_terms)
        except BenchError as error:
            print(f"bench: {error}", file=sys.stderr)
            code = max(code, error.exit_code)
    return code


ACTIONS = {"list": list_models, "get": get_models}
