"""Subject: one method on one small backbone, made as the program makes a cell, with rows of the built-in sample."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from bench.base.seeds import seed_of, seed_torch
from bench.cells.build import build, exemplars_of
from bench.cells.cell import Cell
from bench.config.config import CellConfig, Override, override, parse_sets
from bench.config.resolve import Method, cell_config
from bench.config.second import second_config, second_of
from bench.models.backbones import is_pretrained
from bench.models.backbones.backbone import Batch
from bench.models.backbones.hub import architecture
from bench.models.core.objective import Objective, Place
from bench.models.core.run_context import Optimiser
from bench.models.core.states import IGNORED, Rows, States, slices
from bench.store.store import CellFolder
from bench.tasks.core.example import Example
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
"""Training rows of the built-in sample."""

LENGTHS = range(12, 4, -1)
"""Target tokens of the rows of a batch."""

LIMIT = 50
"""Positions of a slice: a batch makes several."""

SPREAD = 0.3
"""Standard deviation of weights that have opinions: a fresh model says nearly the same everywhere."""


LEARNS = 1e-2
"""Learning rate of steps of likelihood before a method's own."""


class Sample(LogicNLG):
    """The built-in rows; what is made of them is kept, because an objective is made many times."""

    def __init__(self) -> None:
        super().__init__(style="compact")
        self.load(Source(None, "built-in sample"), EXAMPLES)
        self.tokenizers: dict[int, Any] = {}
        self.texts: dict[tuple[str, Codec], tuple[str, int]] = {}

    def tokenizer(self, vocabulary: int) -> Any:
        """A BPE of the rows."""
        if vocabulary not in self.tokenizers:
            self.tokenizers[vocabulary] = super().tokenizer(vocabulary)
        return self.tokenizers[vocabulary]

    def source_text(self, example: Example, codec: Codec) -> tuple[str, int]:
        """The table as text."""
        key = example.id, codec
        if key not in self.texts:
            self.texts[key] = super().source_text(example, codec)
        return self.texts[key]


@dataclass(frozen=True)
class Subject:
    """One method on one small backbone.

    Args:
        method: which.
        backbone: its name.
        seed: of weights.
        sets: options as typed after --set.
    """

    method: Method
    backbone: str
    seed: int = 0
    sets: tuple[str, ...] = ()

    @cached_property
    def cell(self) -> Cell:
        """The cell `bench run` would make, but for sizes; nothing is stored."""
        return Cell(self.config, self.method, Sample(), "", CellFolder(Path("nowhere")), {})

    @cached_property
    def config(self) -> CellConfig:
        """The configuration of the cell."""
        return cell_config(LogicNLG, self.method, self.backbone, self.seed, "small", self.given, None, EXAMPLES)

    @property
    def given(self) -> list[Override]:
        """The overrides of the cell; dropout is off unless the method asks for it."""
        small = {name: value for name, value in SMALL.items() if name != DROPOUT or name not in self.method.settings}
        return [*(override(name, value) for name, value in small.items()), *parse_sets(self.sets)]

    def why_not(self) -> str | None:
        """Return why the method does not fit, or None."""
        options = self.config.backbone_options
        form = architecture(self.backbone, str(options.get("path", "")))
        mean = sum(LENGTHS) / len(LENGTHS)
        place = Place(
            form,
            bool(options.get("copy", False)),
            LogicNLG.info.all_fields,
            target_tokens=mean,
            options=self.config.method_options,
        )
        return self.method.kind.why_not(place)

    # The objective ----------------------------------------------------------------------------------------------

    def objective(self, dtype: torch.dtype = torch.float64, *, fresh: bool = False) -> Objective:
        """Make the objective anew, in training mode, so that nothing it has counted is left.

        Args:
            dtype: of its weights.
            fresh: with the weights it starts from; otherwise with larger ones, whose distributions differ between
                positions (pretrained weights stay).
        """
        return self._built(dtype, fresh)[0].train()

    def _built(self, dtype: torch.dtype, fresh: bool) -> tuple[Objective, Codec]:
        objective, codec = build(self.cell, self._second())
        if not fresh:
            spread(objective, self.seed, self.backbone)
        return objective.to(dtype), codec

    def _second(self) -> Objective | None:
        """Make the second model of a method that names one, with opinions of its own."""
        second = second_of(self.method)
        if second is None:
            return None
        config = second_config(LogicNLG, self.method, second, self.config, self.given, None)
        made, _ = build(Cell(config, second, self.cell.task, "", CellFolder(Path("nowhere")), {}))
        spread(made, self.seed + 1, config.asked("backbone"))
        return made

    @cached_property
    def codec(self) -> Codec:
        """The codec of the backbone."""
        return self._built(torch.float64, True)[1]

    @cached_property
    def draws(self) -> bool:
        """Whether the loss draws random numbers of torch, as dropout does: it is compared in evaluation mode then."""
        losses = []
        for seed in (0, 1):
            objective = self.objective()
            seed_torch(seed)  # behind the making, which may seed too
            losses.append(objective.step_loss(self.batch(self.rows)).total.detach())
        return not torch.equal(*losses)

    def comparable(self) -> Objective:
        """Make the objective as losses are compared: with one step in its books, training unless it draws."""
        objective = self.objective()
        if type(objective).end_of_step is not Objective.end_of_step:
            objective.step_loss(self.batch(self.rows))
            objective.end_of_step(lambda tensor: tensor)
        return objective.train(not self.draws)

    @property
    def makes_texts(self) -> bool:
        """Whether the loss is more than that of its batch, so that it differs from step to step."""
        return getattr(self.method.kind, "step_loss", None) is not Objective.step_loss

    # Rows and batches -------------------------------------------------------------------------------------------

    @cached_property
    def rows(self) -> tuple[Encoded, ...]:
        """Rows of uneven length, source, target and exemplar, every other with its end token."""
        task, codec = self.cell.task, self.codec
        examples = task.split("train").examples[: len(LENGTHS)]
        encoded = task.encode(examples, codec, exemplars=exemplars_of(self.cell))
        end = codec.tokenizer.eos_token_id
        cut = [row.target[:length] for row, length in zip(encoded, LENGTHS, strict=True)]
        ended = [(*target[:-1], end) if at % 2 else target for at, target in enumerate(cut)]
        sources = [(*row.source[:1], *row.source[1 + at :]) for at, row in enumerate(encoded)]
        exemplars = [row.exemplar and row.exemplar[at % 3 :] for at, row in enumerate(encoded)]
        return tuple(
            replace(row, source=source, target=target, exemplar=exemplar)
            for row, source, target, exemplar in zip(encoded, sources, ended, exemplars, strict=True)
        )

    def batch(self, rows: Sequence[Encoded], step: int = 0, of: Sequence[Encoded] = ()) -> Batch:
        """Collate rows as a micro-batch of a step that has `of`, or just these."""
        whole = of or rows
        tokens = sum(len(row.target) for row in whole)
        of_step: Any = {"step": step, "step_rows": len(whole), "step_tokens": tokens}
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

    def slices(self, objective: Objective, rows: Sequence[Encoded] = ()) -> Iterator[Rows]:
        """Yield slices of rows, or of all of them."""
        return slices(self.states(objective, rows), LIMIT)


