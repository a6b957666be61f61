"""Memory: how many micro-batches a step is cut into, and more of them where memory is short; the step's rows stay."""

from __future__ import annotations

from dataclasses import replace

from bench.cells.cell import Cell
from bench.config.arguments import AUTO, RunArguments
from bench.errors import BenchError
from bench.training.execution import Execution

__all__ = ["execution_of", "failure_of", "with_less_memory"]


def execution_of(cell: Cell, arguments: RunArguments, world: int = 1) -> Execution:
    """Return how a run is executed, with the number of micro-batches that each process begins with.

    The rows of a step, and so the result but for rounding, are the same for any number.

    Args:
        cell: the run.
        arguments: `execution.accumulate`, or `--micro-batch` in its place. `auto` begins with all rows of a step at
            once.
        world: number of processes.
    """
    rows, asked = cell.config.trainer.batch_size, arguments.micro_batch
    accumulate = arguments.execution.accumulate
    if asked == AUTO:
        accumulate = 1
    elif asked and not cell.method.is_baseline:
        accumulate = max(1, min(-(-rows // (int(asked) * world)), rows // world))  # each process has a row at least
    threads = arguments.threads_of(cell.config.preset)
    return Execution.of(arguments, world=world, accumulate=accumulate, threads=threads)


def with_less_memory(cell: Cell, execution: Execution, error: BaseException) -> Execution:
    """Return an execution with twice the micro-batches, after a training in one process that ran out of memory.

    Raises:
        BenchError: not even one row a micro-batch fits, or memory is not enough for the evaluation.
        BaseException: the error, where memory is not its reason.
    """
    if not is_out_of_memory(error):
        raise error
    if cell.folder.trained() is not None or 2 * execution.accumulate > cell.config.trainer.batch_size:
        raise BenchError(failure_of(cell, execution.accumulate, error)) from error
    return replace(execution, accumulate=2 * execution.accumulate, out_of_memory=True)


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether an exception says that memory, of the host or of a device, was not enough."""
    import torch

    if isinstance(error, (MemoryError, torch.OutOfMemoryError)):
        return True
    texts = ("DefaultCPUAllocator", "CUBLAS_STATUS_ALLOC_FAILED", "out of memory")
    return isinstance(error, RuntimeError) and any(text in str(error) for text in texts)


def failure_of(cell: Cell, micro_batches: int, error: BaseException) -> str:
    """Return why a run failed; where memory was not enough, also the setting that needs less."""
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
