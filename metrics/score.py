"""Score: one number with everything needed to know what it is, and how a family of scores is made of rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from bench.metrics.sums import Form, Sums, value_of

Row = Mapping[str, Any]
Counts = Mapping[str, Any]
"""What a statistic counted in one row: names to numbers, texts or lists of them, as JSON has them."""
Gold = Mapping[str, Mapping[str, Any]]

NOT_APPLICABLE = "not applicable: "


@dataclass(frozen=True)
class Score:
    """One value of a metric over stored rows.

    Args:
        name: column name, e.g. `bleu-3`.
        value: the number; None when the metric is not defined on these rows.
        unit: e.g. `percent`, `nats`, `count`.
        higher_is_better: direction; None where neither is better.
        n: rows the number comes from.
        signature: package, version, tokenizer and options, the same for every method over the same rows; unlike ones
            never share a column. Where there is no value it ends with `|not applicable: ` and why.
        sums: what the value is made of, row by row in the order of ids, where it comes from sums over rows.
    """

    name: str
    value: float | None
    unit: str
    higher_is_better: bool | None
    n: int
    signature: str
    sums: Sums | None = field(default=None, hash=False, repr=False)

    def as_dict(self) -> dict[str, Any]:
        """Return the content for a stored file, without the sums."""
        return {each.name: getattr(self, each.name) for each in fields(self) if each.name != "sums"}


def explained(score: Score, why: str) -> Score:
    """Return a score that has no value with the reason at the end of its signature, and any other as it is.

    >>> explained(Score("ppl/word", None, "", False, 2, "perplexity|per:word"), "infinite").signature
    'perplexity|per:word|not applicable: infinite'
    """
    if score.value is not None or NOT_APPLICABLE in score.signature:
        return score
    return replace(score, signature=f"{score.signature}|{NOT_APPLICABLE}{why}")


@dataclass(frozen=True)
class Family:
    """A scorer in two steps: count each row, then make scores of all counts.

    A family whose columns are sums over rows is written in this form; its torchmetrics class then keeps counts instead
    of texts, and runs a model once for each text. A family of whole sets is a plain function of rows.

    Args:
        statistic: counts each row: `(rows, gold)` to one `Counts` for each row, in their order.
        scores: makes scores of the counts of all rows.
    """

    statistic: Callable[[Sequence[Row], Gold], Sequence[Counts]]
    scores: Callable[[Sequence[Counts]], list[Score]]

    def __call__(self, rows: Sequence[Row], gold: Gold) -> list[Score]:
        """Score rows.

        Raises:
            ValueError: other ids than the gold's, or no rows.
        """
        in_order = ordered(rows, gold)
        if not rows:
            raise ValueError("a score of no texts is undefined; expected at least one row")
        return self.scores(self.statistic(in_order, gold))


def score_of_sums(
    name: str,
    form: Form,
    rows: Sequence[Sequence[float]],
    signature: str,
    *,
    unit: str = "percent",
    higher_is_better: bool | None = None,
    why: str = "nothing was counted",
) -> Score:
    """Return the score whose value is a form of sums over rows; intervals and paired tests use the same sums.

    Args:
        name: of the column.
        form: `mean()`, `ratio()`, `perplexity()` or `bleu()` of `bench.metrics.sums`.
        rows: `[rows, k]` what is summed, in the order of ids.
        signature: as in `Score`.
        unit: as in `Score`.
        higher_is_better: as in `Score`.
        why: the reason where there is no value because the denominator is 0.

    >>> from bench.metrics.sums import ratio
    >>> score_of_sums("copies", ratio(), [(1, 4), (0, 4)], "copies|version:1").value
    12.5
    >>> score_of_sums("copies", ratio(), [(0, 0)], "copies|version:1").signature
    'copies|version:1|not applicable: nothing was counted'
    """
    score = Score(name, None, unit, higher_is_better, len(rows), signature)
    total = [math.fsum(column) for column in zip(*rows, strict=True)]
    value = None
    if rows:
        value = value_of(total, form)
    if value is None:
        return explained(score, why)
    if not math.isfinite(value):
        return explained(score, "infinite")
    return replace(score, value=value, sums=Sums(form, rows))


def texts_and_references(rows: Sequence[Row], gold: Gold) -> tuple[list[str], list[Sequence[str]]]:
    """Return the text of every row and its references."""
    return [row["text"] for row in rows], [gold[row["id"]].get("references", ()) for row in rows]


def ordered(rows: Sequence[Row], gold: Gold) -> list[Row]:
    """Return rows in the order of their ids, after `check_ids`."""
    check_ids(rows, gold)
    return by_id(rows)


def by_id(rows: Sequence[Row]) -> list[Row]:
    """Return rows in the order of their ids, which is that of sums."""
    return sorted(rows, key=lambda row: str(row["id"]))


def why_not_of(counts: Sequence[Counts]) -> str:
    """Return why rows could not be counted, as their `why_not` says; empty where all were.

    What the rows lack comes before what this machine lacks, which begins with "needs".

    >>> why_not_of([{"why_not": "needs owner/model"}, {"why_not": "no source text"}, {"true": 1}])
    'no source text'
    """
    reasons = [row["why_not"] for row in counts if row.get("why_not")]
    of_rows = [reason for reason in reasons if not reason.startswith("needs ")]
    return next(iter([*of_rows, *reasons]), "")


def check_ids(rows: Sequence[Row], gold: Gold) -> None:
    """Raise ValueError unless rows and gold have exactly the same ids, each once."""
    ids = [row["id"] for row in rows]
    if len(set(ids)) != len(ids):
        raise ValueError(f"expected one row per id, got {len(ids) - len(set(ids))} repeated ids")
    if set(ids) != set(gold):
        missing, extra = set(gold) - set(ids), set(ids) - set(gold)
        raise ValueError(
            f"expected rows for exactly the {len(gold)} ids of the split; "
            f"missing {len(missing)} {sorted(missing)[:3]}, extra {len(extra)} {sorted(extra)[:3]}"
        )
