"""Plan: the matrix task x method x backbone x seed as runs with keys, and what is skipped with its reason."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from bench.base.registry import Resolved, expand
from bench.cells.cell import Cell, make_cell
from bench.cells.forgetting import MISSING, general_text
from bench.cells.loggers import check_loggers
from bench.cells.plan_checks import (
    check_cell,
    check_metrics,
    check_training,
    unchoosable,
    undecodable,
    unlike_own_files,
    unshardable,
    why_unpublished,
    why_without_data,
)
from bench.cells.required import can_forget
from bench.config.arguments import RunArguments
from bench.config.config import PAPER, CellConfig, PlugIn
from bench.config.resolve import (
    Method,
    ancestors,
    backbone_of,
    cell_config,
    check_overrides,
    find_method,
    method_names,
    reference_backbone,
    reference_config,
    reference_of,
)
from bench.errors import MissingError, UsageError
from bench.models.backbones import find_backbone
from bench.models.core.entry import Compatibility
from bench.store.store import Store
from bench.tasks import TASKS, find_task
from bench.tasks.core.progress import OnRows, tell_nobody
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
    """Cells in running order, skips, a line about each task's data, and what a reader must know of the runs."""

    preset: str
    cells: list[Cell] = field(default_factory=list)
    skips: list[Skip] = field(default_factory=list)
    data: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def place(self, cell: Cell) -> None:
        """Add a run. If the plan has it already, but only as a parent of other runs, add its evaluations."""
        for at, known in enumerate(self.cells):
            if known.folder != cell.folder:
                continue
            if not cell.evaluations:
                return
            if known.method.name == cell.method.name:
                self.cells[at] = cell
                return
        self.cells.append(cell)

    def join(self, other: Plan) -> None:
        """Add another plan's runs and skips."""
        for cell in other.cells:
            self.place(cell)
        self.skips += other.skips
        self.notes = list(dict.fromkeys([*self.notes, *other.notes]))


def make_plan(
    arguments: RunArguments,
    say: Callable[[str], None] = lambda line: None,
    on_rows: OnRows = tell_nobody,
    *,
    costs_only: bool = False,
    only_task: str | None = None,
) -> Plan:
    """Look everything up that `bench run` was asked for; nothing is trained.

    Args:
        arguments: names and overrides.
        say: prints where each task's data comes from, before it is read.
        on_rows: shows how far a task is that reads, hashes or encodes many rows, or searches exemplars for them.
        only_task: the name of the only task whose runs are planned.
        costs_only: nobody will run the plan: the preset `paper` is planned without its data too.

    Raises:
        UsageError: a name or option is unknown, or nothing is left to run.
        MissingError: data that was asked for is not there.
    """
    builder = builder_of(arguments, say, on_rows)
    builder.costs_only = costs_only
    kinds = [kind for kind in builder.kinds if only_task in (None, kind.name)]
    for kind, method in itertools.product(kinds, builder.methods):
        builder.add_seeds(kind, method)
    if not builder.plan.cells and not builder.plan.skips:
        raise UsageError("nothing to run")
    if not builder.plan.cells and builder.without_data:
        raise MissingError(f"--preset {PAPER} {'; '.join(builder.without_data.values())}")
    if not general_text() and any(can_forget(cell.config) for cell in builder.plan.cells):
        say(MISSING)
    return builder.plan


def builder_of(arguments: RunArguments, say: Callable[[str], None], on_rows: OnRows) -> PlanBuilder:
    """Look up the tasks and methods of a run, refuse what they do not take, and return what makes plans of them.

    Raises:
        UsageError: a name or option is unknown.
        MissingError: a module, file or model that was asked for is not there.
    """
    preset = arguments.preset
    check_loggers(arguments.loggers)
    tasks = [find_task(name) for name in expand(arguments.tasks, TASKS, "task", own=True)]
    kinds: list[type[Task]] = [task.value for task in tasks]
    check_metrics(arguments, kinds)
    methods = [find_method(name) for name in method_names(arguments.methods, arguments.controls)]
    concerned = [relative for method in methods for relative in (method, *ancestors(method))]
    backbones = dict.fromkeys(
        backbone_of(kind, method, arguments.backbone, preset) for kind in kinds for method in concerned
    )
    for method in tuple(concerned):
        if reference := reference_of(method):
            asked = reference_backbone(method) or arguments.backbone
            backbones |= dict.fromkeys(backbone_of(kind, reference, asked, preset) for kind in kinds)
            concerned.append(reference)
    check_overrides(arguments.overrides, kinds, concerned, list(backbones))
    return PlanBuilder(arguments, tasks, methods, say, on_rows)


