"""The contract of tasks: every built-in keeps to it, and each rule is missed by a task that breaks it."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from bench.tasks import TASKS
from bench.tasks.core.example import Example
from bench.tasks.core.manifest import Manifest
from bench.tasks.core.task import Task
from bench.tasks.encode.codec import Codec, Encoded
from bench.tasks.pairs import Pairs
from bench.testing.task_contract import CHECKS, check_task


@pytest.mark.parametrize("name", TASKS)
def test_every_built_in_keeps_to_the_contract(name: str) -> None:
    report = check_task(TASKS[name].load())
    assert report.ok, str(report)
    assert {result.check for result in report.results if result.state == "not applicable"} <= {"prompts", "scores"}


class Good(Pairs):
    """Pairs under another name."""

    name = "good"


def failed(kind: type[Task]) -> dict[str, str]:
    return {result.check: result.detail for result in check_task(kind).failed}


def changed(change: Callable[[str, Sequence[Example]], Sequence[Example]]) -> type[Task]:
    """A task whose built-in rows are changed."""

    class Changed(Good):
        """Pairs with other rows."""

        def sample(self, split: str) -> Sequence[Example]:
            return change(split, list(super().sample(split)))

    return Changed


numbers = itertools.count()


def others_each_time(split: str, rows: Sequence[Example]) -> Sequence[Example]:
    return [replace(rows[0], target=f"{rows[0].target} {next(numbers)}"), *rows[1:]]


def an_id_twice(split: str, rows: Sequence[Example]) -> Sequence[Example]:
    return [*rows, rows[0]]


def no_test_rows(split: str, rows: Sequence[Example]) -> Sequence[Example]:
    return [] if split == "test" else rows


def number_as_target(split: str, rows: Sequence[Example]) -> Sequence[Example]:
    return [replace(rows[0], target=3), *rows[1:]]  # type: ignore[arg-type]


def no_references(split: str, rows: Sequence[Example]) -> Sequence[Example]:
    return [replace(row, references=()) for row in rows]


def test_the_good_one_is_good() -> None:
    assert failed(Good) == {}


@pytest.mark.parametrize(
    ("change", "check", "said"),
    [
        (others_each_time, "same", "expected the same train rows each time; got others the second time"),
        (an_id_twice, "ids", "expected each id once in train; got .* 2 times; make ids unique"),
        (no_test_rows, "splits", "expected rows in the test split; got none"),
        (number_as_target, "ids", "expected a target that is a text; got int in"),
        (no_references, "scores", "expected|reference"),
    ],
)
def test_rows_that_break_a_rule(change: Any, check: str, said: str) -> None:
    found = failed(changed(change))
    assert check in found
    assert re.search(said, found[check]), found[check]


class Undescribed(Good):
    """Says no licence."""

    info = replace(Pairs.info, licence=" ")


class WithoutRecipe(Good):
    """Has no recipe for a small run."""

    recipes = {"paper": {"backbone": "gpt2"}}  # noqa: RUF012


class Unhashed(Good):
    """Counts rows and does not hash them."""

    def manifest(self, split: str) -> Manifest:
        """Return the same for all rows."""
        return Manifest(split, "sample", 1, 1, "0" * 64)


class Endless(Good):
    """Leaves out what cuts a long source."""

    def encode(self, examples: Sequence[Example], codec: Codec, **options: Any) -> list[Encoded]:
        """Give every row a long source."""
        rows = super().encode(examples, codec, **options)
        return [replace(row, source=(*row.source, *[1] * 99)) for row in rows]


class OfNothing(Good):
    """Asks for a metric of rows that it does not make."""

    info = replace(Pairs.info, metrics=("perplexity", "cache_accuracy"))


@pytest.mark.parametrize(
    ("kind", "check", "said"),
    [
        (Undescribed, "names", "expected `licence` in its info; got an empty text"),
        (WithoutRecipe, "names", "expected a recipe `small`; got paper"),
        (Endless, "encodes", "expected at most 24 source tokens"),
        (OfNothing, "scores", "expected an evaluation `probe` for 'cache_accuracy'"),
    ],
)
def test_classes_that_break_a_rule(kind: type[Task], check: str, said: str) -> None:
    found = failed(kind)
    assert check in found, found
    assert said in found[check]


def test_what_follows_a_class_that_cannot_be_asked_is_not_run() -> None:
    report = check_task(WithoutRecipe)
    assert [result.state for result in report.results] == ["failed", *["not run"] * (len(CHECKS) - 1)]


def test_options_reach_the_task(tmp_path: Any) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_text("".join(f'{{"source": "a {i}", "target": "b {i}"}}\n' for i in range(60)))
    report = check_task(Pairs, sets={"path": str(path)})
    assert report.ok, str(report)
    assert "(own)" in next(result.detail for result in report.results if result.check == "splits")
