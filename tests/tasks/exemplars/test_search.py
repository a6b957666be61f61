"""The search for the nearest bags, against fractions."""

import random
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bench.tasks.exemplars import search as module
from bench.tasks.exemplars.bag_of_words import Bags
from bench.tasks.exemplars.search import _nearer, index_of, search

TERMS = 40


def bags(rows: list[dict[int, int]]) -> Bags:
    starts = np.cumsum([0, *map(len, rows)])
    pairs = [pair for row in rows for pair in sorted(row.items())]
    terms, counts = (np.array([pair[i] for pair in pairs], np.int32) for i in (0, 1))
    squared = np.array([sum(c * c for c in row.values()) for row in rows], np.int64)
    return Bags(starts, terms, counts, squared)


def random_rows(draw: random.Random, n: int, most: int) -> list[dict[int, int]]:
    """Rows over words of falling frequency; some are empty, many alike, some multiples of others."""
    rows: list[dict[int, int]] = []
    for _ in range(n):
        kind = draw.random()
        if rows and kind < 0.2:
            rows.append(draw.choice(rows))
        elif rows and kind < 0.3 and most > 2:
            rows.append({t: min(2 * c, most) for t, c in draw.choice(rows).items()})
        else:
            drawn = (int(TERMS * draw.random() ** 3) for _ in range(draw.randrange(6)))
            rows.append({t: draw.randint(1, most) for t in drawn})
    return rows


def obvious(rows: list[dict[int, int]], query: dict[int, int], allowed: list[int]) -> tuple[int, int]:
    """The lowest allowed row of the greatest dot^2 / squared length, where that is above 0."""
    best, answer = Fraction(0), (-1, 0)
    for i in allowed:
        dot = sum(count * rows[i].get(term, 0) for term, count in query.items())
        if dot and Fraction(dot * dot, sum(c * c for c in rows[i].values())) > best:
            best, answer = Fraction(dot * dot, sum(c * c for c in rows[i].values())), (i, dot)
    return answer


@pytest.mark.parametrize("most", [1, 200, 9_000])
@pytest.mark.parametrize("block", [5, 8_192])
@pytest.mark.parametrize("common", [0, 8])
@pytest.mark.parametrize("mutual", [False, True])
def test_the_nearest_row_is_that_of_an_obvious_search(
    monkeypatch: pytest.MonkeyPatch, most: int, block: int, common: int, mutual: bool
) -> None:
    monkeypatch.setattr(module, "BATCH", 7)
    monkeypatch.setattr(module, "BLOCK", block)  # the size of a thread's share; compiled code has its own
    monkeypatch.setattr(module, "COMMON", common)
    draw = random.Random(f"{most} {block} {common}")
    rows = random_rows(draw, 300 if block > 5 else 80, most)
    queries = rows if mutual else random_rows(draw, 40, most)
    groups = np.array([[draw.randrange(9) for _ in rows], [draw.randrange(90) for _ in rows]])
    left_out = groups
    documents = asked = bags(rows)
    if not mutual:
        asked = bags(queries)
        left_out = np.array([[draw.randrange(-1, 9) for _ in queries], [draw.randrange(-1, 3) for _ in queries]])
    assert (len(index_of(documents, TERMS).common) == 0) == (common == 0)
    best = search(documents, asked, TERMS, groups, left_out, threads=3)
    for i, query in enumerate(queries):
        allowed = [d for d in range(len(rows)) if (groups[:, d] != left_out[:, i]).all()]
        assert (best.documents[i], best.dots[i]) == obvious(rows, query, allowed)


def test_documents_beyond_the_first_block_are_searched() -> None:
    draw = random.Random(0)
    rows = random_rows(draw, 2 * module.BLOCK, 3)
    rows[3 * module.BLOCK // 2] = {0: 7, 39: 1, 38: 2}
    documents, none = bags(rows), np.zeros((0, 1), np.int64)
    best = search(documents, bags([{0: 7, 39: 1, 38: 2}, {0: 1}]), TERMS, none, none)
    assert best.documents.tolist() == [3 * module.BLOCK // 2, next(i for i, row in enumerate(rows) if list(row) == [0])]
    own = np.arange(len(rows))[None]
    best = search(documents, documents, TERMS, own, own, threads=2)
    for i in draw.sample(range(len(rows)), 20):
        expected = obvious(rows, rows[i], [d for d in range(len(rows)) if d != i])
        assert (best.documents[i], best.dots[i]) == expected


def test_cosines_that_differ_less_than_floats_can_say_are_told_apart() -> None:
    a, b = 30_000, 30_001
    documents = bags([{0: a, 1: b}, {0: b, 1: a + 2}, {0: a, 1: a}])
    query = bags([{0: 1, 1: 1}])
    cosines = [(a + b) / documents.squared[0] ** 0.5, (b + a + 2) / documents.squared[1] ** 0.5]
    assert cosines[0] == pytest.approx(cosines[1], rel=1e-9)
    assert search(documents, query, 2, np.array([[0, 0, 0]]), np.array([[1]])).documents.tolist() == [2]
    assert search(documents, query, 2, np.array([[0, 0, 1]]), np.array([[1]])).documents.tolist() == [1]


NUMBERS = st.integers(1, 2**31 - 1)


@settings(deadline=None)  # the first call compiles
@given(NUMBERS, NUMBERS, NUMBERS, NUMBERS)
@example(2**31 - 1, 2**31 - 2, 2**31 - 2, 2**31 - 3)
@example(6, 9, 4, 4)
@example(2, 3, 4, 12)
@example(2**30, 2**30, 2**29, 2**28)
def test_fractions_are_compared_exactly(dot: int, squared: int, other_dot: int, other_squared: int) -> None:
    expected = Fraction(dot**2, squared) > Fraction(other_dot**2, other_squared)
    assert _nearer(dot, squared, other_dot, other_squared) == expected
