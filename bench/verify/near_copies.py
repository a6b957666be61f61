"""Near copies: whether more test rows than validation rows nearly equal a row of the training split.

A row whose words were deleted, swapped or exchanged equals no other row, but it still has most words of the row that it
was made from. Rows of one kind have words in common as well. So test rows are compared with validation rows, which are
as far from the training split as honest test rows.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence, Set
from itertools import chain

from bench.tasks.core.example import Example
from bench.tasks.core.task import Task

__all__ = ["near_copies"]

ROWS = 200
"""Rows of the test and of the validation split that are looked at, chosen by rule; against all training rows."""
WORDS = 8
"""Different words that a row has at least; of fewer many rows have most."""
NEAR = (0.7, 0.8, 0.9)
"""Shares of a row's different words from which on a training row may be called a near copy.

Each is compared: few rows of running text have 0.7 in an honest training row, many rows of a template have 0.8. Of
honest test and validation rows these had 0.7, 0.8 and 0.9: LogicNLG 42 and 44 %, 16 and 19 %, 4 and 1 %; Gigaword (of
10,000 training rows) 0.5 and 1.5 %, the same, 0 and 1 %; Ambiguous Template all, 94 and 100 %, 62 and 82 %; CNN/DM,
Wikibio, NSMC, WikiText-103 and plain text at most 4 %, 0.5 %, none. Where most rows have near copies, more do not show.
"""
MANY = 0.10
"""By how much the share of test rows with a near copy has to be above that of validation rows; honest: up to 0.03."""
ERRORS = 3
"""Standard errors of that difference which it has to be above as well, for splits of few rows; honest: up to 1.9."""


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
        if in_test - in_valid > max(MANY, ERRORS * error):
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
    return [row for row in words if len(row) >= WORDS]


def words_of(task: Task, example: Example) -> Set[str]:
    """Return the different words of source and target, in lower case."""
    return set(f"{task.plain_source(example)} {example.target}".lower().split())


def nearest_shares(rows: Sequence[Set[str]], others: Iterable[Set[str]]) -> list[float]:
    """Return how much of each row's words is in the one of other rows that has most of them.

    0 for what is below the smallest of `NEAR`, and not more than is needed for the largest. A row that is to have so
    many words in another one has one of its rarest there: only rows that share one of these are compared. So the work
    is about linear in the words of the others, which are gone through once and not held.

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
