"""Subject: one method on one small backbone, made as the program makes a run, with rows of the built-in sample."""

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from torch import nn

from bench.base.seeds import seed_torch
from bench.cells.build import build, exemplars_of
from bench.cells.cell import Cell
from bench.config.config import CellConfig, Override, override, parse_sets
from bench.config.resolve import Method, cell_config, reference_config, reference_of
from bench.models.backbones import is_pretrained
from bench.models.backbones.backbone import Batch
from bench.models.core.objective import Objective
from bench.models.core.states import IGNORED, States, TokenSlice, slices
from bench.store.store import CellFolder
from bench.tasks.encode.codec import Codec, Encoded
from bench.tasks.fetch.sources import Source
from bench.tasks.logicnlg import LogicNLG

DROPOUT = "backbone.dropout"
SMALL = {
    "backbone.vocabulary": 300,
    "backbone.width": 16,
    "backbone.heads": 2,
    "backbone.layers": 1,
    "backbone.context": 64,
    DROPOUT: 0.0,
    "backbone.feed_forward": 32,
    "backbone.exemplar_width": 8,
    "trainer.max_source": 24,
    "trainer.max_target": 12,
    "trainer.precision": "64-true",
}
EXAMPLES = 12
LENGTHS = range(12, 4, -1)
"""Target tokens of each row of a batch."""
SLICE = 50
"""Positions of a slice, so that a batch makes several."""
SPREAD = 0.3
"""Standard deviation of weights whose distributions differ: a fresh model says nearly the same everywhere."""


@dataclass(frozen=True)
class Subject:
    """One method on one small backbone; `sets` are options as typed after --set."""

    method: Method
    backbone: str
    seed: int = 0
    sets: tuple[str, ...] = ()

    @cached_property
    def cell(self) -> Cell:
        """The run that `bench run` would make, but for sizes; nothing is stored."""
        task = LogicNLG(style="compact")
        task.load(Source(None, "built-in sample"), EXAMPLES)
        return Cell(self.config, self.method, task, "", CellFolder(Path("nowhere")), {})

    @cached_property
    def config(self) -> CellConfig:
        """The configuration of the run."""
        return cell_config(LogicNLG, self.method, self.backbone, self.seed, "small", self.overrides, None, EXAMPLES)

    @property
    def overrides(self) -> list[Override]:
        """The overrides of the run; dropout is off unless the method asks for it."""
        small = {name: value for name, value in SMALL.items() if name != DROPOUT or name not in self.method.settings}
        return [*(override(name, value) for name, value in small.items()), *parse_sets(self.sets)]

    # The objective ----------------------------------------------------------------------------------------------

    @cached_property
    def built(self) -> tuple[Objective, Codec]:
        """The objective with its initial weights, and the codec; `objective` hands out copies."""
        reference, model = reference_of(self.method), None
        if reference is not None:
            config = reference_config(LogicNLG, reference, self.config, self.overrides, None)
            model, _ = build(Cell(config, reference, self.cell.task, "", CellFolder(Path("nowhere")), {}))
            spread(model, self.seed + 1, config.spec("backbone"))
        return build(self.cell, model)

    @property
    def codec(self) -> Codec:
        """The codec of the backbone."""
        return self.built[1]

    def objective(self, dtype: torch.dtype = torch.float64, *, fresh: bool = False) -> Objective:
        """Return the objective in training mode, with nothing counted so far.

        Args:
            dtype: of its weights.
            fresh: with initial weights; otherwise with larger ones, whose distributions differ between positions
                (pretrained weights stay).
        """
        objective = copy.deepcopy(self.built[0])
        if not fresh:
            spread(objective, self.seed, self.backbone)
        return objective.to(dtype).train()

    @cached_property
    def draws(self) -> bool:
        """Whether the loss draws random numbers, as dropout does; it is then compared in evaluation mode."""
        losses = []
        for seed in (0, 1):
            seed_torch(seed)
            losses.append(self.objective().step_loss(self.batch(self.rows)).total.detach())
        return not torch.equal(*losses)

    def comparable(self) -> Objective:
        """Return the objective as losses are compared: with one step counted, in training mode unless it draws."""
        objective = self.objective()
        if type(objective).end_of_step is not Objective.end_of_step:
            objective.step_loss(self.batch(self.rows))
            objective.end_of_step(lambda tensor: tensor)
        return objective.train(not self.draws)

    @property
    def makes_texts(self) -> bool:
        """Whether the loss is more than that of its batch, so that it differs from step to step."""
        return type(self.built[0]).step_loss is not Objective.step_loss

    # Rows and batches -------------------------------------------------------------------------------------------

    @cached_property
    def rows(self) -> tuple[Encoded, ...]:
        """Rows of uneven length in source, target and exemplar, every other one with its end token."""
        task, end = self.cell.task, self.codec.tokenizer.eos_token_id
        examples = task.split("train").examples[: len(LENGTHS)]
        encoded = task.encode(examples, self.codec, exemplars=exemplars_of(self.cell))
        rows = []
        for at, (row, length) in enumerate(zip(encoded, LENGTHS, strict=True)):
            target = (*row.target[: length - 1], end) if at % 2 else row.target[:length]
            source = (*row.source[:1], *row.source[1 + at :])
            rows.append(replace(row, source=source, target=target, exemplar=row.exemplar and row.exemplar[at % 3 :]))
        return tuple(rows)

    def batch(self, rows: Sequence[Encoded], step: int = 0, of: Sequence[Encoded] = ()) -> Batch:
        """Collate rows as a micro-batch of a step that has the rows `of`, or just these."""
        tokens = sum(len(row.target) for row in of or rows)
        of_step: Any = {"step": step, "step_rows": len(of or rows), "step_tokens": tokens}
        return self.codec.train_batch(rows) | of_step

    def padded(self, row: Encoded, left: int, right: int) -> Batch:
        """Collate one row with so many padding columns on either side."""
        pad = self.codec.pad
        fill = {"input_ids": pad, "attention_mask": 0, "labels": IGNORED, "exemplar_ids": pad, "exemplar_mask": 0}
        batch: Any = self.batch([row])
        for name, value in fill.items():
            if name in batch:
                batch[name] = nn.functional.pad(batch[name], (left, right), value=value)
        return batch

    def states(self, objective: Objective, rows: Sequence[Encoded] = ()) -> States:
        """Run the backbone over rows, or over all of them."""
        return objective.states(self.batch(rows or self.rows))

    def slices(self, objective: Objective, rows: Sequence[Encoded] = ()) -> Iterator[TokenSlice]:
        """Yield slices of rows, or of all of them."""
        return slices(self.states(objective, rows), SLICE)


def spread(objective: Objective, seed: int, backbone: str) -> None:
    """Give a model larger weights, whose distributions differ between positions; pretrained ones stay."""
    if is_pretrained(backbone):
        return
    generator = torch.Generator().manual_seed(seed)
    for parameter in objective.backbone.parameters():
        if parameter.ndim > 1:
            nn.init.normal_(parameter, std=SPREAD, generator=generator)
