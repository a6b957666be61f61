"""Resolve: from names, presets and overrides to the whole configuration of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from bench.base.options import options_of, read_options
from bench.base.registry import Resolved, expand, find, load
from bench.config.config import CellConfig, EvaluationConfig, Override, TrainerConfig, override, section_values
from bench.config.decoding import parse
from bench.decodings.core.decoding import Decoding
from bench.errors import UsageError, did_you_mean
from bench.models import ALIASES, GROUPS, METHODS, MethodEntry
from bench.models.backbones import find_backbone, is_pretrained
from bench.models.backbones.backbone import Backbone
from bench.models.core.objective import Objective
from bench.tasks.core.task import Task

if TYPE_CHECKING:
    from bench.models.baselines import Baseline


@dataclass(frozen=True)
class EvaluationVariant:
    """How a control evaluates another method's run differently: nothing is trained for it.

    Args:
        distribution: what its decodings draw from, where it differs from the method's own.
        exemplars: `own` or `swapped`, another row's.
        matched: a method whose diversity a sweep of decodings is to meet.
    """

    distribution: str = ""
    exemplars: str = "own"
    matched: str = ""


@dataclass(frozen=True)
class Method:
    """A method by name.

    Args:
        name: as typed, with its variant: `histalign.released`.
        kind: its class.
        settings: what the class and the variant set, `section.name` to value.
        code: what makes its code this code: class and version, or class and the hash of its source.
        parent: the method it is fine-tuned from, or nothing.
        reference: the method whose frozen model it reads, or nothing.
        evaluation_variant: how it evaluates another method's run differently, if nothing is trained for it.
        spec: what to type after --method to get it again.
        defaults: settings for where the task's recipe says nothing.
    """

    name: str
    kind: type[Objective] | type[Baseline]
    settings: Mapping[str, Any]
    code: Mapping[str, Any]
    parent: str = ""
    evaluation_variant: EvaluationVariant = EvaluationVariant()
    spec: str = ""
    defaults: Mapping[str, Any] = field(default_factory=dict)
    reference: str = ""

    @property
    def base(self) -> str:
        """The name without its variant."""
        return self.kind.name

    @property
    def is_baseline(self) -> bool:
        """Whether it writes texts without a model."""
        return not issubclass(self.kind, Objective)

    @property
    def untrained(self) -> bool:
        """Whether it takes no training step by definition: its weights are random, counted, or its parent's.

        No override trains it.
        """
        return self.kind.training_free or self.settings.get("trainer.steps") == 0

    @property
    def chooses_after_training(self) -> bool:
        """Whether it chooses something on validation text after the last step."""
        return issubclass(self.kind, Objective) and self.kind.after_training is not Objective.after_training

    @property
    def only_reads(self) -> bool:
        """Whether nothing is trained for it, because it evaluates another method's run."""
        return self.evaluation_variant != EvaluationVariant()

    @property
    def trained_name(self) -> str:
        """The name it is trained and stored under: a control that only reads shares the run of what it reads."""
        return self.base if self.only_reads else self.name

    def objective(self, backbone: Backbone, read: Mapping[str, Any] | None = None, **options: Any) -> Objective:
        """Build the objective over a backbone.

        Args:
            backbone: of the objective.
            read: all options, as the configuration of a run has them.
            options: where there is no configuration, these override the settings of the method.
        """
        if not issubclass(self.kind, Objective):
            raise UsageError(f"'{self.name}' writes texts without a model; it has no objective")
        if read is None:
            read = read_options(self.kind, {**self.values("method"), **options}, f"method '{self.base}'")
        return self.kind(backbone, **read)

    @property
    def own_backbone(self) -> str:
        """The backbone it runs on whatever the task's is, or nothing."""
        return self.kind.own_backbone

    @property
    def reads_exemplars(self) -> bool:
        """Whether rows need exemplars."""
        return "exemplar" in self.kind.fields

    def values(self, section: str) -> dict[str, Any]:
        """Return the settings of one section."""
        return _section(self.settings, section)

    def on(self, backbone: str) -> Method:
        """Return the method as it runs on a backbone: pretrained weights may replace the parent `mle`.

        A loss for fine-tuning has this parent because a model from scratch must learn to write first. A pretrained
        model can write already, so there the loss is trained in place of `mle` and not after it.
        """
        if not (self.kind.starts_pretrained and self.parent == "mle" and is_pretrained(backbone)):
            return self
        return replace(self, parent="", reference="mle.untrained" if self.reference else "")


