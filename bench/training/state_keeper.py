"""StateKeeper: keeps the state of a training every few minutes and when a signal comes, at the ends of steps."""

import time
from pathlib import Path
from typing import Any

import torch
from lightning.pytorch import Callback, LightningModule, Trainer
from lightning.pytorch.plugins.io import CheckpointIO
from torch import distributed

from bench.launch.signals import Stopped, pending_signal, raise_pending_signal, restore_handlers, signal_handlers
from bench.store.state_files import StateFiles, read_state, write_state
from bench.training.recorder import Recorder


class StateKeeper(Callback):
    """Saves at the end of a step, never in the middle of an accumulation: there a resumed training would not be exact.

    All ranks agree on what is done, by one small reduction a step on the CPU. Where a validation follows a step, the
    state is saved after it, so that a resumed training does not leave it out.

    Args:
        recorder: counts the steps; it comes before this one in the list of callbacks.
        files: where states go; None for a training that keeps none.
        interval: steps from one validation to the next; 0 for no validation.
        seconds: from one state to the next.
    """

    def __init__(self, recorder: Recorder, files: StateFiles | None, interval: int, seconds: float) -> None:
        self.recorder, self.files = recorder, files
        self.interval, self.seconds = interval, seconds
        self.handlers = signal_handlers()
        self.group: Any = None  # of processes, on the CPU
        self.last = time.monotonic()
        self.waiting: tuple[int, bool] = (0, False)  # signal and whether a state is due, until a validation has ended

    def on_train_start(self, trainer: Trainer, module: LightningModule) -> None:
        """Restore the handlers of before the training: Lightning has just set its own, which can hang or end with 0."""
        restore_handlers(self.handlers)
        self.last = time.monotonic()
        if trainer.world_size > 1 and distributed.get_backend() != "gloo":
            self.group = distributed.new_group(backend="gloo")

    def on_train_batch_end(
        self, trainer: Trainer, module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """At the end of a step, save or stop if one of the ranks is to."""
        if not self.recorder.ends_step(batch):
            return
        number, is_due = self._agreed(trainer)
        if not number and not is_due:
            return
        if self.interval and self.recorder.step % self.interval == 0:
            self.waiting = number, is_due
        else:
            self._act(trainer, module, number)

    def on_validation_batch_end(self, *_: Any) -> None:
        """Let a signal end a long validation of one process: the state before it is the one to go on from."""
        if not distributed.is_initialized():
            raise_pending_signal()

    def on_validation_end(self, trainer: Trainer, module: LightningModule) -> None:
        """Do what had to wait for the validation."""
        (number, is_due), self.waiting = self.waiting, (0, False)
        if number or is_due:
            self._act(trainer, module, number)

    def _agreed(self, trainer: Trainer) -> tuple[int, bool]:
        """Return the signal that came to any rank, and whether the first rank's clock says that a state is due."""
        number = pending_signal()
        is_due = self.files is not None and time.monotonic() - self.last >= self.seconds
        if self.files is not None and self.files.steps:
            is_due = is_due or self.recorder.step % self.files.steps == 0
        if trainer.world_size == 1:
            return number, is_due
        both = torch.tensor([number, int(is_due and trainer.is_global_zero)])
        distributed.all_reduce(both, op=distributed.ReduceOp.MAX, group=self.group)
        return int(both[0]), bool(both[1])

    def _act(self, trainer: Trainer, module: LightningModule, number: int) -> None:
        """Save, unless the training has diverged; stop if a signal came."""
        if self.files is not None and self.recorder.is_finite(trainer, module):
            trainer.save_checkpoint(self.files.path(self.recorder.step))
            self.last = time.monotonic()
        if number:
            trainer.strategy.barrier("stopped")  # when one process ends, torchrun's agent ends those that still write
            raise Stopped(number)


class StateIO(CheckpointIO):
    """Lightning's way to files, through states that are written whole and read only as they were written.

    Args:
        accumulate: micro-batches of a step now; a state of another number is read as if it had been of this one.
    """

    def __init__(self, accumulate: int) -> None:
        self.accumulate = accumulate

    def save_checkpoint(self, checkpoint: dict[str, Any], path: Any, storage_options: Any = None) -> None:
        """Write a state, and remove all but the last two."""
        write_state(Path(path), checkpoint)
        StateFiles(Path(path).parent).prune()

    def load_checkpoint(self, path: Any, map_location: Any = None, weights_only: bool | None = None) -> dict[str, Any]:
        """Read a state."""
        return rescaled(read_state(Path(path)), self.accumulate)

    def remove_checkpoint(self, path: Any) -> None:
        """Remove a state."""
        Path(path).unlink(missing_ok=True)


def rescaled(checkpoint: dict[str, Any], accumulate: int) -> dict[str, Any]:
    """Count the micro-batches of a state that was saved with another number of them in a step.

    At the end of a step only whole steps are counted, so the counts are in proportion.
    """
    before = int(checkpoint["callbacks"][Recorder.__qualname__]["accumulate"])
    progress = checkpoint["loops"]["fit_loop"]["epoch_loop.batch_progress"]
    for part in ("total", "current"):
        progress[part] = {name: count * accumulate // before for name, count in progress[part].items()}
    return checkpoint
