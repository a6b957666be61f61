"""The data module of a task: its loaders for a Lightning trainer, that of the program or any other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from bench.base.lightning import LightningDataModule
from bench.tasks.encode.batches import Epoch, EvaluationEpoch, MicroBatches, Order, chosen
from bench.tasks.encode.codec import Codec, Encoded
from bench.tasks.encode.token_store import TokenStore


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


class DataModule(LightningDataModule):
    """The part of a task that a Lightning trainer sees: loaders for training, validation, test and prediction."""

    if TYPE_CHECKING:
        info: ClassVar[Any]  # a TaskInfo

        def encoded(
            self, split: str, codec: Codec, *, prompts: bool = False, exemplars: Mapping[str, str] | None = None
        ) -> TokenStore:
            """Return every row of a split as a model sees it."""

        def exemplars(self, split: str, equal_targets: bool = True) -> Mapping[str, str]:
            """Return the exemplar of every row of a split by id."""

    def __init__(self) -> None:
        super().__init__()
        self._loader: LoaderConfig | None = None
        self._loader_rows: dict[str, TokenStore] = {}

    def setup_run(self, loader: LoaderConfig | None) -> None:
        """Set which batches a trainer gets from now on; None lets go of the rows."""
        super().__init__()  # again: the task may have been made before Lightning was imported
        self._loader = loader
        self._loader_rows = {}

    @property
    def loader(self) -> LoaderConfig:
        """Which batches the trainer gets: as `setup_run` has set, or the defaults for the trainer's objective.

        Raises:
            RuntimeError: when there is no trainer either.
        """
        if self._loader is None:
            if self.trainer is None:
                raise RuntimeError(
                    "call task.setup_run(LoaderConfig(codec)) before asking for batches without a trainer"
                )
            objective: Any = self.trainer.lightning_module
            codec = Codec(objective.backbone.tokenizer, objective.backbone.architecture, 256, 64)
            read = no_exemplars
            if "exemplar" in objective.fields:
                read = partial(self.exemplars, equal_targets=getattr(objective, "equal_targets", True))
            self._loader = LoaderConfig(codec, exemplars=read)
        return self._loader

    def loader_rows(self, split: str) -> TokenStore:
        """Return the rows of a split as the loaders batch them, encoded once."""
        if split not in self._loader_rows:
            self._loader_rows[split] = self.encoded(split, self.loader.codec, exemplars=self.loader.exemplars(split))
        return self._loader_rows[split]

    def rank_and_world(self) -> tuple[int, int]:
        """Return this process and how many there are; 0 and 1 without a trainer."""
        if self.trainer is None:
            return 0, 1
        return self.trainer.global_rank, self.trainer.world_size

    def train_dataloader(self) -> Epoch:
        """Return the micro-batches of this rank; item i is a pure function of seed and i.

        An epoch of the trainer has as many optimiser steps as fill the rows once, rounded. Epochs join without a gap.
        """
        loader, rows, trainer = self.loader, self.loader_rows("train"), self.trainer
        accumulate = 1 if trainer is None else trainer.accumulate_grad_batches
        rank, world = self.rank_and_world()
        lengths = None if self.info.open_ended else rows.lengths
        order = Order(len(rows), loader.batch, loader.seed, lengths)
        batches = MicroBatches(rows, order, loader.codec.picked, rank=rank, world=world, accumulate=accumulate)
        steps = max(1, round(len(rows) / loader.batch))
        return Epoch(batches, steps, self._steps_reached)

    def _steps_reached(self) -> int:
        """Return how many optimiser steps the trainer has done."""
        return 0 if self.trainer is None else int(self.trainer.global_step)

    def val_dataloader(self) -> EvaluationEpoch:
        """Return the batches of the validation split, whole ones for each rank."""
        return self._epoch(self.loader_rows("valid"), self.loader.codec.train_batch)

    def test_dataloader(self) -> EvaluationEpoch:
        """Return the batches of the test split, whole ones for each rank."""
        return self._epoch(self.loader_rows("test"), self.loader.codec.train_batch)

    def predict_dataloader(self) -> EvaluationEpoch:
        """Return the prompts of the test split with their ids, for `Trainer.predict`."""
        loader = self.loader
        rows = self.encoded("test", loader.codec, prompts=True, exemplars=loader.exemplars("test"))
        return self._epoch(rows, self._prompts)

    def _epoch(self, rows: TokenStore, collate: Callable[[Sequence[Encoded]], dict[str, Any]]) -> EvaluationEpoch:
        """Return the batches of the rows that are evaluated."""
        wanted = set(chosen([row.id for row in rows], self.loader.evaluation_rows))
        rank, world = self.rank_and_world()
        evaluated = [row for row in rows if row.id in wanted]
        return EvaluationEpoch(evaluated, self.loader.evaluation_batch, collate, rank=rank, world=world)

    def _prompts(self, rows: Sequence[Encoded]) -> dict[str, Any]:
        """Collate what generation starts from, with the rows' ids."""
        return {**self.loader.codec.prompt_batch(rows), "ids": [row.id for row in rows]}