def find_method(name: str) -> Method:
    """Return a method: built in (`histalign`, `histalign.released`), or a user's class.

    Raises:
        UsageError: when there is none of this name, or the class is no method.
        MissingError: its module or file is not there.
    """
    parents = ("bench.models.core.objective:Objective", "bench.models.baselines:Baseline")
    loaded = find(name, METHODS, "method", parents=parents)
    kind, code = loaded.value, loaded.code
    given: dict[str, Any] = {}
    if not code:
        base, _, variant = name.partition(".")
        given = dict((METHODS[base].variants or {}).get(variant, {}))
        given.pop("summary", None)
        if "class" in given:
            kind = load(given.pop("class"))
        code = {"class": kind.name, "version": kind.version}
    parent = given.pop("parent", kind.parent)
    evaluation_variant = EvaluationVariant(**_section(given, "evaluation_variant"))
    settings = {key: value for key, value in given.items() if not key.startswith("evaluation_variant.")}
    return Method(
        name=loaded.name,
        kind=kind,
        settings={**kind.settings, **settings},
        code=code,
        parent=parent,
        evaluation_variant=evaluation_variant,
        spec=loaded.spec,
        defaults=kind.defaults,
        reference=kind.reference,
    )


def _section(settings: Mapping[str, Any], section: str) -> dict[str, Any]:
    """Return the settings `section.name` of one section, by name."""
    prefix = f"{section}."
    return {key.removeprefix(prefix): value for key, value in settings.items() if key.startswith(prefix)}


def ancestors(method: Method) -> list[Method]:
    """Return the methods a method is fine-tuned from, the nearest first.

    Raises:
        UsageError: when one of them is fine-tuned from itself.
    """
    line = [method]
    while line[-1].parent:
        line.append(find_method(line[-1].parent))
        if line[-1].name in [descendant.name for descendant in line[:-1]]:
            raise UsageError(f"method '{line[-1].name}' is fine-tuned from itself; its `parent` should be another one")
    return line[1:]


def method_names(wanted: Sequence[str], controls: bool = True) -> list[str]:
    """Turn what was typed after --method into names.

    `all` is every objective and, unless refused, its controls; `papers` and `modern` are those of a group.

    Raises:
        UsageError: when there is no such method.
    """
    groups: dict[str, Sequence[str]] = {**ALIASES, "all": _group(METHODS, controls)}
    for group in GROUPS:
        entries = {name: entry for name, entry in METHODS.items() if entry.group == group}
        groups[group] = _group(entries, controls)
    return expand(wanted, METHODS, "method", groups=groups)


def _group(entries: Mapping[str, MethodEntry], controls: bool) -> list[str]:
    """Return the objectives among some entries, followed by their controls."""
    names = [name for name, entry in entries.items() if not entry.baseline]
    if not controls:
        return names
    declared = [control for name in names for control in entries[name].controls]
    return list(dict.fromkeys([*names, *declared]))


def backbone_of(task: type[Task], method: Method, backbone: str | None, preset: str) -> str:
    """Return the name of a run's backbone: that of the method, else the given one, else that of the recipe."""
    return method.own_backbone or backbone or str(recipe_of(task, preset)["backbone"])


def recipe_of(task: type[Task], preset: str) -> Mapping[str, Any]:
    """Return the recipe of a task for a preset.

    Raises:
        UsageError: the task has none for this preset, or its recipe names no backbone.
    """
    if preset not in task.recipes:
        raise UsageError(
            f"task '{task.name}' has no recipe for the preset '{preset}', only for: {', '.join(task.recipes)}; choose "
            f"one of these with --preset"
        )
    if "backbone" not in task.recipes[preset]:
        raise UsageError(f"the recipe '{preset}' of task '{task.name}' should name a 'backbone'; it does not")
    return task.recipes[preset]


def scopes_of(method: Method) -> set[str]:
    """Return the scopes of a method: the words before the colon of an override that applies to it."""
    if method.parent:
        return {method.base, method.trained_name, "finetuned"}
    return {method.base, method.trained_name}


