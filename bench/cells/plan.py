"""Plan: the matrix task x method x backbone x seed as cells with keys, and what is skipped with its reason."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from bench.base.entries import expand
from bench.cells.cell import Cell, decodings_of, make_cell
from bench.config.arguments import RunArguments
from bench.config.config import PRESETS, CellConfig, Override, parse_sets
from bench.config.resolve import Method, ancestors, backbone_of, cell_config, check_overrides, find_method, method_names
from bench.errors import UsageError, did_you_mean
from bench.models.backbones.hub import architecture
from bench.models.core.objective import Objective, Place
from bench.store.store import Store
from bench.tasks import TASKS
from bench.tasks.core.task import Task
from bench.tasks.fetch.sources import resolve


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

    def place(self, cell: Cell) -> None:
        """Add a cell; one that a younger cell has wanted until now gets its evaluations where it stands."""
        for at, known in enumerate(self.cells):
            if known.folder == cell.folder and (not cell.evaluations or known.method.name == cell.method.name):
                self.cells[at] = cell if cell.evaluations else known
                return
        self.cells.append(cell)

    def join(self, other: Plan) -> None:
        """Add another plan's cells and skips."""
        for cell in other.cells:
            self.place(cell)
        self.skips += other.skips


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
    methods = [find_method(name) for name in method_names(arguments.methods, arguments.controls)]
    concerned = [one for method in methods for one in (method, *ancestors(method))]
    backbones = [backbone_of(kind, m, arguments.backbone, preset) for kind in kinds for m in concerned]
    check_overrides(given, kinds, concerned, list(dict.fromkeys(backbones)))
    maker = Maker(arguments, preset, given, Plan(preset), say)
    for kind in kinds:
        for method in methods:
            for seed in arguments.seeds:
                if reason := maker.add(kind, method, seed):
                    name = backbone_of(kind, method, arguments.backbone, preset)
                    maker.plan.skips.append(Skip(kind.name, method.name, name, reason))
                    break
    if not maker.plan.cells and not maker.plan.skips:
        raise UsageError("nothing to run")
    return maker.plan


@dataclass
class Maker:
    """Adds cells to a plan one by one, each behind the cell it is fine-tuned from; tasks are read once."""

    arguments: RunArguments
    preset: str
    given: list[Override]
    plan: Plan
    say: Callable[[str], None]
    loaded: dict[str, Task] = field(default_factory=dict)

    def add(self, kind: type[Task], method: Method, seed: int) -> str | None:
        """Add one cell and, where they are missing, those it is fine-tuned from; return why not, or None."""
        asked = self.arguments.backbone
        if method.own_backbone and asked not in (None, method.own_backbone):
            return f"is maximum likelihood on its own backbone, {method.own_backbone}"
        line = [(one, self.config(kind, one, seed)) for one in (method, *ancestors(method))]
        for one, config in line:
            check_shares(config, self.arguments)
            if reason := self.misfit(kind, one, config):
                return reason if one is method else f"is fine-tuned from {one.name}, which {reason}"
        cells: list[Cell] = []
        for one, config in reversed(line):
            store, parent = Store(self.arguments.results_folder), cells[-1] if cells else None
            cells.append(make_cell(config, one, self.task(kind, config), store, parent))
        *older, cell = cells
        if kept := self.arguments.kinds:
            some = {key: what for key, what in cell.evaluations.items() if what.kind in kept}
            cell = replace(cell, evaluations=some)
        if not cell.evaluations:
            silent = "generation" not in kind.info.evaluations
            return f"only writes texts, and {kind.name} asks for none" if silent else "has no decoding it could read so"
        for elder in older:
            self.plan.place(replace(elder, evaluations={}))
        self.plan.place(cell)
        return None

    def config(self, kind: type[Task], method: Method, seed: int) -> CellConfig:
        """Return the configuration of one cell."""
        arguments = self.arguments
        return cell_config(kind, method, arguments.backbone, seed, self.preset, self.given, arguments.decode,
                           arguments.limit)  # fmt: skip

    def misfit(self, kind: type[Task], method: Method, config: CellConfig) -> str | None:
        """Return why a method does not fit a task and its backbone, or None."""
        if method.evaluation_variant.matched and not kind.info.open_ended:
            return "is for open-ended tasks, whose texts have a diversity to match"
        form = architecture(config.backbone, str(config.backbone_options.get("path", "")))
        task = self.task(kind, config)
        place = Place(form, bool(config.backbone_options.get("copy", False)), kind.info.all_fields,
                      kind.info.open_ended, task.target_tokens())  # fmt: skip
        if kind.info.open_ended and form == "encoder-decoder":
            return f"has the backbone {config.backbone}, which reads a source; {kind.name} has none"
        return method.kind.why_not(place) or undecodable(method, config)

    def task(self, kind: type[Task], config: CellConfig) -> Task:
        """Return the task with its data, read once for each configuration."""
        named = json.dumps([config.task, config.task_options, config.trainer.limit], sort_keys=True)
        if named not in self.loaded:
            self.loaded[named] = load_task(kind, config, self.arguments, self.plan.data, self.say)
        return self.loaded[named]


def undecodable(method: Method, config: CellConfig) -> str | None:
    """Return why a method cannot decode as asked, or None."""
    if issubclass(method.kind, Objective):
        try:
            for decoding in decodings_of(config, method.evaluation_variant):
                method.kind.resolved(decoding)
        except UsageError as error:
            return f"cannot decode so: {error}"
    return None


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
    task.on_bad_row = arguments.on_bad_row
    source = resolve(kind.name, data_dir, kind.fetch if kind.info.hub else None, kind.info.folders)
    task.load(source, config.trainer.limit)
    say(f"{kind.name}: data from {task.source.why}")
    used = [task.split(name) for name in ("train", config.evaluation.split)]
    counts = ", ".join(f"{s.name} {len(s.examples):,} ({s.status})" for s in used)
    lines.append(f"{kind.name}: {counts}; {task.source.why}")
    say(f"{kind.name}: {counts}")
    return task
