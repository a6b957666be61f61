"""Resolve: from names, presets and overrides to the full configuration of a cell."""

from __future__ import annotations

import hashlib
import inspect
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.config import CellConfig, EvaluationConfig, Override, TrainerConfig, override, section_values, typed
from bench.decoding import parse
from bench.entries import Entry, all_names, load
from bench.errors import UsageError, did_you_mean
from bench.models import METHODS
from bench.models.backbones import BACKBONES
from bench.models.objective import Objective
from bench.options import fill, options_of
from bench.tasks.task import Task

NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")


@dataclass(frozen=True)
class Method:
    """A method by name: its class, the options its variant sets, and what makes its code this code."""

    name: str
    kind: type[Objective]
    preset_options: dict[str, Any]
    code: dict[str, Any]

    @property
    def base(self) -> str:
        """The name without its variant."""
        return self.kind.name

    @property
    def asked(self) -> str:
        """What to type after --method to get it again."""
        where = str(self.code["class"])
        return where if ":" in where else self.name


def find_method(name: str) -> Method:
    """Return a built-in method (`histalign`, `histalign.released`) or a user's class (`package.module:Class`)."""
    if ":" in name:
        kind = load(name)
        if not (inspect.isclass(kind) and issubclass(kind, Objective)):
            raise UsageError(f"'{name}' is not a subclass of bench.models.objective.Objective")
        _check_name(getattr(kind, "name", ""), name)
        source = Path(inspect.getfile(kind)).read_bytes()
        return Method(kind.name, kind, {}, {"class": name, "source_sha256": hashlib.sha256(source).hexdigest()})
    base, _, variant = name.partition(".")
    entry: Entry = METHODS[base]
    kind = entry.load()
    options = dict((entry.variants or {})[variant]) if variant else {}
    return Method(name, kind, options, {"class": kind.name, "version": kind.version})


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


def cell_config(
    task: type[Task], method: Method, backbone: str | None, seed: int, preset: str, given: Sequence[Override],
    decode: str | None, limit: int | None,
) -> CellConfig:  # fmt: skip
    """Resolve one cell: constructor defaults, then the task's recipe, then the method's variant, then overrides."""
    recipe = [override(key, value) for key, value in task.recipes[preset].items() if "." in key]
    name = backbone or str(task.recipes[preset]["backbone"])
    scopes = {task.name, method.base, method.name, name}
    factory = backbone_factory(name)

    def values(section: str) -> dict[str, Any]:
        return {**section_values(recipe, section, scopes), **section_values(given, section, scopes)}

    method_options, backbone_options = options_of(method.kind), options_of(factory)
    method_values = {**section_values(recipe, "method", scopes), **method.preset_options,
                     **section_values(given, "method", scopes)}  # fmt: skip
    trainer = typed(TrainerConfig, {**values("trainer"), **({"limit": limit} if limit else {})}, "trainer")
    return CellConfig(
        task=task.name,
        method=method.name,
        backbone=name,
        seed=seed,
        preset=preset,
        trainer=trainer,
        evaluation=typed(EvaluationConfig, values("evaluation"), "evaluation"),
        decodings=tuple(parse(decode or str(task.recipes[preset].get("decode", "greedy")))),
        task_options=fill(options_of(task), _known(values("task"), options_of(task)), f"task '{task.name}'"),
        method_options=fill(method_options, _known(method_values, method_options), f"method '{method.name}'"),
        backbone_options=fill(backbone_options, _known(values("backbone"), backbone_options), f"backbone '{name}'"),
    )


def _known(values: dict[str, Any], options: dict[str, Any]) -> dict[str, Any]:
    """Keep what this class takes: one `--set method.alpha=...` may be meant for some of the chosen methods."""
    return {name: value for name, value in values.items() if name in options}


def check_overrides(
    given: Sequence[Override], tasks: Sequence[type[Task]], methods: Sequence[Method], backbones: Sequence[str]
) -> None:
    """Refuse an override that nothing in this run takes.

    Raises:
        UsageError: with the nearest known name.
    """
    owners: dict[str, list[tuple[set[str], dict[str, Any]]]] = {
        "task": [({t.name}, options_of(t)) for t in tasks],
        "method": [({m.base, m.name}, options_of(m.kind)) for m in methods],
        "backbone": [({name}, options_of(backbone_factory(name))) for name in backbones],
    }
    every = {t.name for t in tasks} | {n for m in methods for n in (m.base, m.name)} | set(backbones)
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