class PlanBuilder:
    """Adds runs to a plan one by one, each behind the run it is fine-tuned from; tasks are read once.

    Args:
        arguments: of the run.
        found: the tasks of the run, as they were looked up.
        methods: of the run.
        say: prints where data comes from.
        on_rows: shows how far work on rows is.
    """

    def __init__(
        self,
        arguments: RunArguments,
        found: Sequence[Resolved],
        methods: Sequence[Method],
        say: Callable[[str], None],
        on_rows: OnRows,
    ) -> None:
        self.arguments, self.preset = arguments, arguments.preset
        self.given = arguments.overrides
        self.found = {task.name: task for task in found}
        self.methods = methods
        self.say, self.on_rows = say, on_rows
        self.plan = Plan(self.preset)
        self.store = Store(arguments.results_folder)
        self.tasks: dict[str, Task] = {}
        self.costs_only = False
        self.without_data: dict[str, str] = {}

    @property
    def kinds(self) -> list[type[Task]]:
        """The classes of the tasks."""
        return [task.value for task in self.found.values()]

    def again(self, arguments: RunArguments) -> PlanBuilder:
        """Return a builder of another plan over the same tasks, whose data is not read again."""
        other = PlanBuilder(arguments, list(self.found.values()), self.methods, self.say, self.on_rows)
        other.tasks, other.costs_only = self.tasks, self.costs_only
        return other

    def add_seeds(self, kind: type[Task], method: Method) -> None:
        """Add the runs of every seed of a method, or note why it is skipped."""
        for seed in self.arguments.seeds:
            if reason := self.add(kind, method, seed):
                self.skip(kind, method, reason)
                return

    def add(self, kind: type[Task], method: Method, seed: int) -> str | None:
        """Add one run and, where they are missing, those it is fine-tuned from; return why not, or None."""
        asked = self.arguments.backbone
        if self.preset == PAPER and (reason := why_unpublished(kind, method)):
            return reason
        if method.own_backbone and self.preset == "mid":
            return f"trains {method.own_backbone} from scratch, and the preset mid fine-tunes a pretrained model"
        if method.own_backbone and asked not in (None, method.own_backbone):
            return f"is maximum likelihood on its own backbone, {method.own_backbone}"
        line = [(relative, self.config(kind, relative, seed)) for relative in (method, *ancestors(method))]
        for relative, config in line:
            check_cell(relative, config, self.arguments)
            if reason := self.lacks_data(kind, config):
                return reason
            self.check_validation(kind, relative, config)
            reason = self.misfit(kind, relative, config)
            if reason and relative is method:
                return reason
            if reason:
                return f"is fine-tuned from {relative.name}, which {reason}"
            if reason := self.misfit_of_reference(kind, relative, config):
                return reason
        *older, cell = self.cells(kind, line)
        if kept := self.arguments.kinds:
            cell = replace(cell, evaluations={key: what for key, what in cell.evaluations.items() if what.kind in kept})
        if not cell.evaluations and "generation" not in kind.info.evaluations:
            return f"only writes texts, and {kind.name} asks for none"
        if not cell.evaluations:
            return "has no decoding it could read so"
        for ancestor in older:
            self.plan.place(replace(ancestor, evaluations={}))
        self.plan.place(cell)
        if "generation" in kind.info.evaluations:
            self.note(unlike_own_files(cell.config))
        return None

    def note(self, lines: Sequence[str]) -> None:
        """Add what a reader must know of the runs, and say it, once."""
        for line in lines:
            if line not in self.plan.notes:
                self.plan.notes.append(line)
                self.say(line)

    def cells(self, kind: type[Task], line: Sequence[tuple[Method, CellConfig]]) -> list[Cell]:
        """Return the runs of a method and of those it needs, each behind those that it needs itself."""
        cells: list[Cell] = []
        parent: Cell | None = None
        for method, config in reversed(line):
            task, reference = self.task(kind, config), None
            if found := self.reference(kind, method, config):
                reference = make_cell(found[1], found[0], task, self.store)
                cells.append(reference)
            parent = make_cell(config, method, task, self.store, parent, reference)
            cells.append(parent)
        return cells

    def reference(self, kind: type[Task], method: Method, config: CellConfig) -> tuple[Method, CellConfig] | None:
        """Return the method of a method's reference model and the configuration of its run, or None."""
        reference = reference_of(method)
        if reference is None:
            return None
        return reference, reference_config(kind, method, reference, config, self.given, self.arguments.decode)

    def skip(self, kind: type[Task], method: Method, reason: str) -> None:
        """Note what is left out, and why."""
        backbone = backbone_of(kind, method, self.arguments.backbone, self.preset)
        self.plan.skips.append(Skip(kind.name, method.name, find_backbone(backbone).name, reason))

    def config(self, kind: type[Task], method: Method, seed: int) -> CellConfig:
        """Return the configuration of one cell."""
        asked = self.arguments
        own = {}
        if self.found[kind.name].code:
            own["task"] = PlugIn.of(self.found[kind.name])
        return cell_config(kind, method, asked.backbone, seed, self.preset, self.given, asked.decode, asked.limit, own)

    def lacks_data(self, kind: type[Task], config: CellConfig) -> str | None:
        """Return why there is nothing to train on, or None."""
        if self.preset != PAPER or self.costs_only:
            return None
        reason = why_without_data(self.task(kind, config))
        if reason is not None:
            self.without_data[kind.name] = reason
        return reason

    def check_validation(self, kind: type[Task], method: Method, config: CellConfig) -> None:
        """Refuse a validation that could not be measured; most runs have none."""
        trainer = config.trainer
        if trainer.watch or trainer.select or trainer.patience:
            from bench.cells.validation import check_validation

            check_validation(trainer, method, self.task(kind, config))

    def misfit(self, kind: type[Task], method: Method, config: CellConfig) -> str | None:
        """Return why a method does not fit a task and its backbone, or None."""
        if method.evaluation_variant.matched and not kind.info.open_ended:
            return "is for open-ended tasks, whose texts have a diversity to match"
        form = architecture_of(config)
        task = self.task(kind, config)
        if kind.info.open_ended and form == "encoder-decoder":
            return f"has the backbone {config.backbone}, which reads a source; {kind.name} has none"
        embeddings = config.backbone_options.get("embeddings")
        if embeddings == "reference" and kind.reference_embeddings is Task.reference_embeddings:
            return f"has backbone.embeddings=reference, and {kind.name} has no reference embeddings"
        fit = Compatibility(
            architecture=form,
            copies=bool(config.backbone_options.get("copy", False)),
            fields=kind.info.all_fields,
            open_ended=kind.info.open_ended,
            target_tokens=task.target_tokens(),
            options=config.method_options,
        )
        if reason := method.kind.why_not(fit) or unchoosable(method, config, task):
            return reason
        return undecodable(method, config) or unshardable(method, self.arguments)

    def misfit_of_reference(self, kind: type[Task], method: Method, config: CellConfig) -> str | None:
        """Return why a method's reference model does not fit, or None."""
        found = self.reference(kind, method, config)
        if found is None:
            return None
        reference, own = found
        check_training(own, self.arguments)
        reason = self.misfit(kind, reference, own)
        if reason is None and architecture_of(own) != architecture_of(config):
            reason = f"has the backbone {own.backbone}, which is {architecture_of(own)}, not {architecture_of(config)}"
        if reason is None:
            return None
        return f"has for its reference model {reference.name}, which {reason}"

    def task(self, kind: type[Task], config: CellConfig) -> Task:
        """Return the task with its data, read once for each configuration."""
        named = json.dumps([config.task, config.task_options, config.trainer.limit], sort_keys=True)
        if named not in self.tasks:
            self.tasks[named] = self.load(kind, config)
        return self.tasks[named]

    def load(self, kind: type[Task], config: CellConfig) -> Task:
        """Make a task and read its data, saying where from."""
        data_dir, fetch = None, None
        if self.arguments.data_dir:
            data_dir = Path(self.arguments.data_dir)
        if kind.info.hub:
            fetch = kind.fetch
        task = kind(**config.task_options)
        source = resolve(kind.name, data_dir, fetch, kind.info.folders)
        task.load(source, config.trainer.limit, on_bad_row=self.arguments.on_bad_row, on_rows=self.on_rows)
        self.say(f"{kind.name}: data from {task.source.why}")
        used = [task.split(name) for name in ("train", config.evaluation.split)]
        counts = ", ".join(f"{split.name} {len(split.examples):,} ({split.status})" for split in used)
        self.plan.data.append(f"{kind.name}: {counts}; {task.source.why}")
        self.say(f"{kind.name}: {counts}")
        return task


def architecture_of(config: CellConfig) -> str:
    """Return the architecture of a run's backbone; a pretrained one is asked, without loading its weights."""
    path = str(config.backbone_options.get("path", ""))
    known = str(find_backbone(config.asked("backbone")).value.architecture)
    if known and not path:
        return known
    from bench.models.backbones.hub import architecture

    return architecture(config.asked("backbone"), path)
