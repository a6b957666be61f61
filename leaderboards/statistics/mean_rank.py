"""Mean rank: the place of a method over several tasks, only among methods that have a number on all of them."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

__all__ = ["mean_ranks", "ranks"]

FEWEST = 2
"""Tasks and methods of a mean rank."""


def mean_ranks(tasks: Sequence[Mapping[str, float]]) -> tuple[dict[str, float], list[str]]:
    """Return the mean rank of the methods that have a number on every task, 1 being best, and why others have none.

    A method that was run on the tasks that suit it would stand first by its coverage alone; so methods that lack a
    task have no rank, and take none from the others.

    Args:
        tasks: of each that can rank, a number by method; higher is better.

    >>> mean_ranks([{"a": 3.0, "b": 2.0, "c": 9.0}, {"a": 1.0, "b": 5.0}])
    ({'a': 1.5, 'b': 1.5}, ['no mean rank, since one of the 2 tasks that can rank does not rank them: c'])
    """
    if len(tasks) < FEWEST:
        return {}, [f"no mean rank: {FEWEST} tasks or more must have a column that can rank, {len(tasks)} has"]
    every = set[str]().union(*tasks)
    shared = every.intersection(*tasks)
    if len(shared) < FEWEST:
        return {}, [f"no mean rank: no two methods share the {len(tasks)} tasks that can rank"]
    by_task = [ranks({method: values[method] for method in shared}) for values in tasks]
    means = {method: statistics.fmean(found[method] for found in by_task) for method in sorted(shared)}
    notes = []
    if every - shared:
        lacking = ", ".join(sorted(every - shared))
        notes.append(f"no mean rank, since one of the {len(tasks)} tasks that can rank does not rank them: {lacking}")
    return means, notes


def ranks(values: Mapping[str, float]) -> dict[str, float]:
    """Return the rank of each value, 1 for the highest; equal ones share the mean of their places.

    >>> ranks({"a": 2.0, "b": 1.0, "c": 2.0})
    {'a': 1.5, 'b': 3.0, 'c': 1.5}
    """
    found = {}
    for name, value in values.items():
        above = sum(other > value for other in values.values())
        equal = sum(other == value for other in values.values())
        found[name] = above + (equal + 1) / 2
    return found
