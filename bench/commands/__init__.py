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
    """

    module: str
    help: str

    def load(self) -> ModuleType:
        """Import the command's file."""
        return importlib.import_module(self.module)


COMMANDS = {
    "run": Command("bench.commands.run", "train, evaluate and score the runs that are missing"),
    "evaluate": Command("bench.commands.evaluate", "compute the metrics of a task for a model trained elsewhere"),
    "report": Command("bench.commands.report", "show leaderboards of stored runs"),
    "compare": Command("bench.commands.compare", "list every setting in which two runs differ"),
    "samples": Command("bench.commands.samples", "show generated texts side by side"),
    "score": Command("bench.commands.score", "compute metrics from stored predictions, without a model"),
    "list": Command("bench.commands.list", "list methods, tasks, backbones, metrics, decodings and data"),
    "models": Command("bench.commands.models", "list and download pretrained models"),
    "check": Command("bench.commands.check", "test an objective, task, metric, backbone or decoding"),
    "reproduce": Command("bench.commands.reproduce", "run a table or figure of a paper and show both results"),
    "claims": Command("bench.commands.claims", "show what stored runs say about the claims of the papers"),
    "human": Command("bench.commands.human", "export texts for human evaluation and import the answers"),
    "import": Command("bench.commands.import", "score texts that another system generated"),
    "store": Command("bench.commands.store", "show, verify, join and export stored runs"),
    "doctor": Command("bench.commands.doctor", "check this machine: packages, devices, data and models"),
}
