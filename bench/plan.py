"""Plan: the matrix task x method x backbone x seed as cells with keys, and what is skipped with its reason."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from bench.arguments import RunArguments
from bench.config import PRESETS, CellConfig, parse_sets
from bench.entries import expand
from bench.errors import UsageError, did_you_mean
from bench.evaluate import VERSION, Evaluation
from bench.keys import key_of
from bench.models import METHODS
from bench.models.backbones.hub import architecture, hub, identity
from bench.resolve import Method, backbone_factory, cell_config, check_overrides, find_method
from bench.store import CellFolder, Store
from bench.tasks import TASKS
from bench.tasks.batches import chosen
from bench.tasks.sources import resolve
from bench.tasks.task import Task

KEY_SCHEMA = 1


@dataclass(frozen=True)
class Cell:
    """One cell: its configuration, its key, and the evaluations it wants by rows key."""

    config: CellConfig
    method: Method
    task: Task
    key: str
    folder: CellFolder
    evaluations: dict[str, Evaluation]

    @property
    def label(self) -> str:
        """For people."""
        return f"{self.config.task} · {self.config.method} · {self.config.backbone} · seed {self.config.seed}"


@dataclass(frozen=True)
class Skip:
    """What a run leaves out, and why."""

    task: str
    method: str
    backbone: str
    reason: str


@dataclass
class Plan:
    """Cells in running order, skips, and a line about each task's data."""

    preset: str
    cells: list[Cell] = field(default_factory=list)
    skips: list[Skip] = field(default_factory=list)
    data: list[str] = field(default_factory=list)


def make_plan(arguments: RunArguments, say: Callable[[str], None] = lambda line: None) -> Plan:
    """Look everything up that `bench run` was asked for; nothing is trained.

    Args:
        arguments: names and overrides.
        say: told where each task's data comes from, before it is read.

    Raises:
        UsageError: a name or option is unknown, or nothing is left to run.
        MissingError: data that was asked for is not there.
    """
    preset = chosen_preset(arguments.preset)
    given = parse_sets(arguments.sets)
    kinds: list[type[Task]] = [TASKS[name].load() for name in expand(arguments.tasks, TASKS, "task")]
    methods = [find_method(name) for name in expand(arguments.methods, METHODS, "method", own=True)]
    backbones = [arguments.backbone or str(kind.recipes[preset]["backbone"]) for kind in kinds]
    check_overrides(given, kinds, methods, backbones)
    plan, store, loaded = Plan(preset), Store(arguments.results_folder), {}
    for kind in kinds:
        for method in methods:
            for seed in arguments.seeds:
                config = cell_config(kind, method, arguments.backbone, seed, preset, given, arguments.decode,
                                     arguments.limit)  # fmt: skip
                check_shares(config, arguments)
                form = architecture(config.backbone, str(config.backbone_options.get("path", "")))
                reason = method.kind.why_not(form, kind.info.fields)
                if reason:
                    plan.skips.append(Skip(config.task, config.method, config.backbone, reason))
                    break
                named = json.dumps([config.task, config.task_options, config.trainer.limit], sort_keys=True)
                if named not in loaded:
                    loaded[named] = load_task(kind, config, arguments, plan.data, say)
                plan.cells.append(make_cell(config, method, loaded[named], store))
    if not plan.cells and not plan.skips:
        raise UsageError("nothing to run")
    return plan


def check_shares(config: CellConfig, arguments: RunArguments) -> None:
    """Refuse more micro-batches than a batch has rows."""
    if config.trainer.batch_size < arguments.devices * arguments.accumulate:
        raise UsageError(
            f"trainer.batch_size={config.trainer.batch_size} of {config.task} has fewer rows than --devices "
            f"{arguments.devices} x --accumulate {arguments.accumulate} micro-batches"
        )


def chosen_preset(preset: str) -> str:
    """Turn `auto` into `paper` where there is a CUDA GPU, else `small`."""
    if preset not in PRESETS:
        raise UsageError(f"no preset '{preset}'{did_you_mean(preset, PRESETS)}")
    if preset != "auto":
        return preset
    import torch

    return "paper" if torch.cuda.is_available() else "small"


def load_task(
    kind: type[Task], config: CellConfig, arguments: RunArguments, lines: list[str], say: Callable[[str], None]
) -> Task:
    """Make a task and read its data, saying where from."""
    task = kind(**config.task_options)
    data_dir = Path(arguments.data_dir) if arguments.data_dir else None
    source = resolve(kind.name, data_dir, kind.fetch if kind.info.hub else None)
    say(f"{kind.name}: data from {source.why}")
    task.load(source, config.trainer.limit)
    used = [task.split(name) for name in ("train", config.evaluation.split)]
    counts = ", ".join(f"{s.name} {len(s.examples):,} ({s.status})" for s in used)
    lines.append(f"{kind.name}: {counts}; {source.why}")
    say(f"{kind.name}: {counts}")
    return task


def make_cell(config: CellConfig, method: Method, task: Task, store: Store) -> Cell:
    """Name a cell and its evaluations by the hash of everything that decides them."""
    key = key_of({
        "schema": KEY_SCHEMA,
        "task": {"name": task.name, "version": task.version, "options": config.task_options,
                 "train": task.manifest("train").as_dict()},
        "method": {**method.code, "options": config.method_options},
        "backbone": {"name": config.backbone, "options": config.backbone_options, **weights(config)},
        "trainer": asdict(config.trainer),
        "seed": config.seed,
    })  # fmt: skip
    evaluations = {}
    for what in wanted(config, task):
        rows_key = key_of({"trained": key, "version": VERSION, "split_sha256": task.manifest(what.split).sha256,
                           **evaluation_content(what)})  # fmt: skip
        evaluations[rows_key] = what
    return Cell(config, method, task, key, store.cell(config.task, config.method, key), evaluations)


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
    content["decoding"] = {"name": what.decoding.name, **what.decoding.as_dict()} if what.decoding else None
    return content


def wanted(config: CellConfig, task: Task) -> Sequence[Evaluation]:
    """Return the evaluations of a cell: likelihood, probe and spectrum once, generation once per decoding."""
    split, size = config.evaluation.split, config.evaluation.batch_size
    examples = task.evaluation_examples(split, config.evaluation.rows)
    found, of_rows = [], key_of([e.id for e in examples])
    for kind in task.info.evaluations:
        rows = task.probe_examples(examples) if kind in ("probe", "spectrum") else examples
        ids = tuple(chosen([e.id for e in rows], config.evaluation.spectrum_rows if kind == "spectrum" else None))
        for decoding in config.decodings if kind == "generation" else (None,):
            length = (decoding.max_new_tokens or config.trainer.max_target) if decoding else 0
            found.append(
                Evaluation(kind, split, ids, size, length, decoding, config.seed, config.trainer.precision, of_rows)
            )
    return found
