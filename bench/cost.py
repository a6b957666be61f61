"""Cost: what a training takes, counted before it begins, or timed for three of its steps.

Floating-point operations are 6 N D, six for each parameter and each token (Kaplan et al. 2020, section 2.1). The memory
of activations and the seconds of a step depend on the machine: they are measured, not estimated.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch

from bench.base.keys import key_of
from bench.base.sizes import amount
from bench.cells.cell import Cell
from bench.cells.execution import Execution
from bench.cells.paper_preset import PAPER
from bench.cells.plan import Plan
from bench.config.arguments import RunArguments, threads_of
from bench.config.config import CellConfig
from bench.errors import BenchError
from bench.models.backbones import find_backbone
from bench.models.backbones.backbone import Backbone
from bench.models.core.objective import Objective
from bench.tasks.encode.codec import byte_count

__all__ = ["Cost", "cost_content", "cost_text", "costs_of_plan"]

STATES = 2  # of a training that are kept at a time, to go on from
TIMED_STEPS = 3
BYTES_PER_TOKEN = 4.0
FILES = ("tokenizer", "glove")  # options of backbones that name a file, whose content does not change the sizes


@dataclass(frozen=True)
class Cost:
    """What the training of a cell takes; all sizes are in bytes, and None is what nobody knows.

    Args:
        parameters: of the objective, with those of a frozen second model.
        moments: of AdamW, two for each trained parameter.
        tokens: that the training reads, estimated at four bytes a token.
        checkpoint, states: on disk; states only while it is trained.
        unknown: why the model cannot be counted, or not timed; else empty.
        seconds_per_step, peak_memory: measured, where that was asked for.
    """

    key: str
    label: str
    parameters: int = 0
    trained_parameters: int = 0
    weights: int = 0
    gradients: int = 0
    moments: int = 0
    steps: int | None = None
    tokens: int | None = None
    flops: float | None = None
    checkpoint: int = 0
    states: int = 0
    unknown: str = ""
    seconds_per_step: float | None = None
    peak_memory: int | None = None

    @property
    def lines(self) -> list[str]:
        """The cost for people."""
        found = [f"unknown: {self.unknown}"] if self.unknown else []
        if self.parameters:
            held = [(self.weights, "weights"), (self.gradients, "gradients"), (self.moments, "moments")]
            memory = ", ".join(f"{amount(number, 'B')} of {what}" for number, what in held)
            trained = f"{amount(self.parameters)} parameters, {amount(self.trained_parameters)} of them trained"
            disk = f"{amount(self.checkpoint, 'B')} on disk (+{amount(self.states, 'B')} of states)"
            spent = "steps unknown: the size of the training data is not known here"
            if self.steps is not None and self.flops is not None:
                spent = f"{amount(self.flops, 'FLOP')} in {self.steps:,} steps"
            found += [f"{trained} · {memory}", f"{spent} · {disk}"]
        if self.seconds_per_step is not None and self.peak_memory is not None:
            whole = "" if self.steps is None else f", {self.seconds_per_step * self.steps:,.0f} s in all"
            found.append(f"{self.seconds_per_step:.3g} s a step{whole} · {amount(self.peak_memory, 'B')} peak memory")
        return found


def costs_of_plan(plan: Plan, timing: RunArguments | None = None) -> list[Cost]:
    """Return the costs of the cells that are still to be trained; those without a model have none.

    Args:
        plan: whose.
        timing: how cells are trained for a few steps, to time them; None to count only.
    """
    found: dict[str, Cost] = {}
    known: dict[str, Any] = {}
    for cell in plan.cells:
        if cell.key in found or not issubclass(cell.method.kind, Objective) or cell.folder.trained() is not None:
            continue
        try:
            found[cell.key] = counted(cell, known)
            if timing is not None and cell.config.trainer.n_steps(1):
                found[cell.key] = timed(cell, found[cell.key], timing)
        except (BenchError, RuntimeError, TypeError, ValueError, AttributeError, NotImplementedError) as error:
            before = found.get(cell.key, Cost(cell.key, cell.label))
            found[cell.key] = replace(before, unknown=" ".join(str(error).split())[:300])
    return list(found.values())


def counted(cell: Cell, known: dict[str, Any]) -> Cost:
    """Return what can be said of a cell without running its model."""
    trainer, (total, trained, item) = cell.config.trainer, size_of(cell, known)
    if cell.second is not None:
        total += size_of(cell.second, known)[0]
    n_rows, tokens_of_row = training_rows(cell)
    steps = trainer.n_steps(n_rows) if n_rows or trainer.steps else None
    tokens = None if steps is None else round(steps * trainer.batch_size * tokens_of_row)
    flops = None if tokens is None else 6.0 * total * tokens
    gradients = item * trained if trainer.n_steps(1) else 0
    checkpoint = item * (trained if cell.config.backbone_options.get("lora_rank") else total)
    states = STATES * (checkpoint + 2 * gradients) if gradients else 0
    return Cost(
        key=cell.key,
        label=cell.label,
        parameters=total,
        trained_parameters=trained,
        weights=item * total,
        gradients=gradients,
        moments=2 * gradients,
        steps=steps,
        tokens=tokens,
        flops=flops,
        checkpoint=checkpoint,
        states=states,
    )


def training_rows(cell: Cell) -> tuple[int, float]:
    """Return how many rows a cell trains on, 0 where nobody knows, and how many tokens they have on average."""
    task, source, target = cell.task, cell.config.trainer.max_source, cell.config.trainer.max_target
    if task.source.folder is None and cell.config.preset == PAPER:  # planned without its data, from published numbers
        return (0, target) if task.stream is not None else (task.info.sizes.get("train", 0), source + target)
    examples = task.split("train").examples
    if task.stream is not None:  # blocks of running text
        text = sum(byte_count(example.target) for example in examples) / BYTES_PER_TOKEN
        return max(1, int(text / target)), target
    sample = examples[:: max(1, len(examples) // 200)]
    tokens = sum(min(source, byte_count(task.plain_source(example)) / BYTES_PER_TOKEN) for example in sample)
    tokens += sum(min(target, byte_count(example.target) / BYTES_PER_TOKEN) for example in sample)
    return len(examples), tokens / max(1, len(sample))


# Parameters ---------------------------------------------------------------------------------------------------------


class _Words(dict[str, int]):
    """A tokenizer of which only the number of tokens is asked."""

    pad_token_id, bos_token_id, eos_token_id, unk_token_id, pad_token = 0, 1, 2, 3, "<pad>"

    def __init__(self, size: int) -> None:
        super().__init__({str(number): number for number in range(size)})

    def get_vocab(self) -> dict[str, int]:
        return self


class _Texts:
    """A task whose tokenizers have as many tokens as are asked for."""

    markers = ()

    def tokenizer(self, vocabulary: int) -> Any:
        return _Words(vocabulary)

    word_tokenizer = tokenizer

    def reference_embeddings(self, tokenizer: Any, width: int, seed: int) -> torch.Tensor:
        return torch.empty(len(tokenizer), width)


def size_of(cell: Cell, known: dict[str, Any]) -> tuple[int, int, int]:
    """Return the parameters of a cell's objective, how many are trained, and the bytes of each; none is allocated.

    Args:
        cell: of a method with a model.
        known: backbones and sizes that were found before, by what decides them.
    """
    config, markers = cell.config, len(cell.task.markers)
    options = {**config.backbone_options, **{name: "" for name in FILES if name in config.backbone_options}}
    body = key_of([config.asked("backbone"), config.own_code().get("backbone", {}), options, markers])
    whole = key_of([body, dict(cell.method.code), dict(config.method_options)])
    if whole in known:
        return tuple(known[whole])
    if body not in known:
        with torch.device("meta"):
            known[body] = empty_backbone(config, options, markers)
    trains = [(parameter, parameter.requires_grad) for parameter in known[body].parameters()]
    with torch.device("meta"):
        objective = cell.method.objective(known[body], **config.method_options)
    if objective.uses_token_counts:  # as of running text, by Zipf's law
        objective.prepare((1e8 / (torch.arange(objective.backbone.vocabulary_size) + 3)).long())
    every = list(objective.parameters())
    trained = sum(parameter.numel() for parameter in every if parameter.requires_grad)
    for parameter, requires_grad in trains:
        parameter.requires_grad_(requires_grad)
    known[whole] = sum(map(torch.numel, every)), trained, max(parameter.itemsize for parameter in every)
    return tuple(known[whole])


def empty_backbone(config: CellConfig, options: dict[str, Any], markers: int) -> Backbone:
    """Return the backbone of a cell without weights; call it where torch's device is `meta`.

    Args:
        config: of the cell.
        options: of the backbone, without files.
        markers: tokens that the task adds to a pretrained tokenizer.

    Raises:
        MissingError: the sizes of a pretrained backbone are not known on this machine.
    """
    entry = find_backbone(config.asked("backbone")).value
    if entry.hub:
        from bench.models.backbones.hub import without_weights

        return without_weights(config.asked("backbone"), _Words, markers, options)
    backbone: Backbone = entry.load()(config.backbone, _Texts(), config.seed, **options)
    if config.backbone_options.get("glove"):
        backbone.embedding().requires_grad_(False)
    return backbone


# Time ---------------------------------------------------------------------------------------------------------------


def timed(cell: Cell, cost: Cost, arguments: RunArguments) -> Cost:
    """Return a cost with the seconds of a step and the peak of memory, by training the cell for a few steps.

    All weights are new ones, also where those of a trained cell would be read: they take the same time.
    """
    from bench.cells.build import build, exemplars_of
    from bench.launch.memory import micro_batches_of
    from bench.training.training import train

    marks: list[float] = []
    execution = Execution.of(arguments).cut_into(micro_batches_of(cell, 1, arguments), False)
    torch.set_num_threads(threads_of(cell.config.preset, arguments) or torch.get_num_threads())
    objective, codec = build(cell, None if cell.second is None else build(cell.second)[0])
    with suppress(OSError):  # only on Linux a process can begin a new peak
        Path("/proc/self/clear_refs").write_text("5")
    if torch.cuda.is_available():
        torch.cuda.reset_peak_memory_stats()
    with execution.algorithms(), execution.body(objective.backbone, 0):
        train(
            objective,
            cell.task,
            codec,
            replace(cell.config.trainer, steps=TIMED_STEPS + 1, validate=0.0, select="", patience=0),
            cell.config.seed,
            accumulate=execution.accumulate,
            activation_checkpointing=execution.activation_checkpointing,
            exemplars=partial(exemplars_of, cell),
            workers=execution.workers,
            on_step=lambda *step: marks.append(time.perf_counter()),
        )
    if len(marks) <= TIMED_STEPS:
        raise BenchError(f"the training has ended after {len(marks)} steps, before it could be timed")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    if torch.cuda.is_available():
        peak = torch.cuda.max_memory_allocated()
    return replace(cost, seconds_per_step=(marks[-1] - marks[0]) / TIMED_STEPS, peak_memory=peak)


# All cells ----------------------------------------------------------------------------------------------------------


def cost_content(costs: Sequence[Cost]) -> dict[str, Any]:
    """Return costs as plain content, with the sums of the run; of states the largest, since they go in the end."""
    return {
        "cells": [asdict(cost) for cost in costs],
        "sum": {
            "cells": len(costs),
            "unknown": sum(bool(cost.unknown) for cost in costs),
            "flops": sum(cost.flops or 0.0 for cost in costs),
            "checkpoints": sum(cost.checkpoint for cost in costs),
            "states": max((cost.states for cost in costs), default=0),
        },
    }


def cost_text(costs: Sequence[Cost]) -> str:
    """Return costs for people, and their sums."""
    lines = ["cost of training (FLOP: 6 x parameters x tokens; activations and evaluations are not in it)"]
    for cost in costs:
        lines += [f"  {cost.label}", *(f"    {line}" for line in cost.lines)]
    total = cost_content(costs)["sum"]
    disk = f"{amount(total['checkpoints'], 'B')} on disk (+{amount(total['states'], 'B')} while the largest is trained)"
    lines.append(f"sum of {total['cells']} cells: {amount(total['flops'], 'FLOP')} · {disk}")
    return "\n".join(lines)
