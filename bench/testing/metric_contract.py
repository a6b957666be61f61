"""What every metric must keep to: named columns, any order, any number of ranks, no rows, sums that are its value."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.errors import MissingError
from bench.metrics import KINDS, MetricEntry, check_metric
from bench.metrics.columns import direction_of
from bench.metrics.example_rows import example_rows
from bench.metrics.inputs import INPUTS
from bench.metrics.requirements import lacking
from bench.metrics.score import NOT_APPLICABLE, Gold, Row, Score
from bench.metrics.sums import value_of
from bench.metrics.torch import class_of_entry
from bench.testing.checks import Check, OnResult, module_file, run_checks
from bench.testing.known_answers import judged
from bench.testing.report import Failed, NotApplicable, Report

__all__ = ["CHECKS", "check_family"]

COPIES = 3
"""Times that the example rows stand in what is scored, under other ids."""

WRITTEN = ("text", "token_ids", "groups")
"""What of a row a system has written."""

LAST_BITS = 1e-12
"""A value may be computed another way than its sums, so that it differs in the last bits."""


@dataclass
class Subject:
    """A metric family and rows of its kind; `data_dir` and `limit` are of claims with known answers."""

    name: str
    entry: MetricEntry
    rows: Sequence[Row]
    gold: Gold
    data_dir: Path | None = None
    limit: int | None = None

    def scores(self, rows: Sequence[Row] | None = None, gold: Gold | None = None) -> list[Score]:
        """Score rows, by default all of them.

        Raises:
            NotApplicable: the machine lacks what the metric needs.
        """
        if needed := lacking(self.entry.requires):
            raise NotApplicable(f"needs {needed}")
        wanted = self.rows if rows is None else rows
        return list(self.entry.load()(wanted, self.gold if gold is None else gold))


def named(subject: Subject) -> str:
    """It says what it is, what it reads, and its columns with their direction."""
    check_metric(subject.name, subject.entry)
    if not subject.entry.summary.strip():
        raise Failed("a summary", "an empty text", "say what the number is, in one line")
    if subject.entry.inputs not in INPUTS:
        raise Failed(f"inputs among {', '.join(INPUTS)}", f"'{subject.entry.inputs}'", "see bench.metrics.inputs")
    return f"{subject.entry.kind}: {', '.join(subject.entry.columns)}"


def gives_columns(subject: Subject) -> str:
    """Every column is one that the entry names, with its direction, of all rows, with a signature."""
    scores = subject.scores()
    if not scores:
        raise Failed("a score at least", "none", "return a list of bench.metrics.score.Score")
    for score in scores:
        try:
            direction = direction_of(score.name, subject.entry.columns)
        except KeyError:
            raise Failed("a column that the entry names", f"'{score.name}'", "add it to `columns`") from None
        if direction != score.higher_is_better:
            raise Failed(f"the entry's direction of '{score.name}'", str(score.higher_is_better), "correct either")
        if not score.signature.strip():
            raise Failed(f"a signature of '{score.name}'", "none", "name package, version and options")
        if score.value is None and NOT_APPLICABLE not in score.signature:
            raise Failed(f"the reason why '{score.name}' has no value", score.signature, "use `explained`")
        if score.value is not None and not math.isfinite(score.value):
            raise Failed(f"a finite number of '{score.name}'", str(score.value), "return None and say why")
    if len({score.name for score in scores}) < len(scores):
        raise Failed("each column once", ", ".join(score.name for score in scores), "name them apart")
    return f"{len(scores)} columns of {len(subject.rows)} rows"


def keeps_its_signature(subject: Subject) -> str:
    """Other outputs for the same rows have the same signature: unlike ones never share a column of a table."""
    signatures = {score.name: score.signature for score in subject.scores() if score.value is not None}
    for score in subject.scores(_turned(subject.rows, subject.entry.kind)):
        if score.value is not None and signatures.get(score.name, score.signature) != score.signature:
            came = f"'{score.signature}' and '{signatures[score.name]}'"
            raise Failed(f"one signature of '{score.name}'", came, "leave out what depends on a system's output")
    return "the same for other outputs"


def _turned(rows: Sequence[Row], kind: str) -> list[Row]:
    """Return rows with the output of the row before: its text, or all of it where a row is no text."""
    turned = list[Row]()
    for row, before in zip(rows, [*rows[-1:], *rows[:-1]], strict=True):
        if kind == "generation":
            turned.append({**row, **{name: before[name] for name in WRITTEN if name in before}})
        else:
            turned.append({**before, "id": row["id"]})
    return turned


def ignores_order(subject: Subject) -> str:
    """Any order of the rows gives the same bits, and so does scoring them again."""
    expected = subject.scores()
    for seed in range(3):
        rows = list(subject.rows)
        random.Random(seed).shuffle(rows)
        came = subject.scores(rows)
        if differing := _differing(expected, came):
            raise Failed("the same bits in any order", differing, "sort by id: `ordered` of bench.metrics.score")
    return "equal in every bit"


def _differing(expected: Sequence[Score], came: Sequence[Score]) -> str:
    """Say how scores differ; empty where they do not."""
    by_name = {score.name: score for score in came}
    for score in expected:
        other = by_name.get(score.name)
        if other is None or (other.value, other.n, other.signature) != (score.value, score.n, score.signature):
            return f"'{score.name}' {score.value!r} and {None if other is None else other.value!r}"
    return ""


def refuses_other_rows(subject: Subject) -> str:
    """Rows that are missing, or there twice, are refused: a number never comes from fewer rows than it says."""
    if len(subject.rows) < 2:
        raise NotApplicable("reads one row for a whole split")
    for rows, what in ((subject.rows[:-1], "a row is missing"), ([*subject.rows, subject.rows[0]], "a row is twice")):
        try:
            subject.scores(rows)
        except ValueError:
            continue
        raise Failed(f"a ValueError where {what}", "a score", "begin with `ordered(rows, gold)`")
    return "missing and repeated rows"


def refuses_nothing(subject: Subject) -> str:
    """No rows are no number."""
    try:
        scores = subject.scores([], {})
    except ValueError:
        return "a ValueError"
    if numbers := [score for score in scores if score.value is not None]:
        raise Failed("no number of no rows", f"{numbers[0].name} {numbers[0].value}", "raise ValueError")
    return "no value"


def bears_extremes(subject: Subject) -> str:
    """Empty texts and texts of one word give a number or a reason."""
    if subject.entry.kind != "generation":
        raise NotApplicable("reads no texts")
    for text, ids in (("", []), ("a", [1])):
        rows = [{**row, "text": text, "token_ids": ids} for row in subject.rows]
        for score in subject.scores(rows):
            if score.value is not None and not math.isfinite(score.value):
                raise Failed(f"a finite number for '{text}'", str(score.value), "return None and say why")
    return "empty texts, one word"


def is_its_sums(subject: Subject) -> str:
    """The value is a form of its sums over rows, which intervals and paired tests are made of."""
    with_sums = [score for score in subject.scores() if score.sums is not None]
    if not with_sums:
        raise NotApplicable("a column of whole sets has no sums, so no interval and no paired test")
    for score in with_sums:
        assert score.sums is not None
        if len(score.sums) != score.n:
            raise Failed(f"a row of sums for each of {score.n} rows", str(len(score.sums)), "see `score_of_sums`")
        total = [math.fsum(column) for column in zip(*score.sums.values.tolist(), strict=True)]
        value = value_of(total, score.sums.form)
        same = value == score.value
        if value is not None and score.value is not None:
            same = math.isclose(value, score.value, rel_tol=LAST_BITS)
        if not same:
            raise Failed(f"the sums of '{score.name}' to give {score.value!r}", repr(value), "use `score_of_sums`")
    return f"{len(with_sums)} columns with intervals and paired tests"


def is_alike_on_ranks(subject: Subject) -> str:
    """Its torchmetrics class gives the same bits on one, two and three ranks with uneven shares."""
    expected = subject.scores()
    kind = class_of_entry(subject.name, subject.entry)
    for shares in ((len(subject.rows),), (1, len(subject.rows)), (1, 1, len(subject.rows))):
        at, parts = 0, []
        for end in shares:
            part = kind(columns=["*"])
            part.update_rows(subject.rows[at : max(at, end)], subject.gold)
            parts.append(part)
            at = max(at, end)
        first, *others = parts
        for other in others:
            first.merge_state(other)
        if differing := _differing(expected, first.scores()):
            raise Failed(f"the same bits on {len(shares)} ranks", differing, "score rows that are sorted by id")
    return "1, 2 and 3 ranks"


def is_json(subject: Subject) -> str:
    """What is stored of it is JSON."""
    json.dumps([score.as_dict() for score in subject.scores()], allow_nan=False)
    return "every score"


def knows_answers(subject: Subject) -> str:
    """A verifier is better than guessing on claims that people have judged."""
    if not subject.entry.answers:
        raise NotApplicable("gives no verdict on a claim")
    try:
        result = judged(subject.name, subject.entry, subject.data_dir, subject.limit)
    except MissingError as error:
        raise NotApplicable(str(error)) from error
    if not result.informs:
        raise Failed("better than guessing", result.text, "is this the right checkpoint, are its labels in order?")
    return result.text


CHECKS = (
    Check("names", "says what it reads, its columns and their direction", named),
    Check("columns", "gives the columns it names, with reasons where there is no value", gives_columns),
    Check("signature", "has one signature for all rows", keeps_its_signature),
    Check("order", "order changes nothing", ignores_order),
    Check("rows", "missing and repeated rows are refused", refuses_other_rows),
    Check("empty", "no rows are no number", refuses_nothing),
    Check("extremes", "empty texts are borne", bears_extremes),
    Check("sums", "its value is a form of its sums", is_its_sums),
    Check("ranks", "two or three ranks equal one", is_alike_on_ranks),
    Check("json", "can be stored", is_json),
    Check("answers", "is right on claims with known answers", knows_answers),
)


def check_family(
    name: str,
    entry: MetricEntry,
    data_dir: Path | None = None,
    limit: int | None = None,
    on_result: OnResult = lambda result: None,
) -> Report:
    """Check a metric family on example rows of its kind, and a verifier on claims with known answers.

    Args:
        name: of the family.
        entry: of it.
        data_dir: of the claims.
        limit: about so many claims; None for all.
        on_result: told each result as soon as it is there.
    """
    rows, gold = list[Any](), dict[str, Any]()
    if entry.kind in KINDS:
        rows, gold = example_rows(entry.kind)
    if len(rows) > 1:
        rows, gold = _copied(rows, gold)
    file = None
    if not lacking(entry.requires):
        file = module_file(entry.load())
    return run_checks(name, CHECKS, Subject(name, entry, rows, gold, data_dir, limit), file, on_result)


def _copied(rows: Sequence[Row], gold: Gold) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return rows several times under other ids, so that there are ties."""
    more, gold_of_more = [], {}
    for copy in range(COPIES):
        for row in rows:
            name = f"{row['id']}/{copy}"
            more.append({**row, "id": name})
            gold_of_more[name] = gold[row["id"]]
    return more, gold_of_more
