"""Reference model: the method and the configuration of the frozen model that another method uses in its loss."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from bench.config.config import CellConfig, Override, override
from bench.config.resolve import Method, cell_config, find_method
from bench.errors import UsageError
from bench.tasks.core.task import Task

REFERENCE = "reference"
"""Prefix of an override for the reference model of a method: `--set reference:trainer.steps=50`."""

SCOPES = (REFERENCE, "second")
"""The prefix, and its name in stored `config.yaml` files of version 0.2."""


def reference_of(method: Method) -> Method | None:
    """Return the method whose frozen model another method uses, or None.

    Raises:
        UsageError: it is no method that is trained from scratch and alone.
    """
    name = str(getattr(method.kind, "reference", ""))
    if not name:
        return None
    reference = find_method(name)
    if reference.is_baseline or reference.only_reads or reference.parent or getattr(reference.kind, "reference", ""):
        raise UsageError(
            f"`reference` of method '{method.name}' should name a method that is trained from scratch and needs no "
            f"other model; '{name}' is none, choose another, e.g. mle"
        )
    return reference


def reference_backbone(method: Method) -> str:
    """Return the backbone of a method's reference model; empty if it is the backbone of the method itself."""
    return str(getattr(method.kind, "reference_settings", {}).get("backbone", ""))


def reference_config(
    task: type[Task],
    method: Method,
    reference: Method,
    config: CellConfig,
    given: Sequence[Override],
    decode: str | None,
) -> CellConfig:
    """Resolve the run of a method's reference model.

    It is the run of the reference method as it would be trained here, with two changes: the method's
    `reference_settings` override settings for all methods, and settings with the prefix `reference:` override both.

    Args:
        task: the task of both.
        method: the method that uses the reference model.
        reference: the method that the reference model is trained by.
        config: the configuration of the method's run.
        given: the overrides of the run.
        decode: the value of --decode.

    Raises:
        UsageError: for an option of the task, which both have in common.
    """
    settings = {name: value for name, value in getattr(method.kind, "reference_settings", {}).items() if "." in name}
    by_method = [override(f"{reference.base}:{name}", value) for name, value in settings.items()]
    by_user = [replace(item, scope=reference.base) for item in given if item.scope in SCOPES]
    for item in [*by_method, *by_user]:
        if item.section == "task":
            raise UsageError(
                f"'{item.text}' is an option of the task, which a method and its reference model have in common; set "
                f"it for both"
            )
    for_all = [item for item in given if item.scope not in SCOPES]
    resolved = cell_config(
        task,
        reference,
        reference_backbone(method) or config.asked("backbone"),
        config.seed,
        config.preset,
        [*for_all, *by_method, *by_user],
        decode,
        config.trainer.limit,
        own={part: own for part, own in config.own.items() if part == "task"},
    )
    return replace(resolved, task_options=config.task_options)


def checkable(given: Iterable[Override], methods: Iterable[Method]) -> list[Override]:
    """Return overrides for `check_overrides`: those of `reference:` become general if a method has such a model."""
    if not any(map(reference_of, methods)):
        return list(given)
    return [replace(item, scope=None) if item.scope in SCOPES else item for item in given]
