"""Mirror: a copy of a run on Weights & Biases. A view, never the store: its failures change no result."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bench.plan import Cell

TIMEOUT_S = 15


class Live:
    """One cell's run on W&B; the first failure switches it off with one warning."""

    def __init__(self, run: Any, warn: Callable[[str], None]) -> None:
        self.run, self.warn = run, warn

    def _try(self, act: Callable[[], Any]) -> None:
        if self.run is None:
            return
        try:
            act()
        except Exception as error:
            self.run = None
            self.warn(
                f"Weights & Biases stopped for this cell ({type(error).__name__}: {error}); results are not touched"
            )

    def log(self, step: int, values: dict[str, float]) -> None:
        """Mirror a training step."""
        self._try(lambda: self.run.log({f"train/{name}": value for name, value in values.items()}, step=step))

    def scores(self, found: list[dict[str, Any]]) -> None:
        """Mirror final scores as the run's summary."""

        def act() -> None:
            for scores in found:
                decoding = scores["of"]["decoding"]
                suffix = f"/{decoding['name']}" if decoding else ""
                for value in scores["values"]:
                    self.run.summary[f"test/{value['name']}{suffix}"] = value["value"]

        self._try(act)

    def finish(self) -> None:
        """Close the run."""
        self._try(lambda: self.run.finish())


class Mirror:
    """Opens a W&B run for each cell: id = cell key, group = task/method.

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
        live = Live(self._open(cell) if self.on else None, self.warn)
        try:
            yield live
        finally:
            live.finish()

    def _open(self, cell: Cell) -> Any:
        try:
            import wandb

            return wandb.init(
                project=self.project,
                id=cell.key,
                name=cell.label,
                group=f"{cell.config.task}/{cell.config.method}",
                config=cell.config.as_dict(),
                resume="allow",
                settings=wandb.Settings(init_timeout=TIMEOUT_S, disable_git=True, save_code=False, silent=True),
            )
        except Exception as error:
            self.on = False
            self.warn(
                f"Weights & Biases is off for this run ({type(error).__name__}: {error}); results are not touched"
            )
            return None
