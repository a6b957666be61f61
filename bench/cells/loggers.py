"""Loggers: copies of a run's curves, scores and samples for other programs. No logger changes a stored result.

A logger receives the configuration, curves, scores and samples of a run, and nothing else: no code, environment,
command line or console output. A logger that raises an error is named in one warning and then left out. Only the
process that leads a run has loggers.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from copy import deepcopy
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.base.registry import load
from bench.cells.cell import Cell, described
from bench.config.arguments import RunArguments
from bench.errors import UsageError
from bench.training.events import SILENT, Events

if TYPE_CHECKING:
    from lightning.pytorch.loggers import Logger

WANDB = "wandb"
"""The only logger with a name; any other is `module:Name` or `file.py:Name`."""
PROJECT = "objective-bench"
"""W&B project of the runs unless WANDB_PROJECT names another one."""
TIMEOUT_S = 8
"""Longest wait in seconds for W&B to begin a run, and again to end one."""
STEP = "trainer/global_step"
"""Lightning's name for the step of a training."""

SAMPLES = 20
"""Rows of a table of samples."""


def find_logger(name: str) -> Any:
    """Return the class of Lightning's `Logger` with a name, or a function that returns a logger.

    Raises:
        UsageError: no logger has this name.
        MissingError: its module, its file or a package that it needs is missing.
    """
    if name == WANDB:
        return wandb_logger
    if ":" in name:
        return load(name)
    raise UsageError(
        f"no logger '{name}'; --logger takes {WANDB}, or a class as module:Name, such as "
        f"lightning.pytorch.loggers:CSVLogger"
    )


def wandb_logger(key: str, label: str, group: str) -> Logger:
    """Return a logger of one run to W&B. A run that is logged again continues, and one of the user is left alone.

    Args:
        key: of the run, the id on W&B.
        label: the name of the run that people see.
        group: task/method.
    """
    # W&B would send stack traces to its maker, and wait for a silent server when the process ends.
    os.environ.setdefault("WANDB_ERROR_REPORTING", "false")
    import wandb
    from lightning.pytorch.loggers import WandbLogger

    settings = wandb.Settings(
        init_timeout=TIMEOUT_S,
        finish_timeout=TIMEOUT_S,
        silent=True,
        console="off",
        save_code=False,
        disable_code=True,
        disable_git=True,
        x_disable_meta=True,
        x_disable_stats=True,
        x_save_requirements=False,
    )
    project = os.environ.get("WANDB_PROJECT") or PROJECT
    begun = wandb.init(
        project=project, id=key, name=label, group=group, resume="allow", reinit="create_new", settings=settings
    )
    begun.define_metric(STEP)
    begun.define_metric("*", step_metric=STEP, step_sync=True)  # a validation is logged after later training steps
    return WandbLogger(project=project, experiment=begun)


class Logs:
    """The loggers of one `bench run`.

    Args:
        arguments: of the command; `loggers` and `execution.log_dir` are read.
        warn: called with the warning when a logger fails.
    """

    def __init__(self, arguments: RunArguments, warn: Callable[[str], None]) -> None:
        self.names, self.folder = tuple(dict.fromkeys(arguments.loggers)), Path(arguments.execution.log_dir)
        self.off: set[str] = set()  # loggers that have failed
        self.warn = warn

    @contextmanager
    def run(self, cell: Cell, events: Events = SILENT) -> Iterator[OpenRun]:
        """Open a run on every logger, yield it, and close it as a success or a failure; `events` has each event too."""
        opened = OpenRun(self, events)
        for name in self.names:
            self.attempt(name, partial(opened.begin, name, cell))
        try:
            yield opened
        except BaseException:
            opened.close("failed")
            raise
        opened.close("success")

    def attempt(self, name: str, act: Callable[[], object]) -> None:
        """Call a function of a logger unless it has failed before; an error becomes a warning."""
        if name in self.off:
            return
        try:
            act()
        except (Exception, SystemExit) as error:
            self.off.add(name)
            reason = f"{type(error).__name__}: {first_line(error)}"
            self.warn(f"logger '{name}' is off for this run ({reason}); results are not touched")


