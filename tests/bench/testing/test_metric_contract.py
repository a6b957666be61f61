"""The contract of metrics: every built-in keeps to it, and each rule is missed by a metric that breaks it."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from bench.metrics import METRICS, MetricEntry
from bench.metrics.score import Counts, Family, Gold, Row, Score, explained, ordered, score_of_sums
from bench.metrics.sums import mean
from bench.testing import metric_contract
from bench.testing.metric_contract import check_family

HERE = __name__
ENTRY = MetricEntry(
    f"{HERE}:scores", "mean length in words", columns=("=words",), kind="generation", gold=("references",)
)


def lengths(rows: Sequence[Row], gold: Gold) -> list[tuple[int, int]]:
    return [(len(str(row["text"]).split()), 1) for row in ordered(rows, gold)]


def scores(rows: Sequence[Row], gold: Gold) -> list[Score]:
    """A good one."""
    if not rows:
        raise ValueError("expected rows")
    return [score_of_sums("words", mean(), lengths(rows, gold), "words|version:1", unit="count")]


def unordered(rows: Sequence[Row], gold: Gold) -> list[Score]:
    [score] = scores(rows, gold)
    first = len(str(rows[0]["text"])) / 7
    return [replace(score, value=(score.value or 0) + first, sums=None)]


def of_any_rows(rows: Sequence[Row], gold: Gold) -> list[Score]:
    return [score_of_sums("words", mean(), [(len(row["text"].split()), 1) for row in sorted(rows, key=str)], "words|1")]


def another_column(rows: Sequence[Row], gold: Gold) -> list[Score]:
    return [replace(scores(rows, gold)[0], name="word")]


def another_direction(rows: Sequence[Row], gold: Gold) -> list[Score]:
    return [replace(scores(rows, gold)[0], higher_is_better=True)]


def of_the_system(rows: Sequence[Row], gold: Gold) -> list[Score]:
    return [replace(scores(rows, gold)[0], signature=f"words|first:{ordered(rows, gold)[0]['text'][:5]}")]


def other_sums(rows: Sequence[Row], gold: Gold) -> list[Score]:
    [score] = scores(rows, gold)
    return [replace(score, value=(score.value or 0) + 1)]


def infinite(rows: Sequence[Row], gold: Gold) -> list[Score]:
    [score] = scores(rows, gold)
    if not any(row["text"] for row in rows):
        return [replace(score, value=math.inf, sums=None)]
    return [score]


def unexplained(rows: Sequence[Row], gold: Gold) -> list[Score]:
    return [replace(scores(rows, gold)[0], value=None, sums=None)]


def number_of_nothing(rows: Sequence[Row], gold: Gold) -> list[Score]:
    if not rows:
        return [Score("words", 0.0, "count", None, 0, "words|version:1")]
    return scores(rows, gold)


def counted(rows: Sequence[Row], gold: Gold) -> list[dict[str, int]]:
    return [{"rows": len(rows)} for _ in rows]


def of_counts(counts: Sequence[Counts]) -> list[Score]:
    rows = [(each["rows"], 1) for each in counts]
    return [score_of_sums("words", mean(), rows, "words|version:1", unit="count")]


of_the_batch = Family(counted, of_counts)


def needing(rows: Sequence[Row], gold: Gold) -> list[Score]:
    return [explained(replace(scores(rows, gold)[0], value=None, sums=None), "no words")]


@pytest.mark.parametrize("family", METRICS)
def test_every_built_in_keeps_to_the_contract(family: str) -> None:
    report = check_family(family, METRICS[family], limit=20)
    assert report.ok, str(report)
    if not METRICS[family].requires:
        excused = {result.check for result in report.results if result.state == "not applicable"}
        assert excused <= {"answers", "sums", "rows", "extremes"}


def failed(target: str, **changes: Any) -> dict[str, str]:
    entry = replace(ENTRY, target=f"{HERE}:{target}", **changes)
    return {result.check: result.detail for result in check_family("words", entry).failed}


def test_the_good_one_is_good() -> None:
    assert failed("scores") == {}
    assert failed("needing") == {}  # a reason is an answer


@pytest.mark.parametrize(
    ("target", "check", "said"),
    [
        ("unordered", "order", "expected the same bits in any order; got 'words'"),
        ("of_any_rows", "rows", "expected a ValueError where a row is missing; got a score"),
        ("another_column", "columns", "expected a column that the entry names; got 'word'"),
        ("another_direction", "columns", "expected the entry's direction of 'words'; got True"),
        ("of_the_system", "signature", "expected one signature of 'words'"),
        ("other_sums", "sums", "expected the sums of 'words' to give"),
        ("infinite", "extremes", "expected a finite number for ''; got inf"),
        ("unexplained", "columns", "expected the reason why 'words' has no value"),
        ("number_of_nothing", "empty", "expected no number of no rows; got words 0.0"),
        ("of_the_batch", "ranks", "expected the same bits on 2 ranks; got 'words'"),
    ],
)
def test_scorers_that_break_a_rule(target: str, check: str, said: str) -> None:
    found = failed(target)
    assert check in found, found
    assert said in found[check]


def test_entries_that_say_too_little() -> None:
    assert "expected a summary" in failed("scores", summary=" ")["names"]
    assert "should have columns" in failed("scores", columns=("words",))["names"]
    assert "expected inputs among" in failed("scores", inputs="nothing")["names"]
    assert "should have a kind" in failed("scores", kind="texts")["names"]


def test_an_error_says_where(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metric_contract, "CHECKS", metric_contract.CHECKS[:2])
    [detail] = failed("broken").values()
    assert re.match(r"KeyError at test_metric_contract\.py:\d+: 'nothing'", detail)


def broken(rows: Sequence[Row], gold: Gold) -> list[Score]:
    return [rows[0]["nothing"]]
