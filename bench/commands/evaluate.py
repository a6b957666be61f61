"""`bench evaluate MODEL`: the metrics of a task for a model that was trained elsewhere."""

import argparse

from bench.commands import run as run_command
from bench.errors import UsageError
from bench.models import EXTERNAL

OF_TRAINING = {"methods": "--method", "backbone": "--backbone", "trials": "--trials"}
"""Options of `bench run` that choose what is trained, by their names in Python."""


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `bench evaluate`: the model, and those of `bench run`."""
    parser.add_argument("model", metavar="MODEL", help="a folder of transformers, or a hub id")
    run_command.options(parser)
    for action in parser._actions:
        if action.dest in OF_TRAINING:  # refused below
            action.help = argparse.SUPPRESS


def run(given: argparse.Namespace) -> int:
    """Evaluate a model without training it; return the exit code.

    Raises:
        UsageError: an option of training was given.
    """
    from bench.integrations.folder import place_of

    for name, option in OF_TRAINING.items():
        if getattr(given, name):
            raise UsageError(f"{option} is an option of bench run: bench evaluate trains nothing")
    given.methods, given.backbone = [EXTERNAL], place_of(given.model)
    return run_command.run(given)
