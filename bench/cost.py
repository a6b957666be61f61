"""Cost: what the training of each run takes, counted before it begins.

The memory of activations and the seconds of a step depend on the machine: they are not estimated.
"""

import json
from collections.abc import Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import asdict, dataclass, replace
from functools import cache
from types import SimpleNamespace
from typing import Any

import torch

from bench.base.files import write_atomic
from bench.base.keys import canonical, key_of
from bench.base.machine import cache_root
from bench.base.printable import number_of
from bench.cells.cell import Cell, trained_key_of
from bench.cells.plan import Plan
from bench.config.config import PAPER, TrainerConfig
from bench.errors import BenchError
from bench.leaderboards.render.text_table import aligned
from bench.models.backbones import FILES, find_backbone, is_pretrained
from bench.models.backbones.backbone import Backbone
from bench.models.core.objective import Objective
from bench.tasks.core.task import Task
from bench.tasks.encode.codec import byte_count
from bench.tasks.encode.tokenizers import word_tokenizer

BYTES_PER_TOKEN = 4


@dataclass(frozen=True)
class Cost:
    """What the training of one run takes. Sizes are in bytes.

    Args:
        parameters: of the objective, with those of a frozen reference model.
        moments: of AdamW, two for each trained parameter.
        steps: None if the size of the training data is not known.
        checkpoint: on disk.
        unknown: why the model could not be counted; otherwise empty.
    """

    key: str
    label: str
    parameters: int = 0
    trained_parameters: int = 0
    weights: int = 0
    gradients: int = 0
    moments: int = 0
    steps: int | None = None
    checkpoint: int = 0
    unknown: str = ""


def costs_of_plan(plan: Plan) -> list[Cost]:
    """Return the costs of the runs that are still to be trained; baselines without a model have none."""
    found: dict[str, Cost] = {}
    bodies: dict[str, Backbone] = {}
    for cell in plan.cells:
        if cell.key in found or not issubclass(cell.method.kind, Objective) or cell.folder.trained() is not None:
            continue
        found[cell.key] = Cost(cell.key, cell.label)
        try:
            found[cell.key] = counted(cell, bodies)
        except Exception as error:  # such as a model that is not here; the others are counted
            found[cell.key] = replace(found[cell.key], unknown=" ".join(str(error).split())[:300])
    return list(found.values())


def counted(cell: Cell, bodies: dict[str, Backbone]) -> Cost:
    """Return the cost of a run without running its model."""
    trainer, (total, trained, item) = cell.config.trainer, sizes_of(cell, bodies)
    if cell.reference is not None:
        total += sizes_of(cell.reference, bodies)[0]
    n_rows, item = training_rows(cell), 8 if trainer.precision == "64-true" else item
    gradients = item * trained if trainer.n_steps(1) else 0
    return Cost(
        cell.key,
        cell.label,
        parameters=total,
        trained_parameters=trained,
        weights=item * total,
        gradients=gradients,
        moments=2 * gradients,
        steps=trainer.n_steps(n_rows) if n_rows or trainer.steps else None,
        checkpoint=item * (trained if cell.config.backbone_options.get("lora_rank") else total),
    )


def sizes_of(cell: Cell, bodies: dict[str, Backbone]) -> tuple[int, int, int]:
    """Return the number of parameters of a run's objective, of those that are trained, and the bytes of one.

    They are kept in the cache: to import a model of `transformers` takes longer than the rest of a plan.
    """
    same = replace(cell.config, trainer=TrainerConfig(), seed=0)  # what has no influence on the sizes
    file = cache_root() / "sizes" / f"{trained_key_of(same, cell.method, cell.task)}.json"
    with suppress(OSError, ValueError):
        total, trained, item = json.loads(file.read_bytes())
        return total, trained, item
    parameters = parameters_of(cell, bodies)
    trained = sum(p.numel() for p in parameters if p.requires_grad)
    found = sum(map(torch.numel, parameters)), trained, max(p.itemsize for p in parameters)
    with suppress(OSError, BenchError):  # a cache that cannot be written
        write_atomic(file, canonical(found), replace=True)
    return found


def training_rows(cell: Cell) -> int:
    """Return the number of training rows, 0 if it is not known; of blocks of text, about how many there are."""
    task = cell.task
    in_blocks = task.stream is not None or task.training_blocks
    if task.source.folder is None and cell.config.preset == PAPER:  # planned without its data, from published numbers
        return 0 if in_blocks else task.info.sizes.get("train", 0)
    examples = task.split("train").examples
    if not in_blocks:
        return len(examples)
    text = sum(byte_count(example.target) for example in examples) / BYTES_PER_TOKEN
    return max(1, int(text / cell.config.trainer.max_target))


