"""Plan: the matrix task x method x backbone x seed as runs with keys, and what is skipped with its reason."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from dataclasses import dataclass, field, replace

from bench.base.registry import Resolved, all_names, expand, split_names
from bench.cells.cell import Cell, is_validated, make_cell
from bench.cells.forgetting import MISSING, general_text
from bench.cells.loggers import find_logger
from bench.cells.required import can_forget, decodings_of
from bench.cells.validation import check_validation
from bench.config.arguments import RunArguments
from bench.config.config import PAPER, CellConfig
from bench.config.resolve import (
    Method,
    ancestors,
    backbone_of,
    cell_config,
    check_overrides,
    find_method,
    method_names,
    recipe_of,
    reference_config,
    reference_of,
)
from bench.errors import BenchError, MissingError, UsageError
from bench.metrics import find_metric
from bench.models import METHODS
from bench.models.backbones import find_backbone, is_pretrained
from bench.models.backbones.hub import architecture
from bench.models.core.entry import Compatibility
from bench.store.store import Store
from bench.tasks import TASKS, find_task
from bench.tasks.core.progress import OnRows, no_progress
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

    @property
    def is_limited(self) -> bool:
        """Whether it trains on a part of the rows; tables keep such runs apart."""
        return any(cell.config.trainer.limit is not None for cell in self.cells)

    def refuse_empty(self) -> None:
        """Raise UsageError with the reasons if every method was left out."""
        if not self.cells:
            raise UsageError(f"nothing to run: {'; '.join(f'{s.task} · {s.method} {s.reason}' for s in self.skips)}")

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


def make_plan(
    arguments: RunArguments,
    say: Callable[[str], None] = lambda line: None,
    on_rows: OnRows = no_progress,
    *,
    costs_only: bool = False,
) -> Plan:
    """Look up every name that `bench run` was given, and make its runs with their keys; nothing is trained.

    Args:
        arguments: names and overrides.
        say: prints where each task's data comes from, before it is read.
        on_rows: shows how far a task is that reads, hashes or encodes many rows, or searches exemplars for them.
        costs_only: whether only costs are computed, so that the preset `paper` is planned without its data, too.

    Raises:
        UsageError: a name or option is unknown, or nothing is left to run.
        MissingError: data that the runs need is not there.
    """
    builder = PlanBuilder(arguments, say, on_rows, costs_only=costs_only)
    for kind, method in itertools.product(builder.kinds, builder.methods):
        builder.add_seeds(kind, method)
    if not builder.plan.cells and not builder.plan.skips:
        raise UsageError("nothing to run")
    if not builder.plan.cells and builder.without_data:
        raise MissingError(f"--preset {PAPER} {'; '.join(builder.without_data.values())}")
    builder.count_validation(cell for cell in builder.plan.cells if is_validated(cell.config, cell.method))
    if any(can_forget(cell.config) for cell in builder.plan.cells) and not general_text():
        say(MISSING)
    return builder.plan


class PlanBuilder:
    """Adds runs to a plan one by one, each after the run it is fine-tuned from; tasks are read once.

    Its arguments are those of `make_plan`.

    Raises:
        UsageError: a name is unknown, or an option that no task, method or backbone of the run takes.
    """

    def __init__(
        self, arguments: RunArguments, say: Callable[[str], None], on_rows: OnRows, *, costs_only: bool = False
    ) -> None:
        self.arguments, self.preset = arguments, arguments.preset
        self.say, self.on_rows, self.costs_only = say, on_rows, costs_only
        self.plan, self.store = Plan(self.preset), Store(arguments.results_folder)
        self.tasks: dict[str, Task] = {}
        self.without_data: dict[str, str] = {}
        for name in arguments.loggers:
            find_logger(name)  # an unknown one is refused before anything is run
        tasks = [find_task(name) for name in expand(arguments.tasks, TASKS, "task")]
        with_recipe = [task for task in tasks if self.preset in task.value.recipes]
        for task in tasks:
            if with_recipe and task not in with_recipe:
                say(f"{task.name} is left out: it has no recipe for the preset {self.preset}")
        # A task that is the only one is refused with the presets that it has.
        self.found: dict[str, Resolved] = {task.name: task for task in with_recipe or tasks}
        for task in with_recipe or tasks:
            if (other := self.found[task.name]).code != task.code:
                raise UsageError(f"'{task.spec}' and '{other.spec}' are both named '{task.name}': run one at a time")
        self.kinds: list[type[Task]] = [task.value for task in self.found.values()]
        self.methods = [find_method(name) for name in method_names(arguments.methods, arguments.controls)]
        check_metrics(arguments, self.kinds)
        self.check_overrides()

    def check_overrides(self) -> None:
        """Refuse settings that no task, method or backbone of the run takes."""
        concerned: list[Method] = []
        backbones: dict[str, None] = {}
        for kind, method in itertools.product(self.kinds, self.methods):
            method = self.as_run(kind, method)
            line = [method, *ancestors(method)]
            line += filter(None, map(reference_of, line))
            concerned += line
            backbones |= {backbone_of(kind, relative, self.arguments.backbone, self.preset): None for relative in line}
        check_overrides(self.arguments.overrides, self.kinds, concerned, list(backbones))

    def as_run(self, kind: type[Task], method: Method) -> Method:
        """Return a method as it runs on the backbone that it has for a task."""
        return method.on(backbone_of(kind, method, self.arguments.backbone, self.preset))

    def again(self, arguments: RunArguments) -> PlanBuilder:
        """Return a builder of another plan over the same tasks, whose data is not read again."""
        other = copy(self)
        other.arguments, other.plan = arguments, Plan(self.preset)
        return other

    def add_seeds(self, kind: type[Task], method: Method) -> None:
        """Add the runs of every seed of a method, or note why it is skipped."""
        for seed in self.arguments.seeds:
            if reason := self.add(kind, method, seed):
                backbone = backbone_of(kind, method, self.arguments.backbone, self.preset)
                self.plan.skips.append(Skip(kind.name, method.name, find_backbone(backbone).name, reason))
                return

    def add(self, kind: type[Task], method: Method, seed: int) -> str | None:
        """Add one run and, where they are missing, those it is fine-tuned from; return why not, or None."""
        method = self.as_run(kind, method)
        if self.preset == PAPER and (reason := why_unpublished(kind, method)):
            return reason
        if method.own_backbone and self.preset == "mid":
            return f"trains {method.own_backbone} from scratch, and the preset mid fine-tunes a pretrained model"
        if method.own_backbone and self.arguments.backbone not in (None, method.own_backbone):
            return f"is maximum likelihood on its own backbone, {method.own_backbone}"
        line = [(relative, self.config(kind, relative, seed)) for relative in (method, *ancestors(method))]
        for relative, config in line:
            if reason := self.why_not(kind, relative, config):
                return reason if relative is method else f"is fine-tuned from {relative.name}, which {reason}"
        *older, cell = self.cells(kind, line)
        if kept := self.arguments.kinds:
            cell = replace(cell, evaluations={key: what for key, what in cell.evaluations.items() if what.kind in kept})
        if not cell.evaluations and "generation" not in kind.info.evaluations:
            return f"only writes texts, and {kind.name} asks for none"
        if not cell.evaluations:
            return "cannot read any of the decodings"
        for ancestor in older:
            self.plan.place(replace(ancestor, evaluations={}))
        self.plan.place(cell)
        return None

    def cells(self, kind: type[Task], line: Sequence[tuple[Method, CellConfig]]) -> list[Cell]:
        """Return the runs of a method and of those it needs, each after those that it needs itself."""
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
        return reference, reference_config(kind, reference, config, self.arguments.overrides, self.arguments.decode)

    def config(self, kind: type[Task], method: Method, seed: int) -> CellConfig:
        """Return the configuration of one cell."""
        given, found = self.arguments, self.found[kind.name]
        plugins = {"task": found} if found.code else {}
        return cell_config(
            kind, method, given.backbone, seed, self.preset, given.overrides, given.decode, given.limit, plugins
        )

    def why_not(self, kind: type[Task], method: Method, config: CellConfig) -> str | None:
        """Return why a method cannot be trained and evaluated, with its reference model if it has one; or None."""
        check_cell(method, config)
        if self.preset == PAPER and not self.costs_only and (reason := why_without_data(self.task(kind, config))):
            self.without_data[kind.name] = reason
            return reason
        if config.trainer.watch or config.trainer.select or config.trainer.patience:
            check_validation(config.trainer, method, self.task(kind, config))
        found, reason = self.reference(kind, method, config), self.misfit(kind, method, config)
        if reason or found is None:
            return reason
        reference, its_config = found
        reason = self.misfit(kind, reference, its_config)
        return None if reason is None else f"has for its reference model {reference.name}, which {reason}"

    def misfit(self, kind: type[Task], method: Method, config: CellConfig) -> str | None:
        """Return why a method does not fit a task and its backbone, or None; refuse more processes than rows."""
        rows, devices = config.trainer.batch_size, self.arguments.devices
        if rows < devices:
            raise UsageError(f"trainer.batch_size={rows} of {config.task} has fewer rows than --devices {devices}")
        if method.evaluation_variant.matched and not kind.info.open_ended:
            return "is for open-ended tasks, whose texts have a diversity to match"
        task = self.task(kind, config)
        if kind.info.open_ended and architecture_of(config) == "encoder-decoder":
            return f"has the backbone {config.backbone}, which reads a source; {kind.name} has none"
        embeddings = config.backbone_options.get("embeddings")
        if embeddings == "reference" and kind.reference_embeddings is Task.reference_embeddings:
            return f"has backbone.embeddings=reference, and {kind.name} has no reference embeddings"
        if reason := method.kind.why_not(compatibility(config, task)) or unchoosable(method, config, task):
            return reason
        return undecodable(method, config)

    def task(self, kind: type[Task], config: CellConfig) -> Task:
        """Return the task with its data. It is read once for each configuration, and a line names its source."""
        name = json.dumps([config.task, config.task_options, config.trainer.limit], sort_keys=True)
        if name in self.tasks:
            return self.tasks[name]
        task = kind(**config.task_options)
        source = resolve(kind.name, self.arguments.data_dir, kind.info.folders, fetch=True)
        task.load(source, config.trainer.limit, on_rows=self.on_rows)
        self.say(f"{kind.name}: data from {task.source.why}")
        used = [task.split(name) for name in ("train", config.evaluation.split)]
        counts = ", ".join(f"{split.name} {len(split.examples):,} ({split.status})" for split in used)
        self.plan.data.append(f"{kind.name}: {counts}; {task.source.why}")
        self.say(f"{kind.name}: {counts}")
        self.tasks[name] = task
        return task

    def count_validation(self, cells: Iterable[Cell]) -> None:
        """Name the validation rows of the tasks of runs that choose something by them, or that are chosen by them."""
        for task in {cell.task.name: cell.task for cell in cells}.values():
            split = task.split("valid")
            line = f"{task.name}: valid {len(split.examples):,} ({split.status}), to choose what is kept"
            self.plan.data.append(line)
            self.say(line)


def compatibility(config: CellConfig, task: Task) -> Compatibility:
    """Return the properties of a run by which a method decides whether it fits."""
    return Compatibility(
        architecture=architecture_of(config),
        copies=bool(config.backbone_options.get("copy", False)),
        fields=task.info.all_fields,
        open_ended=task.info.open_ended,
        target_tokens=task.target_tokens,
        options=config.method_options,
    )


def architecture_of(config: CellConfig) -> str:
    """Return the architecture of a run's backbone; a pretrained one states it in its configuration."""
    return architecture(config.spec("backbone"), str(config.backbone_options.get("path", "")))