def cell_config(
    task: type[Task],
    method: Method,
    backbone: str | None,
    seed: int,
    preset: str,
    given: Sequence[Override],
    decode: str | None,
    limit: int | None,
    plugins: Mapping[str, Resolved] | None = None,
) -> CellConfig:
    """Resolve one run: constructor and method defaults, then the task's recipe, the method's settings, overrides.

    Args:
        plugins: the `task`, where it is a plug-in.
    """
    chosen = recipe_of(task, preset)
    recipe = [override(key, value) for key, value in chosen.items() if "." in key]
    found = find_backbone(backbone_of(task, method, backbone, preset))
    name, plugins = found.name, dict(plugins or {})
    if found.code:
        plugins["backbone"] = found
    scopes = {task.name, name} | scopes_of(method)

    def values(section: str) -> dict[str, Any]:
        by_recipe = section_values(recipe, section, scopes)
        by_user = section_values(given, section, scopes)
        return {**_section(method.defaults, section), **by_recipe, **method.values(section), **by_user}

    def options(section: str, what: str, make: Any) -> dict[str, Any]:
        return read_options(make, values(section), what, only_known=True)

    training = values("trainer")
    typed = section_values(given, "trainer", scopes)
    if "epochs" in typed and "steps" not in typed:  # those of a recipe would be taken in their place
        training["steps"] = 0
    if limit:
        training["limit"] = limit
    if method.untrained:
        training |= {"steps": 0, "epochs": 0.0}
    trainer = TrainerConfig(**read_options(TrainerConfig, training, "trainer."))
    if trainer.schedule == "steps" and not (trainer.decay < 1 and trainer.decay_epochs):
        raise UsageError("trainer.schedule=steps needs trainer.decay, below 1, and trainer.decay_epochs")
    return CellConfig(
        task=task.name,
        method=method.trained_name,
        backbone=name,
        seed=seed,
        preset=preset,
        trainer=trainer,
        evaluation=EvaluationConfig(**read_options(EvaluationConfig, values("evaluation"), "evaluation.")),
        decodings=decodings_by(method, chosen, decode),
        task_options=options("task", f"task '{task.name}'", task),
        method_options=options("method", f"method '{method.name}'", method.kind),
        backbone_options=options("backbone", f"backbone '{name}'", found.value.load()),
        plugins=plugins,
    )


def decodings_by(method: Method, recipe: Mapping[str, Any], decode: str | None = None) -> tuple[Decoding, ...]:
    """Return the decodings of `--decode` or a recipe; of a method that has its own those, with the limits of tokens."""
    given, fixed = tuple(parse(decode or str(recipe.get("decode", "greedy")))), method.kind.own_decoding
    if not fixed:
        return given
    limits = dict.fromkeys(decoding.max_new_tokens for decoding in given)
    texts = [f"{fixed}+max_new_tokens={limit}" if limit else fixed for limit in limits]
    return tuple(decoding for text in texts for decoding in parse(text))


def check_overrides(
    given: Sequence[Override], tasks: Sequence[type[Task]], methods: Sequence[Method], backbones: Sequence[str]
) -> None:
    """Refuse an override that nothing in this run takes.

    Args:
        methods: those of the run, with those they are fine-tuned from.

    Raises:
        UsageError: with the nearest known name.
    """
    if not given:  # loading backbones takes a second
        return
    owners: dict[str, list[tuple[set[str], dict[str, Any]]]] = {
        "task": [({task.name}, options_of(task)) for task in tasks],
        "method": [({method.base, method.trained_name}, options_of(method.kind)) for method in methods],
        "backbone": [({found.name}, options_of(found.value.load())) for found in map(find_backbone, backbones)],
    }
    names = {task.name for task in tasks}.union(find_backbone(name).name for name in backbones)
    scopes = names.union(*map(scopes_of, methods))
    for item in given:
        if item.scope is not None and item.scope not in scopes:
            raise UsageError(
                f"'{item.scope}:{item.section}.{item.name}' is for '{item.scope}', which is not in this run"
                f"{did_you_mean(item.scope, scopes)}"
            )
        if item.section not in owners:
            continue  # trainer and evaluation are checked when they are built
        every = owners[item.section]
        meant = [options for owners_of, options in every if item.scope in owners_of]
        if not meant:  # without a scope, or scoped to something else: to a task, say, for an option of the method
            meant = [options for _, options in every]
        options = set().union(*meant)
        if item.name not in options:
            raise UsageError(
                f"no {item.section} in this run has the option '{item.name}'{did_you_mean(item.name, options)}"
            )


# Reference models ---------------------------------------------------------------------------------------------------


def reference_of(method: Method) -> Method | None:
    """Return the method whose frozen model another method uses, or None.

    Raises:
        UsageError: it is no method that is trained from scratch and alone.
    """
    if not method.reference:
        return None
    reference = find_method(method.reference)
    if reference.is_baseline or reference.only_reads or reference.parent or reference.reference:
        raise UsageError(
            f"`reference` of method '{method.name}' should name a method that is trained from scratch and needs no "
            f"other model; '{method.reference}' is none, choose another, e.g. mle"
        )
    return reference


def reference_config(
    task: type[Task], reference: Method, config: CellConfig, given: Sequence[Override], decode: str | None
) -> CellConfig:
    """Resolve the run of the reference model of a method, as it would be trained here for the same task.

    Args:
        task: the task of both, whose options they have in common.
        reference: the method that the reference model is trained by.
        config: the configuration of the method's run.
        given: the overrides of the run.
        decode: the value of --decode.
    """
    backbone, limit = config.spec("backbone"), config.trainer.limit
    plugins = {part: found for part, found in config.plugins.items() if part == "task"}
    resolved = cell_config(task, reference, backbone, config.seed, config.preset, given, decode, limit, plugins)
    return replace(resolved, task_options=config.task_options)