def spread(objective: Objective, seed: int, backbone: str) -> None:
    """Give a model larger weights, whose distributions differ between positions; pretrained ones stay."""
    if is_pretrained(backbone):
        return
    generator = torch.Generator().manual_seed(seed)
    for parameter in objective.backbone.parameters():
        if parameter.ndim > 1:
            nn.init.normal_(parameter, std=SPREAD, generator=generator)


class Trainee:
    """An objective that is trained by hand, as one process trains it.

    Args:
        subject: what.
        lr: constant learning rate.
    """

    def __init__(self, subject: Subject, lr: float) -> None:
        self.subject = subject
        self.objective = subject.objective(fresh=True)
        optimiser = Optimiser(lr=lr, schedule="constant")
        self.objective.setup_run(replace(self.objective.run_context, optimiser=optimiser))
        made = self.objective.configure_optimizers()
        self.optimizer: torch.optim.Optimizer = made["optimizer"] if isinstance(made, dict) else made
        self.taken = 0

    def loss(self, rows: Sequence[Encoded]) -> Tensor:
        """Loss of the next step per target token, with its gradients left in `grad`."""
        seed_torch(seed_of(self.subject.seed, "step", 0, self.taken))
        self.optimizer.zero_grad()
        loss = self.objective.training_step(self.subject.batch(rows, self.taken), self.taken)
        loss.backward()
        return loss.detach()

    def learn(self, rows: Sequence[Encoded], enough: float, most: int) -> None:
        """Take steps of plain likelihood, which are not counted, with an optimiser of their own.

        Args:
            rows: that are learned.
            enough: nats a token to end at.
            most: steps.
        """
        weights = [p for p in self.objective.parameters() if p.requires_grad]
        optimizer = torch.optim.Adam(weights, lr=LEARNS)
        for _ in range(most):
            states = self.subject.states(self.objective, rows)
            loss = torch.cat([nll for _, nll in self.objective.nll(states)]).mean()
            if float(loss.detach()) < enough:
                break
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        optimizer.zero_grad()

    def step(self, rows: Sequence[Encoded]) -> float:
        """Take a step; return its loss."""
        loss = self.loss(rows)
        self.objective.end_of_step(lambda tensor: tensor)
        self.optimizer.step()
        self.taken += 1
        return float(loss)
