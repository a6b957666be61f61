"""Cell: the code's name of a run, one configuration of the matrix with its key and its required evaluations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bench.base.files import kept_hash
from bench.base.keys import key_of, without
from bench.cells.required import Evaluation, required_evaluations, rows_key_of
from bench.config.config import CellConfig
from bench.config.resolve import Method
from bench.errors import MissingError
from bench.models.backbones import is_pretrained
from bench.models.backbones.recurrent.glove import HOW_TO_GET
from bench.store.former import former_method
from bench.store.store import TOKENIZER, CellFolder, Store
from bench.tasks.core.task import Task

KEY_SCHEMA = 2
FORMER_OPTIONS = {"init_from": ""}
"""Options that the trainer had in version 0.2. Keys and records still have them, with their default."""
OWN = "own"
"""Status of rows that only the user has."""
ADVICE = {"glove": f"; the paper's: {HOW_TO_GET}"}
"""What to do where the file of a backbone's option is not there."""


@dataclass(frozen=True)
class Cell:
    """One run: its configuration, its key, and its required evaluations by their keys.

    Args:
        parent: the run it is fine-tuned from.
        reference: the run of the frozen model it reads along.
    """

    config: CellConfig
    method: Method
    task: Task
    key: str
    folder: CellFolder
    evaluations: dict[str, Evaluation]
    parent: Cell | None = None
    reference: Cell | None = None

    @property
    def label(self) -> str:
        """Task, method, backbone and seed, as messages name the run."""
        return f"{self.config.task} · {self.method.name} · {self.config.backbone} · seed {self.config.seed}"

    @property
    def needed(self) -> list[Cell]:
        """The runs that are trained before it: of the method it is fine-tuned from, and of its reference model."""
        return [cell for cell in (self.parent, self.reference) if cell is not None]


def make_cell(
    config: CellConfig,
    method: Method,
    task: Task,
    store: Store,
    parent: Cell | None = None,
    reference: Cell | None = None,
) -> Cell:
    """Name a run and its evaluations by the hash of everything that decides them."""
    method = with_revisions(method, config, task)
    keys = (needed.key if needed else "" for needed in (parent, reference))
    key = trained_key_of(config, method, task, *keys)
    evaluations = {rows_key_of(key, task, what): what for what in required_evaluations(config, method, task)}
    folder = store.cell(config.task, config.method, key)
    return Cell(config, method, task, key, folder, evaluations, parent, reference)


def with_revisions(method: Method, config: CellConfig, task: Task) -> Method:
    """Return a method whose code lists the values of its options that have changed their meaning.

    Only data of the user and tasks that are plug-ins have such a list: on the rows of built-in tasks both meanings are
    the same, so that their keys stay. Key and record have the list, so that tables keep old and new runs apart.
    """
    if "task" not in config.plugins and task.manifest("train").status != OWN:
        return method
    chosen = {f"{name}={value}" for name, value in config.method_options.items()}
    revised = {text: version for text, version in getattr(method.kind, "revised", {}).items() if text in chosen}
    if not revised:
        return method
    return replace(method, code={**method.code, "revised": revised})


def trained_key_of(
    config: CellConfig,
    method: Method,
    task: Task,
    parent_key: str = "",
    reference_key: str = "",
) -> str:
    """Return the hash of everything that decides the trained weights; the keys are those of runs that it needs."""
    weights = {}
    if "backbone" not in config.plugins:  # the key of a plug-in has the hash of its code
        weights = pretrained_weights(config.backbone, config.backbone_options)
    task_content: dict[str, Any] = {
        "name": task.name,
        "version": task.version,
        "options": without(config.task_options, task.places),
        "train": task.manifest("train").as_dict(),
    }
    if is_validated(config, method):
        task_content["valid"] = task.manifest("valid").sha256
    return key_of_training(
        task=task_content,
        method={**method.code, "options": config.method_options},
        backbone={"name": config.backbone, "options": placed(config.backbone_options), **weights},
        trainer={**config.trainer.content(), **FORMER_OPTIONS},
        seed=config.seed,
        plugins=config.plugin_code(),
        parent=parent_key,
        reference=reference_key,
    )


def key_of_training(
    *,
    task: Mapping[str, Any],
    method: Mapping[str, Any],
    backbone: Mapping[str, Any],
    trainer: Mapping[str, Any],
    seed: int,
    plugins: Mapping[str, Any],
    parent: str,
    reference: str,
) -> str:
    """Return the key of a training by everything that decides its weights, in the form of a plan or of a record.

    Args:
        task: its name, version and options, the manifest of its training rows and, where validation text decides what
            is stored, the hash of that.
        method: the code of the objective and its options.
        backbone: its name, options and, if it is pretrained, its weights.
        trainer: every setting of the training.
        seed: of the run.
        plugins: class and source hash of task and backbone, where they are plug-ins.
        parent: key of the run it is fine-tuned from; empty for none.
        reference: key of the run of its reference model; empty for none.
    """
    content: dict[str, Any] = {
        "schema": KEY_SCHEMA,
        "task": task,
        "method": former_method(method),
        "backbone": backbone,
        "trainer": trainer,
        "seed": seed,
    }
    if not trainer["steps"] and not trainer["epochs"]:
        content["training"] = "none"  # before 0.3 it was one step
    if plugins:
        content["own"] = plugins
    if parent:
        content["parent"] = parent
    if reference:
        content["second"] = reference
    return key_of(content)


def is_validated(config: CellConfig, method: Method) -> bool:
    """Whether validation text decides what is stored: the step that is kept, or what is chosen after the last one."""
    return bool(config.trainer.select) or method.chooses_after_training


def described(cell: Cell) -> dict[str, Any]:
    """Return a run's configuration for its record: with places replaced by what lies there, or left out."""
    content = cell.config.as_dict()
    content["task_options"] = without(cell.config.task_options, cell.task.places)
    content["backbone_options"] = placed(cell.config.backbone_options)
    content["trainer"] |= FORMER_OPTIONS
    return content


def placed(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return a backbone's options with every file named by its content, and model folders left to `weights`."""
    by_content = dict(options)
    for name in ("tokenizer", "glove"):
        if not by_content.get(name):
            continue
        file = Path(by_content[name])
        if file.is_dir():
            file = file / TOKENIZER
        if not file.is_file():
            raise MissingError(f"backbone.{name} names '{file}', which is no file{ADVICE.get(name, '')}")
        by_content[name] = kept_hash(file)
    return by_content


DROPOUT = "configured"
"""How pretrained backbones are trained since 0.3; before it they were trained in evaluation mode, without dropout."""


def pretrained_weights(backbone: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the weights of a pretrained backbone are; nothing for one that is trained from scratch."""
    if not is_pretrained(backbone):
        return {}
    from bench.models.backbones.hub import identity

    return {"weights": {**identity(backbone, options["path"], options["revision"]), "dropout": DROPOUT}}
