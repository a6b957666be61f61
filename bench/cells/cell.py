"""Cell: one configuration of the matrix with its key and the evaluations it wants."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from bench.base.keys import key_of, sha256
from bench.cells.evaluation import VERSION
from bench.cells.evaluators import Evaluation
from bench.config.config import CellConfig
from bench.config.decoding import Decoding
from bench.config.resolve import EvaluationVariant, Method, backbone_factory
from bench.errors import MissingError, UsageError
from bench.models.backbones.hub import hub, identity
from bench.models.baselines import Baseline
from bench.store.store import TOKENIZER, CellFolder, Store
from bench.tasks.core.task import Task
from bench.tasks.encode.batches import chosen

KEY_SCHEMA = 2


@dataclass(frozen=True)
class Cell:
    """One cell: its configuration, its key, and the evaluations it wants by rows key.

    Args:
        parent: the cell it is fine-tuned from.
        donor: the cell its weights start from, of any task (`trainer.init_from`).
    """

    config: CellConfig
    method: Method
    task: Task
    key: str
    folder: CellFolder
    evaluations: dict[str, Evaluation]
    parent: Cell | None = None
    donor: CellFolder | None = None

    @property
    def label(self) -> str:
        """For people."""
        return f"{self.config.task} · {self.method.name} · {self.config.backbone} · seed {self.config.seed}"

    @property
    def start(self) -> CellFolder | None:
        """The cell its weights start from, or None for weights of their own."""
        return self.parent.folder if self.parent else self.donor


def make_cell(config: CellConfig, method: Method, task: Task, store: Store, parent: Cell | None = None) -> Cell:
    """Name a cell and its evaluations by the hash of everything that decides them."""
    donor, trainer = donor_of(config), asdict(config.trainer)
    trainer["init_from"] = checkpoint_of(donor) if donor else ""
    key = key_of({
        "schema": KEY_SCHEMA,
        "task": {"name": task.name, "version": task.version, "options": without(config.task_options, task.places),
                 "train": task.manifest("train").as_dict()},
        "method": {**method.code, "options": config.method_options},
        "backbone": {"name": config.backbone, "options": placed(config.backbone_options), **weights(config)},
        "trainer": trainer,
        "seed": config.seed,
        **({"parent": parent.key} if parent else {}),
    })  # fmt: skip
    evaluations = {}
    for what in wanted(config, method, task):
        rows_key = key_of({"trained": key, "version": VERSION, "split_sha256": task.manifest(what.split).sha256,
                           **evaluation_content(what)})  # fmt: skip
        evaluations[rows_key] = what
    folder = store.cell(config.task, config.method, key)
    return Cell(config, method, task, key, folder, evaluations, parent, donor)


def described(cell: Cell) -> dict[str, Any]:
    """Return a cell's configuration for its record: with places replaced by what lies there, or left out."""
    content = cell.config.as_dict()
    content["task_options"] = without(cell.config.task_options, cell.task.places)
    content["backbone_options"] = placed(cell.config.backbone_options)
    content["trainer"]["init_from"] = checkpoint_of(cell.donor) if cell.donor else ""
    return content


def without(options: Mapping[str, Any], places: Collection[str]) -> dict[str, Any]:
    """Return options but those that only say where data is."""
    return {name: value for name, value in options.items() if name not in places}


def placed(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return a backbone's options with every file named by its content, and model folders left to `weights`."""
    found = dict(options)
    for name in ("tokenizer", "glove"):
        if found.get(name):
            file = Path(found[name])
            file = file / TOKENIZER if file.is_dir() else file
            if not file.is_file():
                raise MissingError(f"backbone.{name} names '{file}', which is no file")
            found[name] = sha256(file.read_bytes())
    return found


def donor_of(config: CellConfig) -> CellFolder | None:
    """Return the cell that `trainer.init_from` names, or None."""
    return CellFolder(Path(config.trainer.init_from)) if config.trainer.init_from else None


def checkpoint_of(folder: CellFolder) -> str:
    """Return the hash of a donor's checkpoint; a cell that starts from it depends on nothing else of it."""
    content = folder.trained()
    if content is None or content["status"] != "ok" or "model" not in content:
        raise MissingError(f"trainer.init_from names '{folder.path}', which is no trained cell; it should be a folder "
                           f"like results/<task>/<method>/<key> that holds trained.json")  # fmt: skip
    return str(content["model"]["checkpoint_sha256"])


def weights(config: CellConfig) -> dict[str, Any]:
    """Return what a pretrained backbone is; nothing for one trained from scratch."""
    if backbone_factory(config.backbone) is not hub:
        return {}
    options = config.backbone_options
    return {"weights": identity(config.backbone, options["path"], options["revision"])}


def evaluation_content(what: Evaluation) -> dict[str, Any]:
    """Return an evaluation as content for a key and a rows file; the ids enter by their hash."""
    content = asdict(what)
    content["ids"] = {"n": len(what.ids), "sha256": key_of(list(what.ids))}
    if content["cut"] is None:
        del content["cut"]
    content["decoding"] = {"name": what.decoding.name, **what.decoding.as_dict()} if what.decoding else None
    return content


def wanted(config: CellConfig, method: Method, task: Task) -> Sequence[Evaluation]:
    """Return the evaluations of a cell: likelihood, probe and spectrum once, generation once per decoding.

    A control that reads another method's cell wants only what it would see differently.
    """
    split, size, reading = config.evaluation.split, config.evaluation.batch_size, method.evaluation_variant
    cut = None if task.stream is None else config.evaluation.rows or 0
    examples = task.evaluation_examples(split, config.evaluation.rows) if cut is None else []
    found, of_rows = [], key_of([e.id for e in examples] if cut is None else ["cut", cut])
    for kind in kinds_of(method, task):
        rows = task.probe_examples(examples) if kind in ("probe", "spectrum") else examples
        ids = tuple(chosen([e.id for e in rows], config.evaluation.spectrum_rows if kind == "spectrum" else None))
        for decoding in decodings_of(config, reading) if kind == "generation" else (None,):
            length = (decoding.max_new_tokens or config.trainer.max_target) if decoding else 0
            found.append(Evaluation(
                kind, split, ids, size, length, decoding, config.seed, config.trainer.precision, of_rows,
                exemplars=reading.exemplars if method.reads_exemplars else "",
                shown_as=method.name if method.only_reads else "",
                references=kind == "generation" and task.info.open_ended, cut=cut,
            ))  # fmt: skip
    return found


def kinds_of(method: Method, task: Task) -> Sequence[str]:
    """Return the kinds of evaluation a method has: a baseline and another decoding of a cell only write."""
    variant = method.evaluation_variant
    only_writes = issubclass(method.kind, Baseline) or variant.distribution or variant.matched
    return [kind for kind in task.info.evaluations if kind == "generation" or not only_writes]


LADDER = (1, 2, 3, 5, 10, 20, 30, 50, 70, 100, 200, 300, 500, 1000)
"""The k of top-k sampling that a matched control tries."""


def decodings_of(config: CellConfig, reading: EvaluationVariant) -> Sequence[Decoding]:
    """Return the decodings of a cell as a control reads it; those that cannot be read so are left out."""
    if reading.matched:
        longest = next((d.max_new_tokens for d in config.decodings), None)
        return [Decoding("topk", k=k, max_new_tokens=longest) for k in LADDER]
    if not reading.distribution:
        return config.decodings
    found = []
    for decoding in config.decodings:
        with suppress(UsageError):
            found.append(replace(decoding, distribution=reading.distribution))  # type: ignore[arg-type]
    return found
