"""Data: whether the rows of a task give their targets away, or are in two splits at once."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from bench.audit.finding import Finding, alarm, question
from bench.audit.near_copies import check_near_copies
from bench.tasks.core.example import Example
from bench.tasks.core.task import Task

__all__ = ["check_data"]

MANY, SOME = 0.10, 0.01
"""Share of the rows of a split that make an alarm, or a question."""
FEWEST = 2
"""Rows that an alarm is made of at least."""
WORDS = 3
"""Words of a target from which on it is no accident, nor the task itself, that a source holds it."""
SHORTER = 0.6
"""Length of a test target as a share of a training target, in the median, below which it looks cut."""

Level = Callable[[str, str, str], Finding]


def check_data(task: Task, splits: Sequence[str], reads_exemplars: bool) -> Iterator[Finding]:
    """Look for test rows in other splits, targets in sources or exemplars, repeated ids and cut references.

    Of a split that is what its publisher gave out, everything is a question: the publisher answers for it.

    Args:
        task: with its data.
        splits: that cells were evaluated on.
        reads_exemplars: whether a method reads exemplars.
    """
    train = task.split("train").examples
    for name in splits:
        split = task.split(name)
        if not split.examples:
            continue
        level: Level = alarm
        if split.status == "official":
            level = question
        place, examples = f"{task.name}, {name} split", split.examples
        yield from check_repeated(task, examples, place, level)
        others = {"train": train}
        if name == "test":
            others["valid"] = task.split("valid").examples
            yield from check_near_copies(task)
        for other, rows in others.items():
            yield from shared_rows(task, examples, rows, other, place, level)
        yield from targets_in_sources(task, examples, train, place, level)
        yield from cut_targets(examples, train, place, level)
        if reads_exemplars:
            yield from targets_in_exemplars(task, name, place, level)


def check_repeated(task: Task, examples: Sequence[Example], place: str, level: Level) -> Iterator[Finding]:
    """Look for ids, and for rows under other ids, that stand there twice."""
    repeated = [name for name, n in Counter(example.id for example in examples).items() if n > 1]
    if repeated:
        yield alarm("ids", place, f"{len(repeated)} ids stand there more than once, such as {repeated[0]}")
    n = len(examples) - len({content_of(task, example) for example in examples})
    yield from graded("repeated", place, n, len(examples), "stand there before", level)


def shared_rows(
    task: Task, examples: Sequence[Example], others: Sequence[Example], other: str, place: str, level: Level
) -> Iterator[Finding]:
    """Look for rows that another split has too, case and white space aside."""
    known = {content_of(task, example) for example in others}
    n = sum(content_of(task, example) in known for example in examples)
    yield from graded("contamination", place, n, len(examples), f"are in the {other} split too", level)


def targets_in_sources(
    task: Task, examples: Sequence[Example], train: Sequence[Example], place: str, level: Level
) -> Iterator[Finding]:
    """Look for targets that stand word for word in what the model reads."""
    if task.info.open_ended:
        return
    n, n_train = n_in_source(task, examples), n_in_source(task, train)
    more_than_in_training = n / len(examples) - n_train / max(1, len(train)) > MANY
    if more_than_in_training or 2 * n > len(examples):
        yield from graded("leak", place, n, len(examples), "have their target in their source", level)


def n_in_source(task: Task, examples: Sequence[Example]) -> int:
    """Return how many targets of some words stand in their source."""
    n = 0
    for example in examples:
        target = normal(example.target)
        if len(target.split()) >= WORDS and target in normal(task.plain_source(example)):
            n += 1
    return n


def targets_in_exemplars(task: Task, split: str, place: str, level: Level) -> Iterator[Finding]:
    """Look for exemplars that are their row's own target."""
    exemplars, examples = task.exemplars(split), task.split(split).examples
    n = sum(normal(exemplars[example.id]) == normal(example.target) for example in examples)
    yield from graded("exemplars", place, n, len(examples), "have an exemplar that is their own target", level)


def cut_targets(examples: Sequence[Example], train: Sequence[Example], place: str, level: Level) -> Iterator[Finding]:
    """Look for references that are far shorter than what was trained on, or than the target of their row."""
    shorter = 0
    for example in examples:
        if any(is_cut(reference, example.target) for reference in example.references):
            shorter += 1
    if shorter:
        yield from graded(
            "references", place, shorter, len(examples), "have a reference cut out of their target", level
        )
    here, there = median_words(examples), median_words(train)
    if there >= 2 * WORDS and here < SHORTER * there:
        yield level("references", place, f"targets have {here:g} words in the median, those of the training {there:g}")


def is_cut(reference: str, target: str) -> bool:
    """Return whether a reference is the beginning of a target and not all of it."""
    return len(normal(reference)) < len(normal(target)) and normal(target).startswith(normal(reference))


def median_words(examples: Sequence[Example]) -> float:
    """Return the median number of words of targets."""
    return statistics.median(len(example.target.split()) for example in examples)


def graded(check: str, place: str, n: int, of: int, what: str, level: Level) -> Iterator[Finding]:
    """Yield an alarm for many rows, a question for some, nothing for few."""
    text = f"{n} of {of} rows {what}"
    if n >= FEWEST and n > MANY * of:
        yield level(check, place, text)
    elif n > SOME * of:
        yield question(check, place, text)


def content_of(task: Task, example: Example) -> tuple[str, str]:
    """Return source and target, case and white space aside."""
    return normal(task.plain_source(example)), normal(example.target)


def normal(text: str) -> str:
    """Return a text in lower case with single spaces."""
    return " ".join(text.lower().split())
