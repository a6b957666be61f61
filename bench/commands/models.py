"""`bench models`: list and download the public models that metrics and backbones need."""

import argparse
import sys
from collections.abc import Sequence

from bench.base.registry import split_names
from bench.errors import BenchError, UsageError
from bench.pretrained.catalogue import UNKNOWN, PretrainedModel, catalogue, chosen_models


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `bench models`."""
    parser.add_argument("action", choices=["list", "get"], metavar="ACTION", help="list or get")
    parser.add_argument("names", nargs="*", metavar="NAME", help="names, or 'all'; list: default all")
    parser.add_argument("--accept-terms", action="store_true", help="get: accept a model's terms of use")


def run(given: argparse.Namespace) -> int:
    """List or get models; return the exit code."""
    names = split_names(given.names)
    if given.action == "get":
        return get_models(names, given.accept_terms)
    print("\n\n".join(map(text_of, chosen_models(names or ["all"]))))
    return 0


def text_of(model: PretrainedModel) -> str:
    """Return the facts about a model, and whether it is on this machine."""
    facts = {
        "title": model.title,
        "url": model.url,
        "revision": model.revision,
        "sha256": ", ".join(f"{file} {digest}" for file, digest in model.sha256.items()) or UNKNOWN,
        "size": model.size,
        "licence": model.licence,
        "folder": model.folder or "the installed packages",
        "fetch": model.fetch,
        "command": model.get_command,
        "then": model.use,
        "seen": model.seen,
    }
    first = f"{model.name:<26}{'here' if model.is_here else 'not here':<10}{', '.join(model.uses)}"
    return "\n".join([first, *(f"  {name:<12}{fact}" for name, fact in facts.items() if fact)])


def get_models(names: Sequence[str], accept_terms: bool) -> int:
    """Get models; return the code of the worst error."""
    from bench.pretrained.get import get

    if not names:
        raise UsageError(f"which model? bench models get NAME, one of {', '.join(catalogue())}")
    code = 0
    for model in chosen_models(names):
        try:
            get(model, print, accept_terms)
        except BenchError as error:
            print(f"bench: {error}", file=sys.stderr)
            code = max(code, error.exit_code)
    return code
