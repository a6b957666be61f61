"""Folders of `transformers`: a trained run leaves the suite as one, and a model that was trained elsewhere comes in."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.errors import MissingError, StoreError, UsageError
from bench.models import EXTERNAL

if TYPE_CHECKING:
    from torch import Tensor

    from bench.board.board import Board
    from bench.models.core.objective import Objective
    from bench.store.store import CellFolder
    from bench.tasks.core.task import Task
    from bench.tasks.encode.codec import Codec


def export_model(run: CellFolder, into: Path) -> str:
    """Write the model of a trained run as a folder that `AutoModelForCausalLM` and `AutoTokenizer` load.

    Adapters of LoRA are merged into the weights of their base model as it is on this machine now.

    Args:
        run: a run with its checkpoint.
        into: a folder that is not there yet, or empty.

    Returns:
        What the folder lacks of the method, as a sentence; empty where the model is all of it.

    Raises:
        StoreError: the run is not trained, or has no checkpoint.
        UsageError: the folder has files, the code of a plug-in has changed since, or the model is not one of
            `transformers` with its own head.
    """
    from transformers import PreTrainedModel
    from transformers.utils import logging

    if into.exists() and (not into.is_dir() or any(into.iterdir())):
        raise UsageError(f"expected a new or empty folder, '{into}' is there already")
    content, (objective, *_) = run.trained(), trained_objective(run)
    assert content is not None
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
    for weights in into.glob("*.safetensors"):  # which safetensors lets their owner alone read
        shutil.copymode(into / "config.json", weights)
    about = {name: content[name] for name in ("key", "config", "method")}
    (into / "bench_run.json").write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")
    return lost


def trained_objective(run: CellFolder, *, weights: bool = True) -> tuple[Objective, Codec, Task]:
    """Return the objective of a stored run, the codec of its texts, and its task; no data of a task are read.

    Args:
        run: a run with its configuration.
        weights: whether the objective gets the weights of the checkpoint, and not those from before the first step.

    Raises:
        StoreError: the run is not trained, or its checkpoint is missing or damaged.
        UsageError: the run has no configuration, or the source of a method of the user is not the one that was trained.
    """
    from bench.base.lightning import use_lightning
    from bench.config.arguments import file_values
    from bench.config.resolve import find_method
    from bench.models.backbones import backbone_factory
    from bench.models.backbones.small import bpe_tokenizer
    from bench.models.core.rebuild import StoredText, tokenizer_content
    from bench.models.core.run_context import RunContext
    from bench.store.checkpoints import load_checkpoint, load_verified
    from bench.tasks import find_task
    from bench.tasks.encode.codec import Codec

    use_lightning()
    content = run.trained()
    if content is None or content["status"] != "ok":
        raise StoreError(f"'{run.path}' has no trained run; bench store status lists them")
    config, typed = content["config"], file_values(run.path / "config.yaml")  # which says where plug-ins are
    task = find_task(typed["tasks"][0]).value(**config["task_options"])
    method = find_method(typed["methods"][0])
    if method.code.get("source_sha256") != content["method"].get("source_sha256"):
        raise UsageError(
            f"'{method.spec}' has changed since '{run.path}' was trained: expected the source with the SHA-256 "
            f"{content['method'].get('source_sha256')}; restore the file, or run it again"
        )
    options, tokenizer = dict(config["backbone_options"]), None
    if "tokenizer" in options:  # of a backbone from scratch
        options["tokenizer"] = str(run.path)
    elif config["backbone"] == "bilstm":  # which has no such option
        tokenizer = tokenizer_content(bpe_tokenizer(task, 0, str(run.path)))
    text = StoredText({"tokenizer": tokenizer, "markers": task.markers})
    backbone = backbone_factory(typed["backbone"])(config["backbone"], text, config["seed"], **options)
    objective = method.objective(backbone, config["method_options"])
    objective.setup_run(RunContext(seed=config["seed"], token_counts=_no_counts))
    if weights:
        stored = load_verified(run, content)
        if objective.uses_token_counts:
            objective.prepare(stored["counts"].long())
        load_checkpoint(objective, stored, run.path)
    sizes = (config["trainer"][name] for name in ("max_source", "max_target"))
    return objective, Codec(backbone.tokenizer, backbone.architecture, *sizes), task


def _no_counts() -> Tensor:
    """Stand in for the counts of the training tokens: no data of a task are read here."""
    raise MissingError(
        "this decoding needs the counts of the training tokens, which are not stored; give another one, such as "
        "--decode topk=3"
    )


def lost_in_folder(objective: Objective, method: str) -> str:
    """Return what a method predicts with in addition to the head of its model, as a sentence.

    Raises:
        UsageError: it does not predict by that head at all.
    """
    from bench.integrations.attach import predicts_by_head

    if objective.reads_cache:
        return (
            f"'{method}' predicts by its head and a cache of earlier states; the folder has the head alone, so texts "
            f"and perplexities of other programs differ from those of the suite (bench.attach puts the cache back)"
        )
    if not predicts_by_head(objective):
        raise UsageError(f"'{method}' does not predict by the head of its model, so a folder would hold another model")
    return ""


def merge_adapters(model: Any) -> None:
    """Add the adapters of LoRA to the weights below them, and remove them.

    Raises:
        UsageError: an adapted weight is used in two places, such as a head that is tied to the embedding.
    """
    from peft.tuners.lora import LoraLayer

    named = list(model.named_modules())
    bases = [module.get_base_layer().weight for _, module in named if isinstance(module, LoraLayer)]
    users = [weight.data_ptr() for _, weight in model.named_parameters(remove_duplicate=False)]
    if any(users.count(base.data_ptr()) > 1 for base in bases):
        raise UsageError("adapters of a weight that is used twice, such as a tied head, cannot be merged into it")
    for name, module in named:
        if isinstance(module, LoraLayer):
            module.merge()
            parent, _, last = name.rpartition(".")
            setattr(model.get_submodule(parent), last, module.get_base_layer())


def evaluate(model: Any, task: str, *, tokenizer: Any = None, results: str | Path = "results", **options: Any) -> Board:
    """Evaluate a model that was trained elsewhere with the metrics of a task; return the board of its row.

    Args:
        model: a model of `transformers`, which is saved below `RESULTS/.external`; a folder that has one with its
            tokenizer; or a hub id.
        task: as for `bench.run`.
        tokenizer: of a model that is neither folder nor hub id.
        results: the results folder.
        options: of `bench.run`, such as `preset`, `decode` or `limit`.

    Raises:
        UsageError: a model without a tokenizer, with an objective attached or with adapters; or an option that says
            what is trained.
    """
    from bench.board.run import run

    if refused := {"method", "backbone", "trials"} & set(options):
        raise UsageError(f"{min(refused)}= is an argument of bench.run: bench.evaluate trains nothing")
    if not isinstance(model, str | Path):
        model = saved(model, tokenizer, Path(results) / ".external")
    return run(task, EXTERNAL, backbone=place_of(str(model)), results=results, **options)


def place_of(model: str) -> str:
    """Return what names a model: the absolute path of a folder, or a hub id.

    Raises:
        UsageError: a backbone that has no trained weights.
    """
    from bench.models.backbones import is_pretrained

    if Path(model).is_dir():
        return str(Path(model).resolve())
    if model.startswith((".", "/", "~")):
        raise UsageError(f"expected a folder with a model of transformers, and there is no folder '{model}'")
    if not is_pretrained(model):
        raise UsageError(f"expected a folder of transformers or a hub id, got the backbone '{model}' without weights")
    return model


def saved(model: Any, tokenizer: Any, folder: Path) -> Path:
    """Save a model below a folder, by the hash of its files; return where."""
    from bench.integrations.attach import KEY, inner_model
    from bench.models.backbones.hub import MAIN, identity

    if tokenizer is None:
        raise UsageError("expected tokenizer=..., by which the rows of the task are encoded")
    if KEY in inner_model(model).__dict__:
        raise UsageError("a folder would lack the weights and the cache of an attached objective: bench.detach first")
    if hasattr(model, "merge_and_unload"):
        raise UsageError("the adapters of a peft model would not be saved with it; give model.merge_and_unload()")
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, ignore_cleanup_errors=True) as partial:
        model.save_pretrained(partial)
        tokenizer.save_pretrained(partial)
        digest = identity(partial, "", MAIN)["folder_sha256"]
        place = folder / f"{type(model).__name__}-{digest[:12]}"
        if not place.exists():
            Path(partial).rename(place)
    return place
