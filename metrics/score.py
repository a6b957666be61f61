"""Score: one number with everything needed to know what it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Protocol

from bench.metrics.sums import Sums, mean

Row = Mapping[str, Any]
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
        return {one.name: getattr(self, one.name) for one in fields(self) if one.name != "sums"}


def explained(score: Score, why: str) -> Score:
    """Return a score that has no value with the reason at the end of its signature, and any other as it is.

    >>> explained(Score("ppl/word", None, "", False, 2, "perplexity|per:word"), "infinite").signature
    'perplexity|per:word|not applicable: infinite'
    """
    if score.value is not None or NOT_APPLICABLE in score.signature:
        return score
    return replace(score, signature=f"{score.signature}|{NOT_APPLICABLE}{why}")


class Scorer(Protocol):
    """A metric family over stored rows of one kind: no model, float64, the same bits on every machine size."""

    def __call__(self, rows: Sequence[Row], gold: Gold) -> list[Score]: ...


def by_id(rows: Sequence[Row]) -> list[Row]:
    """Return rows in the order of their ids, which is that of sums."""
    return sorted(rows, key=lambda row: str(row["id"]))


def shares(verdicts: Sequence[bool]) -> Sums | None:
    """Return the sums of a share of rows in percent; None without rows."""
    return Sums(mean(), [(int(one), 1) for one in verdicts]) if verdicts else None


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