# What cannot be run -------------------------------------------------------------------------------------------------


def check_metrics(arguments: RunArguments, kinds: Sequence[type[Task]]) -> None:
    """Refuse an additional metric that would read nothing."""
    evaluations = {evaluation for kind in kinds for evaluation in kind.info.evaluations}
    for name in arguments.metrics:
        metric = find_metric(name)
        if metric.value.kind not in evaluations:
            raise UsageError(
                f"--metrics names '{metric.name}', which reads {metric.value.kind} rows; no task of this run makes them"
            )


def check_cell(method: Method, config: CellConfig) -> None:
    """Refuse a run that cannot be trained or evaluated with its settings."""
    trainer, task = config.trainer, config.task
    starts_from_weights = method.parent or is_pretrained(config.spec("backbone"))
    is_trained = trainer.steps or trainer.epochs or method.is_baseline or method.untrained
    if not is_trained and not starts_from_weights:
        raise UsageError(
            f"trainer.steps and trainer.epochs of {task} are both 0, and backbone {config.backbone} has random "
            f"weights: give one of them, or a pretrained backbone"
        )
    n_positions = config.backbone_options.get("context")
    for decoding in config.decodings:
        if n_positions is not None and (decoding.max_new_tokens or 0) > int(n_positions):
            raise UsageError(
                f"{task}: '{decoding.text}' writes up to {decoding.max_new_tokens} tokens, and "
                f"backbone.context={n_positions} has too few positions; lower max_new_tokens or give a larger context"
            )


