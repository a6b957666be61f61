"""Folders of `transformers`: a trained run leaves the suite as one, and a model that was trained elsewhere comes in."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.errors import StoreError, UsageError

if TYPE_CHECKING:
    from bench.board.board import Board
    from bench.models.core.objective import Objective
    from bench.store.store import CellFolder

__all__ = ["EXTERNAL", "evaluate", "export_model"]

EXTERNAL = "mle.external"
"""The method of a model that was trained elsewhere."""


def export_model(run: CellFolder, into: Path) -> str:
    """Write the model of a trained run as a folder that `AutoModelForCausalLM` and `AutoTokenizer` load.

    Args:
        run: a run with its checkpoint.
        into: a folder that is not there yet, or empty.

    Returns:
        What the folder lacks of the method, as a sentence; empty where the model is all of it.

    Raises:
        StoreError: the run is not trained, or has no checkpoint.
        UsageError: the folder has files, or the model is not one of `transformers` with its own head.
    """
    from transformers import PreTrainedModel
    from transformers.utils import logging

    from bench.store.checkpoints import load_checkpoint, load_verified

    content = run.trained()
    if content is None or content["status"] != "ok":
        raise StoreError(f"'{run.path}' has no trained run; bench store status lists them")
    if into.exists() and (not into.is_dir() or any(into.iterdir())):
        raise UsageError(f"expected a new or empty folder, '{into}' is there already")
    objective = untrained_objective(run, content["config"])
    weights = load_verified(run, content)
    if objective.uses_token_counts:
        objective.prepare(weights["counts"].long())
    load_checkpoint(objective, weights, run.path)
    lost = lost_in_folder(objective, content["config"]["method"])
    model = objective.backbone.model
    if not isinstance(model, PreTrainedModel):
        raise UsageError(
            f"the backbone '{content['config']['backbone']}' is no model of transformers: nothing loads it"
        )
    if objective.backbone.lora is not None:
        merge_adapters(model)
    logging.disable_progress_bar()
    model.save_pretrained(into)
    objective.backbone.tokenizer.save_pretrained(into)
    about = {name: content[name] for name in ("key", "config", "method")}
    (into / "bench_run.json").write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")
    return lost


def untrained_objective(run: CellFolder, config: dict[str, Any]) -> Objective:
    """Return the objective of a stored run before its weights are loaded; its task's data are not read."""
    from bench.base.lightning import use_lightning
    from bench.base.registry import find
    from bench.config.resolve import find_method
    from bench.models.backbones import backbone_factory
    from bench.models.core.rebuild import StoredText
    from bench.models.core.run_context import RunContext
    from bench.tasks import TASKS

    use_lightning()
    task = find(config["task"], TASKS, "task").value(**config["task_options"])
    method = find_method(config["method"])
    options = dict(config["backbone_options"])
    if "tokenizer" in options:  # of a backbone from scratch
        options["tokenizer"] = str(run.path)
    text = StoredText({"tokenizer": None, "markers": task.markers})
    backbone = backbone_factory(config["backbone"])(config["backbone"], text, config["seed"], **options)
    objective = method.objective(backbone, **config["method_options"])
    objective.setup_run(RunContext(seed=config["seed"]))
    return objective


def lost_in_folder(objective: Objective, method: str) -> str:
    """Return what a method predicts by beside the head of its model, as a sentence.

    Raises:
        UsageError: it does not predict by that head at all.
    """
    from bench.models.core.objective import Objective as Base

    kind = type(objective)
    if objective.reads_cache:
        return (
            f"'{method}' predicts by its head and a cache of earlier states; the folder has the head alone, so texts "
            f"and perplexities of other programs differ from those of the suite (bench.attach puts the cache back)"
        )
    if kind.log_probs is not Base.log_probs or kind.logits is not Base.logits:
        raise UsageError(f"'{method}' does not predict by the head of its model, so a folder would hold another model")
    return ""


def merge_adapters(model: Any) -> None:
    """Add the adapters of LoRA to the weights below them, and remove them."""
    from peft.tuners.lora import LoraLayer

    for name, module in list(model.named_modules()):
        if isinstance(module, LoraLayer):
            module.merge()
            parent, _, last = name.rpartition(".")
            setattr(model.get_submodule(parent), last, module.get_base_layer())


def evaluate(
    model: Any,
    task: str,
    *,
    tokenizer: Any = None,
    name: str = "",
    results: str | Path = "results",
    **options: Any,
) -> Board:
    """Evaluate a model that was trained elsewhere with the metrics of a task; return the board of its row.

    Args:
        model: a model of `transformers`, or a folder that has one with its tokenizer.
        task: as for `bench.run`.
        tokenizer: of a model that is no folder.
        name: of the folder below `RESULTS/.external` that the model is saved in; the name of its class by default.
        results: the results folder.
        options: of `bench.run`, such as `preset`, `decode` or `limit`.

    Raises:
        UsageError: a model without a tokenizer.
    """
    from bench.board.run import run

    folder = (
        Path(model) if isinstance(model, str | Path) else Path(results) / ".external" / (name or type(model).__name__)
    )
    if not isinstance(model, str | Path):
        if tokenizer is None:
            raise UsageError(
                "expected tokenizer=..., the tokenizer of the model: the suite encodes the task's rows by it"
            )
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
    return run(task, EXTERNAL, backbone=str(folder), results=results, **options)
