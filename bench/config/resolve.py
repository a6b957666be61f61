"""Resolve: from names, presets and overrides to the full configuration of a cell."""

from __future__ import annotations

import hashlib
import inspect
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.base.entries import all_names, expand, load
from bench.config.config import CellConfig, EvaluationConfig, Override, TrainerConfig, override, section_values, typed
from bench.config.decoding import parse
from bench.config.options import fill, options_of
from bench.errors import UsageError, did_you_mean
from bench.models import ALIASES, METHODS
from bench.models.backbones import BACKBONES
from bench.models.backbones.backbone import Backbone
from bench.models.baselines import Baseline
from bench.models.core.objective import Objective
from bench.tasks.core.task import Task

NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")


@dataclass(frozen=True)
class Reading:
    """How a control reads another method's cell: nothing is trained for it.

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
    """A method by name: its class, the settings it and its variant bring, and what makes its code this code."""

    name: str
    kind: type[Objective] | type[Baseline]
    settings: Mapping[str, Any]  # `section.name` to value
    code: Mapping[str, Any]
    parent: str = ""
    reading: Reading = Reading()

    @property
    def base(self) -> str:
        """The name without its variant."""
        return self.kind.name

    @property
    def only_reads(self) -> bool:
        """Whether nothing is trained for it: it reads another method's cell."""
        return self.reading != Reading()

    @property
    def trained_name(self) -> str:
        """The name it is trained and stored under: a control that only reads shares the cell of what it reads."""
        return self.base if self.only_reads else self.name

    @property
    def asked(self) -> str:
        """What to type after --method to get it again."""
        where = str(self.code["class"])
        return where if ":" in where else self.name

    def objective(self, backbone: Backbone, **options: Any) -> Objective:
        """Build the method over a backbone, with options beside the settings it brings."""
        if not issubclass(self.kind, Objective):
            raise UsageError(f"'{self.name}' writes texts without a model; it has no objective")
        return self.kind(backbone, **{**self.values("method"), **options})

    @property
    def own_backbone(self) -> str:
        """The backbone it runs on whatever the task's is, or nothing."""
        return str(getattr(self.kind, "own_backbone", ""))

    @property
    def reads_exemplars(self) -> bool:
        """Whether rows need exemplars."""
        return "exemplar" in self.kind.fields

    def values(self, section: str) -> dict[str, Any]:
        """Return the settings of one section."""
        return {key.partition(".")[2]: value for key, value in self.settings.items()
                if key.partition(".")[0] == section}  # fmt: skip


def find_method(name: str) -> Method:
    """Return a built-in method (`histalign`, `histalign.released`) or a user's class (`package.module:Class`).

    Raises:
        UsageError: when there is none of this name, or the class is no method.
    """
    if ":" in name:
        kind = load(name)
        if not (inspect.isclass(kind) and issubclass(kind, Objective)):
            raise UsageError(f"'{name}' is not a subclass of bench.models.core.objective.Objective")
        _check_name(getattr(kind, "name", ""), name)
        source = Path(inspect.getfile(kind)).read_bytes()
        code = {"class": name, "source_sha256": hashlib.sha256(source).hexdigest()}
        return Method(kind.name, kind, dict(kind.settings), code, kind.parent)
    if name not in all_names(METHODS):
        raise UsageError(f"no method '{name}'{did_you_mean(name, all_names(METHODS))}")
    base, _, variant = name.partition(".")
    entry = METHODS[base]
    kind = entry.load()
    given = dict((entry.variants or {})[variant]) if variant else {}
    parent = str(given.pop("parent", getattr(kind, "parent", "")))
    reading = Reading(**{key.partition(".")[2]: given.pop(key) for key in list(given) if key.startswith("reading.")})
    settings = {**getattr(kind, "settings", {}), **given}
    return Method(name, kind, settings, {"class": kind.name, "version": kind.version}, parent, reading)


def elders(method: Method) -> list[Method]:
    """Return the methods a method is fine-tuned from, the nearest first.

    Raises:
        UsageError: when one of them is fine-tuned from itself.
    """
    line = [method]
    while line[-1].parent:
        line.append(find_method(line[-1].parent))
        if line[-1].name in [younger.name for younger in line[:-1]]:
            raise UsageError(f"method '{line[-1].name}' is fine-tuned from itself; its `parent` should be another one")
    return line[1:]


def method_names(wanted: Sequence[str], controls: bool = True) -> list[str]:
    """Turn what was typed after --method into names; `all` is every objective and, unless refused, its controls."""
    objectives = [name for name, entry in METHODS.items() if not entry.baseline]
    declared = dict.fromkeys(c for name in objectives for c in METHODS[name].controls if c not in objectives)
    groups = {**ALIASES, "all": [*objectives, *(declared if controls else ())]}
    return expand(wanted, METHODS, "method", own=True, groups=groups)


