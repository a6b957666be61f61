"""The preset `paper`: on published data only, and for the methods that a paper has trained on a task."""

from __future__ import annotations

from bench.base.entries import split_names
from bench.config.resolve import Method, recipe_of
from bench.models import METHODS
from bench.tasks.core.task import Task

__all__ = ["PAPER", "why_unpublished", "why_without_data"]

PAPER = "paper"


def why_unpublished(task: type[Task], method: Method) -> str | None:
    """Return why a method is left out of the preset `paper` of a task, or None.

    The recipe names the methods that its paper trains (`methods`). These run with their variants and controls. Methods
    of one's own run everywhere, since the recipe is there to try them, and so do baselines, which train nothing.
    """
    named = str(recipe_of(task, PAPER).get("methods", ""))
    if not named or method.is_baseline or method.name not in known_methods():
        return None
    trained = split_names([named])
    controls = [control for name in trained for control in METHODS[name].controls]
    is_variant = method.base in trained and method.name not in every_control()
    if method.name in trained or method.name in controls or is_variant:
        return None
    return (
        f"has no recipe of a paper on {task.name}, where papers train {', '.join(trained)}; "
        f"--preset small with --set trainer.* and --backbone runs it at any size"
    )


def known_methods() -> set[str]:
    """Return the names of all built-in methods and their variants."""
    variants = [f"{name}.{variant}" for name, entry in METHODS.items() for variant in entry.variants or {}]
    return {*METHODS, *variants}


def every_control() -> set[str]:
    """Return the methods that are controls of some method."""
    return {control for entry in METHODS.values() for control in entry.controls}


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
