"""Build: from a run to an objective with its initial weights, and the codec of its backbone."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
import torch

from bench.base.lightning import use_lightning
from bench.base.seeds import seed_of, seed_torch
from bench.cells.cell import Cell
from bench.config.config import CellConfig, TrainerConfig
from bench.config.decoding import parse
from bench.errors import BlockedError, UsageError
from bench.models import EXTERNAL
from bench.models.backbones import FILES, find_backbone, is_pretrained
from bench.models.backbones.backbone import Backbone, Batch
from bench.models.core.objective import Objective
from bench.models.core.rebuild import check_tokens, tokenizer_content
from bench.models.core.run_context import Optimiser, RunContext
from bench.store.checkpoints import load_checkpoint, load_part, load_verified
from bench.tasks.core.task import LoaderConfig
from bench.tasks.encode.codec import Codec, tokenizer_hash

WARM_BATCHES = 8
"""Training batches that a method may look at before its first step."""

TYPES = {"32-true": torch.float32, "64-true": torch.float64}
"""Precisions whose weights are of that type; any other trains float32 weights under autocast."""


def build(cell: Cell, reference: Objective | None = None) -> tuple[Objective, Codec]:
    """Return the objective with its initial weights, and the codec.

    Weights are a pure function of the seed: every rank and every restart builds the same ones.

    Raises:
        UsageError: a pretrained backbone has not the distribution of the library's own model.
        BlockedError: the run of its reference model is not trained.
    """
    use_lightning()
    if reference is None and cell.reference is not None:
        reference = trained_model(cell.reference)
    config = cell.config
    entry, options = find_backbone(config.spec("backbone")).value, dict(config.backbone_options)
    backbone = entry.load()(config.backbone, cell.task, config.seed, **options)
    if cell.method.name == EXTERNAL and backbone.added_tokens:
        raise UsageError(
            f"'{cell.task.name}' has {backbone.added_tokens} marker tokens that this model lacks, and their vectors "
            f"would be random; take a form of the task without them, such as --set task.style=compact"
        )
    if "backbone" in config.plugins:
        check_made(backbone, config, entry.architecture)
    seed_torch(seed_of(config.seed, "method"))
    objective = cell.method.objective(backbone, config.method_options)
    codec = Codec(backbone.tokenizer, backbone.architecture, config.trainer.max_source, config.trainer.max_target)
    if objective.backbone.pretrained is not None:
        check_exact(objective.backbone, config.backbone)
    if reference is not None:
        check_tokens(objective, reference)
    objective.setup_run(replace(context_of(cell, objective, codec), reference=reference))
    if objective.uses_token_counts:
        objective.prepare(counts_of(cell, codec, backbone.vocabulary_size))
    if config.trainer.precision in TYPES:
        objective = objective.to(TYPES[config.trainer.precision])
    return objective, codec


def check_made(backbone: Any, config: CellConfig, architecture: str) -> None:
    """Refuse the result of a user's backbone factory that is no backbone, or of another architecture than planned."""
    where = config.plugins["backbone"].code["class"]
    if not isinstance(backbone, Backbone):
        raise UsageError(f"'{where}' should return a bench.models.backbones.backbone.Backbone, not {type(backbone)}")
    if backbone.architecture != architecture:
        raise UsageError(
            f"'{where}' returned a backbone that is {backbone.architecture}, where {architecture} was expected; say "
            f"architecture=... in a BackboneEntry"
        )


def check_exact(backbone: Backbone, name: str) -> None:
    """Refuse a pretrained backbone whose distribution, or generation with a cache, is not the library model's."""
    from bench.generation.row_cache import new_cache
    from bench.models.backbones.exactness import refuse_inexact

    refuse_inexact(backbone, name, new_cache)


def trained_model(cell: Cell) -> Objective:
    """Return the objective of a trained run with its weights, in evaluation mode."""
    content = cell.folder.trained()
    if content is None or content["status"] != "ok":
        raise BlockedError(f"needs the trained run of '{cell.label}', which is not in '{cell.folder.path}'")
    objective, _ = build(cell)
    load_checkpoint(objective, load_verified(cell.folder, content), cell.folder.path)
    return objective.eval()


