"""The search for nearest bags: against fractions, with every width of count and size of block."""

from __future__ import annotations

import random
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bench.tasks.exemplars import nearest as module
from bench.tasks.exemplars.bag_of_words import Bags
from bench.tasks.exemplars.nearest import _nearer, index_of, nearest, none_of, take_nearer

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


@pytest.mark.parametrize("most", [1, 3, 60, 200, 9_000])  # 200 needs wide sums, 9,000 wide counts, too
@pytest.mark.parametrize("block", [5, 64, 8_192])
@pytest.mark.parametrize("common", [pytest.param(0, marks=pytest.mark.slow), 16, 1_000])
def test_the_nearest_row_is_that_of_an_obvious_search(
    monkeypatch: pytest.MonkeyPatch, most: int, block: int, common: int
) -> None:
    monkeypatch.setattr(module, "BLOCK", block)
    monkeypatch.setattr(module, "COMMON", common)
    draw = random.Random(f"{most} {block} {common}")
    n = 300 if block > 5 else 80  # many small blocks take long
    rows, queries = random_rows(draw, n, most), random_rows(draw, 40, most)
    groups = np.array([[draw.randrange(9) for _ in rows], [draw.randrange(3) for _ in rows]])
    left_out = np.array([[draw.randrange(-1, 9) for _ in queries], [draw.randrange(-1, 3) for _ in queries]])
    documents, asked = bags(rows), bags(queries)
    index = index_of(documents, TERMS, int(max(documents.squared.max(), asked.squared.max())))
    assert (index.counts.dtype, index.wide) == (np.uint8 if most < 256 else np.int32, most > 60)
    assert (len(index.common) == 0) == (common == 0)
    found = [nearest(index, asked, first, min(first + 7, 40), groups, left_out) for first in range(0, 40, 7)]
    for i, (best, dot, _) in enumerate(zip(*(np.concatenate(part) for part in zip(*found, strict=True)), strict=True)):
        allowed = [d for d in range(n) if (groups[:, d] != left_out[:, i]).all()]
        assert (best, dot) == obvious(rows, queries[i], allowed)


@pytest.mark.parametrize("most", [3, 9_000])
@pytest.mark.parametrize("known", [0, 61])
@pytest.mark.parametrize("part", [10, 150])
def test_each_pair_may_be_worked_out_once(monkeypatch: pytest.MonkeyPatch, most: int, known: int, part: int) -> None:
    monkeypatch.setattr(module, "BLOCK", 16)
    draw = random.Random(f"{most} {known} {part}")
    rows = random_rows(draw, 150, most)
    groups = np.array([[draw.randrange(9) for _ in rows], [draw.randrange(90) for _ in rows]])
    documents = bags(rows)
    index = index_of(documents, TERMS, int(documents.squared.max()))
    best = none_of(150)
    for first in range(known, 150, 7):
        stop, found = min(first + 7, 150), []
        for start in range(first, 150, part):
            some = range(start, min(start + part, 150))
            found.append(nearest(index, documents, first, stop, groups, groups, some, best))
        found.append(nearest(index, documents, first, stop, groups, groups, range(known)))
        for one in found:
            take_nearer(best, first, one, index)
    for i in range(known, 150):
        allowed = [d for d in range(150) if (groups[:, d] != groups[:, i]).all()]
        assert (best.documents[i], best.dots[i]) == obvious(rows, rows[i], allowed)


def test_nothing_is_left_out_without_groups() -> None:
    documents = bags([{}, {0: 1}, {0: 2}])
    none = np.zeros((0, 3), np.int64)
    best, dots, _ = nearest(index_of(documents, 1, 4), documents, 0, 3, none, none)
    assert (best.tolist(), dots.tolist()) == ([-1, 1, 1], [0, 1, 2])


def test_cosines_that_differ_less_than_floats_can_say_are_told_apart() -> None:
    a, b = 30_000, 30_001
    documents = bags([{0: a, 1: b}, {0: b, 1: a + 2}, {0: a, 1: a}])
    query = bags([{0: 1, 1: 1}])
    squared = documents.squared
    cosines = [(a + b) / squared[0] ** 0.5, (b + a + 2) / squared[1] ** 0.5]
    assert cosines[0] == pytest.approx(cosines[1], rel=1e-9)
    none = np.zeros((0, 3), np.int64)
    index = index_of(documents, 2, int(squared.max()))
    assert nearest(index, query, 0, 1, none, none)[0].tolist() == [2]
    some = np.array([[0, 0, 1]])
    assert nearest(index, query, 0, 1, some, np.array([[1]]))[0].tolist() == [1]


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


@settings(deadline=None)
@given(st.integers(1, 2**15), st.integers(1, 2**15), st.integers(1, 2**15))
def test_equal_fractions_are_equal(dot: int, squared: int, factor: int) -> None:
    other = (dot * factor, squared * factor**2)
    assert not _nearer(dot, squared, *other)
    assert not _nearer(*other, dot, squared)


def refused(*_: object) -> None:
    raise RuntimeError("cannot cache function: no locator available")


def test_a_search_is_compiled_where_its_code_cannot_be_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither beside the file nor below the home folder."""
    monkeypatch.setattr(module, "_Kept", refused)
    assert module._compiled(lambda: 3)() == 3


def full(*_: object) -> None:
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize("damage", ["none", "an empty file", "code for other types", "a full disk"])
def test_code_that_was_kept_badly_is_compiled(damage: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(module.numba.config, "CACHE_DIR", str(tmp_path))
    if damage == "a full disk":
        monkeypatch.setattr(module.FunctionCache, "save_overload", full)

    def n_read() -> int:
        n_hits = 0
        for kind in (np.int16, np.int32):
            add, sums = module._compiled(module._add.py_func), np.zeros(3, kind)
            add(sums, np.arange(3, dtype=kind), 2)
            assert sums.tolist() == [0, 2, 4]
            n_hits += sum(add.stats.cache_hits.values())
        return n_hits

    assert n_read() == 0
    if damage == "an empty file":
        next(tmp_path.rglob("*.nbi")).write_bytes(b"")
    if damage == "code for other types":  # as of two processes that kept theirs at once
        first, second = tmp_path.rglob("*.nbc")
        first.write_bytes(second.read_bytes())
    assert n_read() == {"none": 2, "code for other types": 1}.get(damage, 0)
    if damage != "a full disk":
        assert n_read() == 2