class OpenRun(Events):
    """One run on all loggers of a command that have not failed; it passes every event on to the progress line."""

    def __init__(self, logs: Logs, events: Events) -> None:
        self.logs, self.events = logs, events
        self.warn, self.stage, self.beat = events.warn, events.stage, events.beat  # type: ignore[method-assign]
        self.loggers: dict[str, Logger] = {}
        self.trained = self.validated = 0  # the last steps that were logged: too little memory begins a training again

    def begin(self, name: str, cell: Cell) -> None:
        """Make one logger and give it the configuration of the run.

        A control that reads the run of another method is logged as a separate run.
        """
        from lightning.pytorch.loggers import Logger
        from lightning.pytorch.utilities import rank_zero_only

        rank_zero_only.rank = 0  # type: ignore[attr-defined]  # this process leads, whatever number Slurm gave it
        key = f"{cell.key}-{cell.method.name}" if cell.method.only_reads else cell.key
        group, kind = f"{cell.config.task}/{cell.config.method}", find_logger(name)
        if name == WANDB:
            logger = kind(key, cell.label, group)
        else:
            logger = kind(save_dir=str(self.logs.folder / name.rpartition(":")[2]), name=f"{group}/{key}")
        if not isinstance(logger, Logger):
            raise TypeError(f"expected a Lightning Logger, and '{name}' made {type(logger).__name__}")
        self.loggers[name] = logger
        logger.log_hyperparams(described(cell))

    def step(self, step: int, steps: int, values: dict[str, float]) -> None:
        """Show and log a training step, unless it was logged before a training began again."""
        self.events.step(step, steps, values)
        if step > self.trained:
            self.trained = step
            self.metrics({f"train/{name}": value for name, value in values.items()}, step)

    def validation(self, step: int, columns: Mapping[str, float]) -> None:
        """Show and log the validation at a step, unless it was logged before a training began again."""
        self.events.validation(step, columns)
        if step > self.validated:
            self.validated = step
            self.metrics({f"validation/{name}": value for name, value in columns.items()}, step)

    def scores(self, files: Sequence[Mapping[str, Any]], step: int) -> None:
        """Log every score that has a value."""
        named: dict[str, float] = {}
        for content in files:
            decoding = content["of"]["decoding"]
            suffix = f"/{decoding['name']}" if decoding else ""
            if "sampling_seed" in content["of"]:
                suffix += f"/sampling seed {content['of']['sampling_seed']}"
            scored = [value for value in content["values"] if value["value"] is not None]
            named |= {f"test/{value['name']}{suffix}": value["value"] for value in scored}
        if named:
            self.metrics(named, step)

    def samples(self, cell: Cell) -> None:
        """Log the first generated texts of each decoding with their sources and references.

        They go to loggers with the method `log_table`, as Lightning's W&B logger has it.
        """
        loggers = {name: logger for name, logger in self.loggers.items() if hasattr(logger, "log_table")}
        try:
            tables = sample_tables(cell) if loggers else {}
        except Exception as error:
            self.logs.warn(f"samples of {cell.label} are not logged ({type(error).__name__}: {first_line(error)})")
            return
        for decoding, rows in tables.items():
            for name, logger in loggers.items():
                table = {"columns": ["id", "source", "reference", "text"], "data": deepcopy(rows)}
                self.logs.attempt(name, partial(logger.log_table, f"samples/{decoding}", **table))

    def metrics(self, values: Mapping[str, float], step: int) -> None:
        """Log values of one step; each logger has its own copy."""
        for name, logger in self.loggers.items():
            self.logs.attempt(name, partial(logger.log_metrics, dict(values), step=step))

    def close(self, status: str) -> None:
        """End the run as a `success` or as `failed`; also on a logger that has failed, which may hold a connection."""
        for name, logger in self.loggers.items():
            if name in self.logs.off:
                with suppress(Exception, SystemExit):
                    finish(name, logger, "failed")
            else:
                self.logs.attempt(name, partial(finish, name, logger, status))


def finish(name: str, logger: Any, status: str) -> None:
    """End the run of a logger; W&B shows it as failed unless the status is `success`."""
    logger.finalize(status)
    if name == WANDB:
        logger.experiment.finish(exit_code=int(status != "success"))


def sample_tables(cell: Cell) -> dict[str, list[list[str]]]:
    """Return, for each decoding of a run, the id, source, reference and generated text of the first rows."""
    tables = {}
    for key, evaluation in cell.evaluations.items():
        if evaluation.decoding is None or evaluation.sampling_seed is not None:
            continue
        if (stored := cell.folder.rows(key)) is None:
            continue
        first = stored.rows[:SAMPLES]
        of_task = {} if all("prompt" in row for row in first) else cell.task.readable(evaluation.split)
        lines = []
        for row in first:
            source = of_task.get(row["id"], ("", ""))
            if "prompt" in row:
                source = (row["prompt"], row.get("reference", ""))
            lines.append([row["id"], *source, row["text"]])
        tables[stored.content["decoding"]["name"]] = lines
    return tables


def first_line(error: BaseException) -> str:
    """Return the first line of an error's message."""
    return str(error).partition("\n")[0]
