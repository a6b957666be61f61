"""Logs: the loggers of a run, each of which may fail without harm."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.base.redaction import redacted
from bench.cells.cell import Cell
from bench.cells.loggers import find_logger, package_for
from bench.cells.loggers.logged_run import LoggedRun
from bench.cells.loggers.samples import COLUMNS, sample_tables
from bench.config.arguments import RunArguments

if TYPE_CHECKING:
    from lightning.pytorch.loggers import Logger

__all__ = ["Logs", "OpenRun", "logs_of"]


class Logs:
    """Opens a run on every logger that was asked for. A logger that raises is warned about once, and left out then.

    Configuration, curves, scores and samples are sent, and nothing else: no code, no environment, no command line, no
    console output. Names and texts are sent without secrets. Only the process that leads a
    run has loggers; others that share a cell with it have none.

    Args:
        asked: names of loggers, `module:Name` or `file.py:Name`.
        folder: of what is logged to files.
        warn: told when a logger fails.
    """

    def __init__(self, asked: Sequence[str], folder: Path, warn: Callable[[str], None]) -> None:
        self.asked = tuple(dict.fromkeys(asked))
        self.off: set[str] = set()  # those that have failed
        self.folder, self.warn = folder, warn

    @contextmanager
    def run(self, make: Callable[[], LoggedRun]) -> Iterator[OpenRun]:
        """Open a run on the loggers that work, yield it, and close it as a success or a failure.

        Args:
            make: returns the run; not called where there is no logger.
        """
        opened = OpenRun(self)
        for name in self.asked:
            self.attempt(name, partial(opened.begin, name, make))
        try:
            yield opened
        except BaseException:
            opened.close("failed")
            raise
        opened.close("success")

    def attempt(self, name: str, act: Callable[[], object]) -> None:
        """Do something with a logger while it works; its errors end here."""
        if name in self.off:
            return
        try:
            act()
        except (Exception, SystemExit) as error:
            self.off.add(name)
            self.warn(f"logger '{name}' is off for this run ({told(name, error)}); results are not touched")


class OpenRun:
    """One run on several loggers.

    Args:
        logs: of the whole `bench run`.
    """

    def __init__(self, logs: Logs) -> None:
        self.logs = logs
        self.loggers: dict[str, Logger] = {}
        self.step = self.validated = 0  # the last steps that were logged

    def begin(self, name: str, make: Callable[[], LoggedRun]) -> None:
        """Begin the run on one more logger, which is told its configuration.

        Raises:
            TypeError: what was asked for makes no logger of Lightning's. Whatever else the logger raises.
        """
        from lightning.pytorch.loggers import Logger
        from lightning.pytorch.utilities import rank_zero_only

        rank_zero_only.rank = 0  # type: ignore[attr-defined]  # this process leads, whatever number Slurm gave it
        kind, run = find_logger(name), make()
        if name == "wandb":
            logger = kind(run)
        else:
            logger = kind(save_dir=str(self.logs.folder / name.rpartition(":")[2]), name=run.name)
        if not isinstance(logger, Logger):
            raise TypeError(f"expected a Lightning Logger, and '{name}' made {type(logger).__name__}")
        self.loggers[name] = logger
        logger.log_hyperparams(dict(run.config))

    def train(self, step: int, values: Mapping[str, float]) -> None:
        """Log a training step; one that was logged before is left out, as of a training that was begun again."""
        if step <= self.step:
            return
        self.step = step
        self._metrics({f"train/{name}": value for name, value in values.items()}, step)

    def validation(self, step: int, columns: Mapping[str, float]) -> None:
        """Log what a validation found at a step; likewise."""
        if step <= self.validated:
            return
        self.validated = step
        self._metrics({f"validation/{name}": value for name, value in columns.items()}, step)

    def curves(self, trained: Mapping[str, Any]) -> None:
        """Log what is missing of the curves that were stored, as where other processes have trained.

        Args:
            trained: `train` of the record of a trained cell.
        """
        for step, loss in trained.get("curve", ()):
            self.train(int(step), {"loss": loss})
        for step, columns in trained.get("validation", ()):
            self.validation(int(step), columns)

    def scores(self, files: Sequence[Mapping[str, Any]], step: int) -> None:
        """Log the values of scores files, those that are there.

        Args:
            files: contents of scores files.
            step: the last one of the training.
        """
        named: dict[str, float] = {}
        for content in files:
            suffix = ""
            if content["of"]["decoding"]:
                suffix = f"/{content['of']['decoding']['name']}"
            for value in content["values"]:
                if value["value"] is not None:
                    named[f"test/{value['name']}{suffix}"] = value["value"]
        if named:
            self._metrics(named, step)

    def samples(self, cell: Cell) -> None:
        """Log the first texts that a cell wrote; a task that cannot show its rows is warned about."""
        try:
            tables = dict(sample_tables(cell))
        except Exception as error:
            self.logs.warn(f"samples of {cell.label} are not logged ({type(error).__name__}: {first_line(error)})")
            return
        for decoding, rows in tables.items():
            self.table(f"samples/{decoding}", COLUMNS, rows)

    def table(self, name: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        """Log a table, on loggers with the method `log_table` that Lightning's W&B logger has.

        Args:
            name: of the table.
            columns: their names.
            rows: a value for each column: numbers or None in one, texts in another.
        """
        names, lines = redacted(list(columns)), redacted([list(row) for row in rows])

        def log(logger: Any) -> None:
            if hasattr(logger, "log_table"):
                logger.log_table(redacted(name), columns=list(names), data=[list(line) for line in lines])

        self._each(log)

    def close(self, status: str) -> None:
        """End the run; `status` is `success` or `failed`, as Lightning says it.

        A logger that has failed before ends too, as a failure and without another warning: it may hold files or a
        connection.
        """
        for name, logger in self.loggers.items():
            if name in self.logs.off:
                with suppress(Exception, SystemExit):
                    logger.finalize("failed")
            else:
                self.logs.attempt(name, partial(logger.finalize, status))

    def _metrics(self, values: Mapping[str, float], step: int) -> None:
        clean = redacted(values)
        self._each(lambda logger: logger.log_metrics(dict(clean), step=step))

    def _each(self, act: Callable[[Any], object]) -> None:
        for name, logger in self.loggers.items():
            self.logs.attempt(name, partial(act, logger))


def logs_of(arguments: RunArguments, warn: Callable[[str], None]) -> Logs:
    """Return the loggers of a run."""
    return Logs(arguments.loggers, Path(arguments.execution.log_dir), warn)


def told(name: str, error: BaseException) -> str:
    """Return why a logger failed, in one line, and how to install what it lacks."""
    text = f"{type(error).__name__}: {first_line(error)}"
    package = package_for(name)
    if package and isinstance(error, ImportError):
        return f"{text}; pip install {package}"
    return text


def first_line(error: BaseException) -> str:
    """Return the first line of what an error says."""
    return str(error).partition("\n")[0]