@cache
def tokenizer_of(size: int) -> Any:
    """Return a tokenizer that has so many tokens."""
    return word_tokenizer([" ".join(map(str, range(size)))], size)


TEXTS = SimpleNamespace(
    markers=(),
    tokenizer=tokenizer_of,
    word_tokenizer=tokenizer_of,
    reference_embeddings=lambda words, width, seed: torch.empty(len(words), width),
)
"""A task whose tokenizers have exactly the requested number of tokens, as those that are trained on much text have."""


def parameters_of(cell: Cell, bodies: dict[str, Backbone]) -> list[torch.nn.Parameter]:
    """Return the parameters of a run's objective on torch's device `meta`, where they have sizes and no memory.

    Args:
        cell: of a method with a model.
        bodies: backbones that were made before, by what decides their sizes.

    Raises:
        MissingError: the sizes of a pretrained backbone are not known on this machine.
    """
    config, markers, name = cell.config, len(cell.task.markers), cell.config.spec("backbone")
    named = {name: "" for name in FILES if name in config.backbone_options}  # no size depends on their content
    options = {**config.backbone_options, **named}
    glove = bool(config.backbone_options.get("glove"))
    texts = TEXTS
    if type(cell.task).tokenizer is not Task.tokenizer:  # the task has its vocabulary, known without training one
        texts = SimpleNamespace(**{**vars(TEXTS), "tokenizer": cell.task.tokenizer})
    key = key_of([name, config.plugin_code().get("backbone", {}), options, markers, glove, cell.task.name])
    entry = find_backbone(name).value
    with torch.device("meta"):
        if key not in bodies and is_pretrained(name):
            from bench.models.backbones.hub import without_weights

            bodies[key] = without_weights(name, tokenizer_of, markers, options)
        elif key not in bodies:
            bodies[key] = entry.load()(config.backbone, texts, config.seed, **options)
            if glove:
                bodies[key].embedding().requires_grad_(False)
        words = bodies[key].tokenizer
        objective = cell.method.objective(deepcopy(bodies[key], {id(words): words}), config.method_options)
    if objective.uses_token_counts:  # as of running text, by Zipf's law
        objective.prepare((1e8 / (torch.arange(objective.backbone.vocabulary_size) + 3)).long())
    return list(objective.parameters())


def cost_content(costs: Sequence[Cost]) -> dict[str, Any]:
    """Return costs as plain content, with their sums."""
    checkpoints = sum(cost.checkpoint for cost in costs)
    return {"cells": [asdict(cost) for cost in costs], "sum": {"cells": len(costs), "checkpoints": checkpoints}}


def cost_text(costs: Sequence[Cost]) -> str:
    """Return costs for people as a table, their sums, and what could not be counted."""
    headings = ["run", "parameters", "trained", "weights, gradients, moments", "on disk", "steps"]
    rows = []
    for cost in costs:
        memory = amount(cost.weights + cost.gradients + cost.moments, "B")
        cells = [amount(cost.parameters), amount(cost.trained_parameters), memory, amount(cost.checkpoint, "B")]
        rows.append([cost.label, *cells, "?" if cost.steps is None else f"{cost.steps:,}"])
    lines = [
        "cost of training (with a full vocabulary, without activations and evaluations; ? where data are not here)"
    ]
    disk = amount(sum(cost.checkpoint for cost in costs), "B")
    lines += [*aligned(headings, rows), f"sum of {number_of(len(costs), 'runs')}: {disk} on disk"]
    return "\n".join([*lines, *(f"{cost.label}: unknown: {cost.unknown}" for cost in costs if cost.unknown)])


def amount(number: float, unit: str = "") -> str:
    """Return a number with three digits and a prefix for a power of 1000.

    >>> amount(124_439_808), amount(2.5e9, "B"), amount(0, "B"), amount(999_999, "B")
    ('124 M', '2.5 GB', '0 B', '1 MB')
    """
    prefixes = iter("kMGTPE")
    prefix = ""
    while number >= 999.5:  # three digits would be 1000
        number, prefix = number / 1000, next(prefixes)
    return f"{number:.3g} {prefix}{unit}".rstrip()
