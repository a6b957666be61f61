"""W&B logger: a copy of a run on Weights & Biases. A view, never the store: its failures change no result."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from bench.base.outward import safe, safe_content
from bench.cells.cell import Cell, described

TIMEOUT_S = 8
"""Longest wait for W&B to begin a run, and again to end one."""


class WandbLogger:
    """Opens a W&B run for each cell: id = cell key, group = task/method. The first failure switches it off.

    A control that reads another method's cell has that one's key, and a run of its own: its numbers are others.

    Nothing but configuration, curve and scores is sent: no code, no environment, no command line, no console output.
    Names and texts are sent without credentials and control characters.

    Args:
        project: W&B project.
        warn: told once when something fails.
    """

    def __init__(self, project: str, warn: Callable[[str], None]) -> None:
        self.project, self.warn = project, warn
        self.works = True

    @contextmanager
    def run(self, cell: Cell) -> Iterator[LiveRun]:
        """Yield the cell's run; once W&B has failed, one that does nothing."""
        live = LiveRun(self)
        self.attempt(lambda: live.begin(cell))
        try:
            yield live
        except BaseException:
            live.finish(1)
            raise
        live.finish(0)

    def attempt(self, act: Callable[[], object]) -> None:
        """Do something with W&B while it works; its errors end here."""
        if not self.works:
            return
        try:
            act()
        except Exception as error:
            self.works = False
            why = str(error).partition("\n")[0]
            self.warn(f"Weights & Biases is off for this run ({type(error).__name__}: {why}); results are not touched")


class LiveRun:
    """One cell's run on W&B."""

    def __init__(self, logger: WandbLogger) -> None:
        self.logger = logger
        self.run: Any = None
        self.last = 0  # step logged last

    def begin(self, cell: Cell) -> None:
        """Open the run."""
        # W&B would send stack traces to its maker, and wait for a silent server when the process ends.
        os.environ.setdefault("WANDB_ERROR_REPORTING", "false")
        import wandb

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
        self.run = wandb.init(
            project=self.logger.project,
            id=f"{cell.key}-{cell.method.name}" if cell.method.only_reads else cell.key,
            name=safe(cell.label),
            group=safe(f"{cell.config.task}/{cell.config.method}"),
            config=safe_content(described(cell)),
            resume="allow",
            settings=settings,
        )

    def log(self, step: int, values: Mapping[str, float]) -> None:
        """Send a training step."""
        self.last = step
        named = safe_content({f"train/{name}": value for name, value in values.items()})
        self._send(lambda: self.run.log(named, step=step))

    def curve(self, points: Sequence[Sequence[float]]) -> None:
        """Send what a training in other processes has kept of its curve."""
        for step, loss in points:
            if step > self.last:
                self.log(int(step), {"loss": loss})

    def scores(self, files: Sequence[Mapping[str, Any]]) -> None:
        """Send the contents of scores files as the run's summary."""
        named: dict[str, Any] = {}
        for content in files:
            decoding = content["of"]["decoding"]
            suffix = f"/{decoding['name']}" if decoding else ""
            named |= {f"test/{value['name']}{suffix}": value["value"] for value in content["values"]}
        self._send(lambda: self.run.summary.update(safe_content(named)))

    def finish(self, exit_code: int) -> None:
        """Close the run."""
        self._send(lambda: self.run.finish(exit_code=exit_code))

    def _send(self, act: Callable[[], object]) -> None:
        if self.run is not None:
            self.logger.attempt(act)
