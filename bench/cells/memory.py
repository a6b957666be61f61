"""Memory: how many micro-batches a step is cut into, and more of them where memory is short; the step's rows stay."""

from __future__ import annotations

import gc
from collections.abc import Callable

from bench.cells.cell import Cell
from bench.config.arguments import AUTO, RunArguments
from bench.errors import BenchError

__all__ = ["failure_of", "micro_batches_of", "within_memory"]


def within_memory(
    cell: Cell, accumulate: int, attempt: Callable[[int, bool], None], on_note: Callable[[str], None]
) -> None:
    """Train and evaluate a run in this process, and its training with twice the micro-batches when memory is short.

    Args:
        cell: the run.
        accumulate: micro-batches of a step that were asked for.
        attempt: does it with so many micro-batches; told whether there are more than asked for.
        on_note: told what a user should know.

    Raises:
        BenchError: not even one row a micro-batch fits, or memory is not enough for the evaluation.
    """
    import torch

    micro_batches = accumulate
    while True:
        try:
            return attempt(micro_batches, micro_batches > accumulate)
        except BaseException as error:
            if not is_out_of_memory(error):
                raise
            if cell.folder.trained() is not None or 2 * micro_batches > cell.config.trainer.batch_size:
                raise BenchError(failure_of(cell, micro_batches, error)) from error
        gc.collect()
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        micro_batches *= 2
        on_note(f"{cell.label}: out of memory; it is trained with {micro_batches} micro-batches of a step")


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether an exception says that memory, of the host or of a device, was not enough."""
    import torch

    if isinstance(error, (MemoryError, torch.OutOfMemoryError)):
        return True
    texts = ("DefaultCPUAllocator", "CUBLAS_STATUS_ALLOC_FAILED", "out of memory")
    return isinstance(error, RuntimeError) and any(text in str(error) for text in texts)


def failure_of(cell: Cell, micro_batches: int, error: BaseException) -> str:
    """Return why a run failed; where memory was not enough, also the setting that needs less.

    Args:
        cell: the run.
        micro_batches: of an optimiser step, those of all processes together.
        error: what ended it.
    """
    if isinstance(error, BenchError):
        return str(error)
    why = f"{type(error).__name__}: {error}"
    if not is_out_of_memory(error):
        return why
    rows, batch = cell.config.trainer.batch_size // micro_batches, cell.config.evaluation.batch_size
    if cell.folder.trained() is not None:
        smaller = f"--set evaluation.batch_size={batch // 2}" if batch > 1 else "use a larger device"
        return f"out of memory in the evaluation of the trained model ({why}); make its batches smaller: {smaller}"
    if rows > 1:
        return f"out of memory with {rows} rows in a micro-batch ({why}); give it fewer rows: --micro-batch {rows // 2}"
    return (
        f"out of memory with one row in a micro-batch ({why}); make trainer.max_source or trainer.max_target smaller, "
        f"or use a larger device"
    )


def micro_batches_of(cell: Cell, world: int, arguments: RunArguments) -> int:
    """Return how many micro-batches of a step each process begins with.

    The rows of a step, and so the result but for rounding, are the same for any number.

    Args:
        cell: the run.
        world: number of processes.
        arguments: `execution.accumulate`, or `--micro-batch` in its place. `auto` begins with all rows of a step at
            once.
    """
    rows, asked = cell.config.trainer.batch_size, arguments.micro_batch
    if not asked or cell.method.is_baseline:
        return arguments.execution.accumulate
    if asked == AUTO:
        return 1
    return max(1, min(-(-rows // (int(asked) * world)), rows // world))  # each has a row at least
