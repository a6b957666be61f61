"""The commands of `bench`: this table, and one file for each, which holds its options and what it does.

A new command is one file with `options(parser)` and `run(given)`, and its line here. `bench --help` reads the table
alone; the file of a command is imported when that command is typed. So a file imports at its top only what is light,
and torch, numpy, lightning, rich and yaml inside its functions.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from types import ModuleType

__all__ = ["COMMANDS", "Command"]


@dataclass(frozen=True)
class Command:
    """One command of the program.

    Args:
        module: its file, which has `options(parser)`, adding its options to an `argparse.ArgumentParser`, and
            `run(given)`, taking what was typed and returning the exit code.
        help: one line for `bench --help`.
        makes_models: whether it needs Lightning; without it a command starts three seconds sooner.
    """

    module: str
    help: str
    makes_models: bool = False

    def load(self) -> ModuleType:
        """Import the command's file."""
        return importlib.import_module(self.module)


COMMANDS = {
    "run": Command("bench.commands.run", "train, evaluate and score what is missing", makes_models=True),
    "check": Command("bench.commands.check", "what every objective must keep to, your own too", makes_models=True),
    "doctor": Command("bench.commands.doctor", "what this machine has and lacks"),
    "list": Command("bench.commands.list", "methods, tasks, backbones and metrics there are, and where data is"),
    "store": Command("bench.commands.store", "state, size, verification, deleting and joining of stored runs"),
    "report": Command("bench.commands.report", "leaderboards from the store"),
    "score": Command("bench.commands.score", "metrics over stored rows, without a model"),
    "import": Command("bench.commands.import", "texts of another system, as rows and lines of leaderboards"),
    "models": Command("bench.commands.models", "public models that metrics and backbones need, and how to get them"),
    "claims": Command("bench.commands.claims", "what papers claim, and what stored cells say of it"),
    "reproduce": Command(
        "bench.commands.reproduce", "a paper's table or figure from our cells, with verdicts", makes_models=True
    ),
    "compare": Command("bench.commands.compare", "what two cells differ in besides the objective"),
    "samples": Command("bench.commands.samples", "what methods wrote, side by side"),
    "human": Command("bench.commands.human", "texts for people to judge, and what they answered"),
}
