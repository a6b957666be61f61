"""Readable: what was read and what was to be written, of rows that are shown to people."""

from __future__ import annotations

from bench.tasks.core.example import Example
from bench.tasks.core.task import Task

__all__ = ["reference_of", "sources_of"]


def sources_of(task: Task, split: str) -> dict[str, tuple[str, str]]:
    """Return what was read and what was to be written, by row, from the data of a task."""
    examples = task.split(split).examples
    return {example.id: (task.plain_source(example), reference_of(example)) for example in examples}


def reference_of(example: Example) -> str:
    """Return what was to be written; of a prompt that two words fit, both."""
    if "words" in example.fields:
        return ", ".join(example.fields["words"])
    return example.target
