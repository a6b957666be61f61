"""Leaks: rows of a test or validation split that are in the training split too, as they are or nearly so.

A row whose words were deleted, swapped or exchanged equals no other row, but has most words of the row that it was made
from. Rows of one kind have words in common as well, so test rows are compared with validation rows, which are as far
from the training split as honest test rows.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from itertools import chain

from bench.tasks.core.example import Example
from bench.tasks.core.task import Task

OFFICIAL = "official"
"""Status of a split that its publisher gave out."""
CERTAIN_SHARE, NOTED_SHARE = 0.10, 0.01
"""Shares of the rows of a split above which a finding is certain, or is noted."""
MIN_SHARED = 2
"""Least number of shared rows in a finding."""
ROWS = 200
"""Rows of the test and of the validation split that are compared with all training rows, chosen by rule."""
MIN_WORDS = 8
"""Least number of different words in a compared row; a row of fewer words is often contained in another."""
NEAR = (0.7, 0.8, 0.9)
"""Shares of a row's different words from which on a training row may be called a near copy.

Each is compared: few rows of running text have 0.7 in an honest training row, many rows of a template have 0.8. Of
honest test and validation rows these had 0.7, 0.8 and 0.9: LogicNLG 42 and 44 %, 16 and 19 %, 4 and 1 %; Gigaword (of
10,000 training rows) 0.5 and 1.5 %, the same, 0 and 1 %; Ambiguous Template all, 94 and 100 %, 62 and 82 %; CNN/DM,
Wikibio, NSMC, WikiText-103 and plain text at most 4 %, 0.5 %, none. Where most rows have near copies, more do not show.
"""
MIN_DIFFERENCE = 0.10
"""Least difference of the shares of test and validation rows with a near copy; honest splits have up to 0.03."""
MIN_ERRORS = 3
"""The same in standard errors, for splits of few rows; honest splits have up to 1.9."""


@dataclass(frozen=True)
class Leak:
    """A finding about the data of a task.

    Args:
        text: split, number of rows, and where they were found.
        is_certain: whether it makes numbers wrong. In an official split it does not: published numbers have it, too.
    """

    text: str
    is_certain: bool


def leaks(task: Task, splits: Iterable[str]) -> Iterator[Leak]:
    """Yield findings about rows of some splits in the training split, and about test rows in the validation split.

    Args:
        task: with its data.
        splits: names of the splits that runs were evaluated on.
    """
    train = task.split("train")
    for name in splits:
        split = task.split(name)
        rows, place = split.examples, f"{task.name}, {name} split"
        if not rows or name == "train":
            continue
        counts = {"are in the training split, too": n_shared(task, rows, train.examples)}
        if name == "test":
            counts["are in the validation split, too"] = n_shared(task, rows, task.split("valid").examples)
        for what, n in counts.items():
            if n >= MIN_SHARED and n > NOTED_SHARE * len(rows):
                is_certain = n > CERTAIN_SHARE * len(rows) and split.status != OFFICIAL
                yield Leak(f"{place}: {n} of {len(rows)} rows {what}", is_certain)
        if name == "test" and (text := near_copies(task)):
            yield Leak(f"{place}: {text}", not train.status == split.status == OFFICIAL)


def n_shared(task: Task, rows: Sequence[Example], others: Sequence[Example]) -> int:
    """Return how many rows another split has, too; case and white space do not count."""
    known = {content_of(task, row) for row in others}
    return sum(content_of(task, row) in known for row in rows)


def content_of(task: Task, row: Example) -> tuple[str, str]:
    """Return the normalised source and target of a row."""
    return normal(task.plain_source(row)), normal(row.target)


def normal(text: str) -> str:
    """Return a text in lower case with single spaces."""
    return " ".join(text.lower().split())


def near_copies(task: Task) -> str:
    """Say how many more test rows than validation rows have a near copy in the training split; empty if not many."""
    test, valid = rows_of(task, "test"), rows_of(task, "valid")
    if not test or not valid:
        return ""
    shares = nearest_shares([*test, *valid], (words_of(task, row) for row in task.split("train").examples))
    of_test, of_valid = shares[: len(test)], shares[len(test) :]
    for near in NEAR:
        in_test, in_valid = share_from(near, of_test), share_from(near, of_valid)
        both = share_from(near, shares)
        error = math.sqrt(both * (1 - both) * (1 / len(test) + 1 / len(valid)))
        if in_test - in_valid > max(MIN_DIFFERENCE, MIN_ERRORS * error):
            return (
                f"{in_test:.0%} of {len(test)} rows have {near:.0%} of their words or more in one training row; "
                f"{in_valid:.0%} of {len(valid)} validation rows do"
            )
    return ""


def share_from(least: float, values: Sequence[float]) -> float:
    """Return how many of some values, as a share, are a number or more."""
    return sum(value >= least for value in values) / len(values)


def rows_of(task: Task, split: str) -> list[Set[str]]:
    """Return the words of some rows of a split, without those that have few."""
    words = [words_of(task, example) for example in task.evaluation_examples(split, ROWS)]
    return [row for row in words if len(row) >= MIN_WORDS]


def words_of(task: Task, example: Example) -> Set[str]:
    """Return the different words of source and target, in lower case."""
    return set(f"{task.plain_source(example)} {example.target}".lower().split())


def nearest_shares(rows: Sequence[Set[str]], others: Iterable[Set[str]]) -> list[float]:
    """Return, for each row, the largest share of its words that one other row has.

    A share below the smallest of `NEAR` is 0; once it reaches the largest, the search for that row stops. A
    row that is to have so many words in another one has one of its rarest there: only rows that share one of these are
    compared. So the work is about linear in the words of the others, which are read once and not kept in memory.

    Args:
        rows: their words, one or more each.
        others: words of each row that may be near.

    Returns:
        Shares, 0 to 1, [rows].
    """
    frequency = Counter(chain.from_iterable(rows))
    by_word: dict[str, set[int]] = defaultdict(set)
    for place, row in enumerate(rows):
        rarest = sorted(row, key=lambda word: (frequency[word], word))
        for word in rarest[: len(row) - math.ceil(min(NEAR) * len(row)) + 1]:
            by_word[word].add(place)
    rare, found, shares = set(by_word), set[int](), [0.0] * len(rows)
    for other in others:
        places: set[int] = set()
        for word in other & rare:
            places |= by_word[word]
        for place in places - found:
            share = len(rows[place] & other) / len(rows[place])
            if share >= min(NEAR):
                shares[place] = max(shares[place], share)
            if share >= max(NEAR):
                found.add(place)
    return shares