def context_of(cell: Cell, objective: Objective, codec: Codec) -> RunContext:
    """Return the context of a run; training targets are counted only if a decoding asks for them."""
    return RunContext(
        seed=cell.config.seed,
        max_target=cell.config.trainer.max_target,
        optimiser=optimiser_of(cell.config.trainer),
        token_counts=lambda: torch.tensor(cell.task.target_counts(codec, objective.backbone.vocabulary_size)),
        continue_prompts=partial(continued, objective),
        made_of=lambda: parts_of(cell, objective),
    )


def parts_of(cell: Cell, objective: Objective) -> dict[str, Any]:
    """Return what the objective of a run is made of, for a checkpoint that is to be loaded alone."""
    config = cell.config
    return {
        "method": objective.name,
        "options": dict(config.method_options),
        "backbone": config.plugin_code().get("backbone", {}).get("class", config.backbone),
        "backbone_options": {name: value for name, value in config.backbone_options.items() if name not in FILES},
        "seed": config.seed,
        "markers": list(cell.task.markers),
        "tokenizer": tokenizer_content(objective.backbone.tokenizer),
    }


def optimiser_of(config: TrainerConfig) -> Optimiser:
    """Return the optimiser of a recipe; it takes as many steps as the trainer."""
    names = ("lr", "warmup", "schedule", "weight_decay", "decay", "decay_epochs")
    return Optimiser(**{name: getattr(config, name) for name in names})


def continued(
    objective: Objective, batch: Batch, most: int, decoding: str = "greedy", seeds: Sequence[int] = ()
) -> list[list[int]]:
    """Continue prompts in training; no closure, so that a copy of an objective does it with its own model."""
    from bench.generation.generation import generate

    (settings,) = parse(decoding)
    return generate(objective, batch, settings, most, seeds)


def start(objective: Objective, cell: Cell, codec: Codec) -> None:
    """Load the weights that a run starts from, and fit the other parameters to them by `warm_start`."""
    if cell.parent is None:
        is_new = is_pretrained(cell.config.spec("backbone"))
    else:
        folder = cell.parent.folder
        content = folder.trained()
        assert content is not None
        if content["model"]["tokenizer_sha256"] != tokenizer_hash(codec.tokenizer):
            raise UsageError(
                f"weights of '{folder.path}' do not fit: its tokenizer is another one than that of backbone "
                f"{cell.config.backbone}; give both runs the same backbone"
            )
        is_new = load_part(objective, load_verified(folder, content), folder.path)
    if is_new:
        objective.warm_start(first_batches(cell, codec))


def first_batches(cell: Cell, codec: Codec) -> Iterator[Batch]:
    """Yield some training batches, the same on every rank."""
    rows = cell.task.encoded("train", codec, exemplars=exemplars_of(cell))
    size = cell.config.trainer.batch_size
    starts = range(0, len(rows), size)
    for at in islice(starts, WARM_BATCHES):
        yield codec.picked(rows, np.arange(at, min(at + size, len(rows))))  # type: ignore[misc]


def training_loader(cell: Cell, codec: Codec) -> LoaderConfig:
    """Return which batches the task of a run gives while it is trained."""
    trainer = cell.config.trainer
    return LoaderConfig(
        codec,
        batch=trainer.batch_size,
        seed=cell.config.seed,
        exemplars=partial(exemplars_of, cell),
        evaluation_batch=trainer.batch_size,
        evaluation_rows=trainer.validate_rows,
    )


def exemplars_of(cell: Cell, split: str = "train") -> Mapping[str, str] | None:
    """Return the exemplars a run's method reads in a split, by row id, or None."""
    if not cell.method.reads_exemplars:
        return None
    return cell.task.exemplars(split, bool(cell.config.method_options.get("equal_targets", True)))


def counts_of(cell: Cell, codec: Codec, vocabulary_size: int) -> torch.Tensor:
    """Return the token counts a method is made for: those of the run it starts from, else of its own training text."""
    if cell.parent is not None and (content := cell.parent.folder.trained()) is not None:
        counts = load_verified(cell.parent.folder, content).get("counts")
        if counts is not None and counts.shape == (vocabulary_size,):
            return counts.long()
    return torch.tensor(cell.task.target_counts(codec, vocabulary_size))
