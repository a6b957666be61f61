"""LightningCLI over the suite: `python -m bench.lightning fit --model HistAlign --data LogicNLG`.

For people who drive everything by Lightning's own command line and its configuration files. Model and task are made as
`bench.make` makes them; the trainer's options are Lightning's, and what is not given of steps, clipping and precision
is the recipe's. `bench run` stays the command whose results are stored and compared.

Needs the extra `cli`: pip install 'objective-bench[cli]'.
"""

from __future__ import annotations

import inspect
import sys
from typing import Any

from jsonargparse import ActionConfigFile  # type: ignore[attr-defined]
from lightning.pytorch.cli import LightningArgumentParser, LightningCLI

from bench.cells.cell import Cell
from bench.cells.make import cell_of, made
from bench.errors import BenchError
from bench.models import METHODS
from bench.models.core.objective import Objective
from bench.tasks import TASKS
from bench.tasks.core.task import Task


class Parser(LightningArgumentParser):
    """Takes the options of methods and tasks; backbones are chosen by name and made by the suite."""

    def add_lightning_class_args(self, lightning_class: Any, nested_key: str, *_: Any, **named: Any) -> Any:
        """Add `--model` and `--data` as classes that are not made by the parser; the trainer as ever."""
        if lightning_class not in (Objective, Task):
            return super().add_lightning_class_args(lightning_class, nested_key, *_, **named)
        self.add_subclass_arguments(
            lightning_class, nested_key, fail_untyped=False, required=True, skip={"backbone"}, instantiate=False
        )
        return []


class CLI(LightningCLI):
    """Lightning's command line with our classes behind it."""

    def __init__(self, words: list[str] | None = None) -> None:
        for entry in [*METHODS.values(), *TASKS.values()]:
            entry.load()  # so that a class can be named without its module
        super().__init__(
            Objective,
            Task,
            subclass_mode_model=True,
            subclass_mode_data=True,
            auto_configure_optimizers=False,
            seed_everything_default=0,
            args=words,
        )

    def init_parser(self, **settings: Any) -> LightningArgumentParser:
        """Return the parser of one subcommand."""
        parser = Parser(**settings)
        parser.add_argument("-c", "--config", action=ActionConfigFile, help="a YAML file; later options win over it")
        return parser

    def add_arguments_to_parser(self, parser: LightningArgumentParser) -> None:
        """Add what `bench run` asks for too."""
        parser.add_argument("--preset", default="small", help="small or paper: the recipe")
        parser.add_argument("--backbone", type=str | None, default=None, help="name, hub id or folder")
        parser.add_argument(
            "--set", type=dict[str, Any], default={}, help='more options, e.g. {"trainer.batch_size": 8}'
        )
        parser.add_argument("--limit", type=int | None, default=None, help="rows kept of each split, for debugging")
        parser.add_argument("--data_dir", type=str | None, default=None, help="a folder with the task's data")
        parser.add_argument("--results", default="results", help="the store with what a method is fine-tuned from")

    def instantiate_classes(self) -> None:
        """Make trainer, objective and task."""
        config = self.config[self.subcommand] if self.subcommand else self.config
        cell = cell_of(
            named(config.data.class_path),
            named(config.model.class_path),
            config.seed_everything or 0,
            config.preset,
            config.backbone,
            {**options(config.data, "task"), **options(config.model, "method"), **config.set},
            config.limit,
            config.data_dir,
            config.results,
        )
        self.model, self.datamodule = made(cell)
        take_recipe(config.trainer, cell, len(self.datamodule.fed_rows("train")))
        self.config_init = self.parser.instantiate_classes(self.config)
        self._add_instantiators()
        self.trainer = self.instantiate_trainer()


def take_recipe(trainer: Any, cell: Cell, rows: int) -> None:
    """Fill in what nobody has said of how long, how clipped and how precise the training is."""
    recipe = cell.config.trainer
    if trainer.max_steps == -1 and trainer.max_epochs is None and trainer.max_time is None:
        trainer.max_steps = recipe.n_steps(rows)
    if trainer.gradient_clip_val is None:
        trainer.gradient_clip_val = recipe.clip or None
    if trainer.precision is None:
        trainer.precision = recipe.precision


def named(path: str) -> Any:
    """Return the class of a dotted path."""
    module, _, name = path.rpartition(".")
    return getattr(sys.modules[module], name)


def options(config: Any, section: str) -> dict[str, Any]:
    """Return what was given to a class as `section.name` to value.

    A value that is the constructor's default counts as not given: the recipe may have another one, and `--set` wins.
    """
    given = vars(config.init_args) if "init_args" in config else {}
    defaults = inspect.signature(named(config.class_path)).parameters
    return {f"{section}.{name}": value for name, value in given.items() if value != defaults[name].default}


if __name__ == "__main__":
    try:
        CLI()
    except BenchError as error:
        sys.exit(f"bench: {error}")
