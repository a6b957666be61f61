"""Which batches a task gives to a Lightning trainer, that of the program or any other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from bench.tasks.encode.codec import Codec


def no_exemplars(split: str) -> Mapping[str, str] | None:
    """Return None: rows have no exemplars."""
    return None


@dataclass(frozen=True)
class LoaderConfig:
    """Which batches a task gives to a trainer, as `Task.setup_run` takes it.

    Args:
        codec: of the objective's backbone.
        batch: rows of one optimiser step, over all ranks and micro-batches.
        seed: of the order of training rows.
        exemplars: returns the exemplar of each row of a split by id, for methods that read exemplars.
        evaluation_batch: rows of a batch that is evaluated.
        evaluation_rows: rows that are evaluated of each split, chosen by id; None for all.
    """

    codec: Codec
    batch: int = 32
    seed: int = 0
    exemplars: Callable[[str], Mapping[str, str] | None] = no_exemplars
    evaluation_batch: int = 32
    evaluation_rows: int | None = None
