"""Memory: where it is not enough, a step is cut into twice as many micro-batches; its effective batch stays."""

from __future__ import annotations

import gc
import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from bench.base.files import write_atomic
from bench.base.keys import key_of
from bench.cells.cell import Cell
from bench.config.arguments import AUTO, RunArguments
from bench.errors import BenchError
from bench.launch.endings import is_out_of_memory
from bench.store.state_files import STATE

FILE = "memory.json"
"""Beside the states of a training: how many micro-batches of a step it needs."""

Attempt = Callable[[int, bool], None]
"""Trains with so many micro-batches of a step; told whether there are more than asked for, for want of memory."""

_REMEMBERED: dict[tuple[object, ...], int] = {}
"""Micro-batches that cells of a kind have needed in this run."""


def within_memory(cell: Cell, world: int, accumulate: int, attempt: Attempt, on_note: Callable[[str], None]) -> None:
    """Train and evaluate a cell; where memory is not enough for its training, try again with smaller micro-batches.

    What was needed is remembered, for the rest of the run for cells of the same size, and in the cell's folder.

    Args:
        cell: what.
        world: processes.
        accumulate: micro-batches of a step that were asked for.
        attempt: does it.
        on_note: told what a user should know.

    Raises:
        BenchError: not even one row a micro-batch fits, or memory is not enough for the evaluation.
    """
    micro_batches = max(accumulate, needed(cell, world))
    while True:
        try:
            return attempt(micro_batches, micro_batches > accumulate)
        except BaseException as error:
            if not is_out_of_memory(error):
                raise
            why = f"{type(error).__name__}: {error}"
        if cell.folder.trained() is not None:  # micro-batches are of training steps
            raise BenchError(evaluation_too_large(cell, why))
        gc.collect()
        release()
        micro_batches = halved(cell, world, micro_batches, why)
        remember(cell, world, micro_batches)
        on_note(f"{cell.label}: out of memory; it is trained with {micro_batches} micro-batches of a step")


def evaluation_too_large(cell: Cell, why: str) -> str:
    """Return what is to be done where memory is not enough for the evaluation of a trained cell."""
    rows = cell.config.evaluation.batch_size
    advice = "use a larger device"
    if rows > 1:
        advice = f"make its batches of {rows} rows smaller: --set evaluation.batch_size={rows // 2}"
    return f"out of memory in the evaluation ({why}); the cell is trained, and a next run goes on there: {advice}"


def micro_batches_of(cell: Cell, world: int, arguments: RunArguments) -> int:
    """Return how many micro-batches of a step to begin with; where memory is not enough, `within_memory` takes more.

    The rows of a step, and so the result but for rounding, are the same for any number.

    Args:
        cell: what.
        world: processes.
        arguments: `execution.accumulate`, or `--micro-batch` in its place. `auto` begins with all rows of a step at
            once.
    """
    rows, asked = cell.config.trainer.batch_size, arguments.micro_batch
    if not asked or cell.method.is_baseline:
        return arguments.execution.accumulate
    if asked == AUTO:
        return 1
    return max(1, min(-(-rows // (int(asked) * world)), rows // world))  # each has a row at least


def halved(cell: Cell, world: int, micro_batches: int, why: str) -> int:
    """Return twice as many micro-batches.

    Raises:
        BenchError: there would be fewer than one row in each.
    """
    rows = cell.config.trainer.batch_size
    if 2 * micro_batches * world > rows:
        raise BenchError(
            f"out of memory with {micro_batches} micro-batches of {rows} rows on {world} processes, which cannot be "
            f"halved again ({why}); make trainer.max_source or trainer.max_target smaller, or use a larger device"
        )
    return 2 * micro_batches


def needed(cell: Cell, world: int) -> int:
    """Return how many micro-batches this cell, or one of its size, has needed; 1 where nobody knows."""
    known = _REMEMBERED.get(size_of(cell, world), 1)
    with suppress(OSError, ValueError, KeyError, TypeError):  # none, or not as it was written: it is found again
        content = json.loads(file_of(cell).read_bytes())
        if content["world"] == world:
            known = max(known, int(content["accumulate"]))
    return min(known, max(1, cell.config.trainer.batch_size // world))


def remember(cell: Cell, world: int, micro_batches: int) -> None:
    """Note how many micro-batches a cell needs; the file goes when the training is stored."""
    _REMEMBERED[size_of(cell, world)] = micro_batches
    content = json.dumps({"accumulate": micro_batches, "world": world})
    write_atomic(file_of(cell), content.encode(), replace=True)


def note_shortage(cell: Cell, world: int, micro_batches: int) -> None:
    """Note that a training ran out of memory with so many micro-batches, where they can be smaller."""
    with suppress(BenchError):
        if cell.folder.trained() is None:
            remember(cell, world, halved(cell, world, micro_batches, ""))


def size_of(cell: Cell, world: int) -> tuple[object, ...]:
    """Return what decides how much memory a cell takes, near enough."""
    trainer = cell.config.trainer
    options = key_of(dict(cell.config.backbone_options))  # one of one's own may be a list
    return cell.config.task, cell.config.backbone, options, trainer.batch_size, trainer.precision, world


def file_of(cell: Cell) -> Path:
    """Return where a cell keeps how many micro-batches it needs."""
    return cell.folder.path / STATE / FILE


def release() -> None:
    """Give memory that nobody uses any more back to the device."""
    import torch

    if torch.cuda.is_available():
        torch.cuda.empty_cache()
