"""Mirror: a copy of a run on Weights & Biases. A view, never the store: its failures change no result."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bench.cells.cell import Cell

TIMEOUT_S = 10
"""Longest wait for W&B to begin a run, and again to end one."""


class Mirror:
    """Opens a W&B run for each cell: id = cell key, group = task/method. The first failure switches it off.

    A control that reads another method's cell has that one's key, and a run of its own: its numbers are others.

    Nothing but configuration, curve and scores is sent: no code, no environment, no command line, no console output.

    Args:
        on: whether to mirror at all (`--wandb`).
        project: W&B project.
        warn: told once when something fails.
    """

    def __init__(self, on: bool, project: str, warn: Callable[[str], None]) -> None:
        self.on, self.project, self.warn = on, project, warn

    @contextmanager
    def run(self, cell: Cell) -> Iterator[Live]:
        """Yield the cell's run, or one that does nothing."""
        live = Live(self)
        self.attempt(lambda: live.begin(cell))
        try:
            yield live
        except BaseException:
            live.finish(1)
            raise
        live.finish(0)

    def attempt(self, act: Callable[[], object]) -> None:
        """Do something with W&B while it works; whatever goes wrong there stays there."""
        if not self.on:
            return
        try:
            act()
        except Exception as error:
            self.on = False
            why = str(error).partition("\n")[0]
            self.warn(f"Weights & Biases is off for this run ({type(error).__name__}: {why}); results are not touched")


class Live:
    """One cell's run on W&B."""

    def __init__(self, mirror: Mirror) -> None:
        self.mirror = mirror
        self.run: Any = None
        self.last = 0  # step logged last

    def begin(self, cell: Cell) -> None:
        """Open the run."""
        import wandb

        from bench.cells.cell import described

        settings = wandb.Settings(
            init_timeout=TIMEOUT_S, finish_timeout=TIMEOUT_S, silent=True, console="off", save_code=False,
            disable_code=True, disable_git=True, x_disable_meta=True, x_disable_stats=True,
            x_save_requirements=False,
        )  # fmt: skip
        self.run = wandb.init(
            project=self.mirror.project,
            id=f"{cell.key}-{cell.method.name}" if cell.method.only_reads else cell.key,
            name=cell.label,
            group=f"{cell.config.task}/{cell.config.method}",
            config=described(cell),
            resume="allow",
            settings=settings,
        )

    def log(self, step: int, values: Mapping[str, float]) -> None:
        """Mirror a training step."""
        self.last = step
        self._send(lambda: self.run.log({f"train/{name}": value for name, value in values.items()}, step=step))

    def curve(self, points: Sequence[Sequence[float]]) -> None:
        """Mirror what a training in other processes has kept of its curve."""
        for step, loss in points:
            if step > self.last:
                self.log(int(step), {"loss": loss})

    def scores(self, found: Sequence[Mapping[str, Any]]) -> None:
        """Mirror final scores as the run's summary."""
        named: dict[str, Any] = {}
        for scores in found:
            decoding = scores["of"]["decoding"]
            suffix = f"/{decoding['name']}" if decoding else ""
            named |= {f"test/{value['name']}{suffix}": value["value"] for value in scores["values"]}
        self._send(lambda: self.run.summary.update(named))

    def finish(self, exit_code: int) -> None:
        """Close the run."""
        self._send(lambda: self.run.finish(exit_code=exit_code))

    def _send(self, act: Callable[[], object]) -> None:
        if self.run is not None:
            self.mirror.attempt(act)