def _check_name(name: Any, where: str) -> None:
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise UsageError(f"'{where}' should have a class attribute `name` of letters, digits, '.', '_' and '-', "
                         f"starting with a lower-case letter or digit; it is '{name}'")  # fmt: skip
    if name in all_names(METHODS):
        raise UsageError(f"'{where}' is named '{name}', which is a built-in method; choose another name")


def backbone_factory(name: str) -> Any:
    """Return what builds a backbone: an entry's function, or the hub loader for an id or folder."""
    if name in BACKBONES:
        return BACKBONES[name].load()
    if "/" in name or Path(name).is_dir():
        return load("bench.models.backbones.hub:hub")
    raise UsageError(f"no backbone '{name}'{did_you_mean(name, BACKBONES)}; a hub id or a folder works too")


def backbone_of(task: type[Task], method: Method, backbone: str | None, preset: str) -> str:
    """Return the name of a cell's backbone: the method's own, else the one asked for, else the recipe's."""
    return method.own_backbone or backbone or str(task.recipes[preset]["backbone"])


def cell_config(
    task: type[Task], method: Method, backbone: str | None, seed: int, preset: str, given: Sequence[Override],
    decode: str | None, limit: int | None,
) -> CellConfig:  # fmt: skip
    """Resolve one cell: constructor defaults, then the task's recipe, then the method's settings, then overrides."""
    recipe = [override(key, value) for key, value in task.recipes[preset].items() if "." in key]
    name = backbone_of(task, method, backbone, preset)
    scopes = {task.name, method.base, method.trained_name, name, *(("finetuned",) if method.parent else ())}

    def values(section: str) -> dict[str, Any]:
        return {**section_values(recipe, section, scopes), **method.values(section),
                **section_values(given, section, scopes)}  # fmt: skip

    def options(section: str, what: str, make: Any) -> dict[str, Any]:
        return fill(options_of(make), known(values(section), options_of(make)), f"{what}")

    trainer = typed(TrainerConfig, {**values("trainer"), **({"limit": limit} if limit else {})}, "trainer")
    return CellConfig(
        task=task.name,
        method=method.trained_name,
        backbone=name,
        seed=seed,
        preset=preset,
        trainer=trainer,
        evaluation=typed(EvaluationConfig, values("evaluation"), "evaluation"),
        decodings=tuple(parse(decode or str(task.recipes[preset].get("decode", "greedy")))),
        task_options=options("task", f"task '{task.name}'", task),
        method_options=options("method", f"method '{method.name}'", method.kind),
        backbone_options=options("backbone", f"backbone '{name}'", backbone_factory(name)),
    )


def known(values: dict[str, Any], options: dict[str, Any]) -> dict[str, Any]:
    """Keep what this class takes: one `--set method.alpha=...` may be meant for some of the chosen methods."""
    return {name: value for name, value in values.items() if name in options}


def check_overrides(
    given: Sequence[Override], tasks: Sequence[type[Task]], methods: Sequence[Method], backbones: Sequence[str]
) -> None:
    """Refuse an override that nothing in this run takes.

    Args:
        methods: those of the run, with those they are fine-tuned from.

    Raises:
        UsageError: with the nearest known name.
    """
    owners: dict[str, list[tuple[set[str], dict[str, Any]]]] = {
        "task": [({t.name}, options_of(t)) for t in tasks],
        "method": [({m.base, m.trained_name}, options_of(m.kind)) for m in methods],
        "backbone": [({name}, options_of(backbone_factory(name))) for name in backbones],
    }
    names = {name for m in methods for name in (m.base, m.trained_name, *(["finetuned"] if m.parent else []))}
    every = names | {t.name for t in tasks} | set(backbones)
    for one in given:
        if one.scope is not None and one.scope not in every:
            raise UsageError(
                f"'{one.text}' is for '{one.scope}', which is not in this run{did_you_mean(one.scope, every)}"
            )
        if one.section not in owners:
            continue  # trainer and evaluation are checked when they are built
        known = {name for names, options in owners[one.section] if one.scope in (None, *names) for name in options}
        other_scope = one.scope is not None and not any(one.scope in names for names, _ in owners[one.section])
        if other_scope:
            known = {name for _, options in owners[one.section] for name in options}
        if one.name not in known:
            raise UsageError(f"no {one.section} in this run has the option '{one.name}'{did_you_mean(one.name, known)}")