# Why a method is left out -------------------------------------------------------------------------------------------


def undecodable(method: Method, config: CellConfig) -> str | None:
    """Return why a method cannot use one of the decodings, or None."""
    try:
        for decoding in decodings_of(config, method.evaluation_variant):
            method.kind.resolved(decoding)
    except UsageError as error:
        return f"cannot use a decoding: {error}"
    return None


def unchoosable(method: Method, config: CellConfig, task: Task) -> str | None:
    """Return why a method that chooses something on validation text cannot, or None."""
    if not method.chooses_after_training:
        return None
    if config.evaluation.split == "valid":
        return "chooses on the validation split, which evaluation.split=valid would evaluate it on; evaluate on test"
    try:
        rows = task.manifest("valid").rows
    except BenchError as error:
        return f"chooses on the validation split, which cannot be read: {error}"
    if not rows:
        return "chooses on the validation split, which has no rows; give the task validation text"
    return None


def why_unpublished(task: type[Task], method: Method) -> str | None:
    """Return why a method is left out of the preset `paper` of a task, or None.

    The recipe names the methods that its paper trains (`methods`). These run with their variants and controls. Methods
    of the user run everywhere, since the recipe is there to try them, and so do baselines, which train nothing.
    """
    named = str(recipe_of(task, PAPER).get("methods", ""))
    if not named or method.is_baseline or method.name not in all_names(METHODS):
        return None
    trained = split_names([named])
    controls = [control for name in trained for control in METHODS[name].controls]
    every_control = {control for entry in METHODS.values() for control in entry.controls}
    is_variant = method.base in trained and method.name not in every_control
    if method.name in trained or method.name in controls or is_variant:
        return None
    return (
        f"has no recipe of a paper on {task.name}, where papers train {', '.join(trained)}; "
        f"--preset small with --set trainer.* and --backbone runs it at any size"
    )


def why_without_data(task: Task) -> str | None:
    """Return why the preset `paper` cannot train on what is here of a task, or None.

    Rows that `--limit` keeps are a trial, which no leaderboard shows, so the built-in sample will do for it.
    """
    if task.source.folder is not None or task.limit is not None:
        return None
    advice = f"get it from {task.info.source} and say --data-dir"
    if not task.info.source:
        advice = "name yours with --set task.path"
    return (
        f"is to train on the published data of {task.name}, and here is only the {task.source.why}; {advice}, "
        f"or take --preset small; --limit N tries the recipe on sample rows"
    )
