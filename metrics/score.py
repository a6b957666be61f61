"""Score: one number with all that is needed to interpret it, and `Family`: how stored predictions become scores.

Stored predictions are rows: a mapping for each example, with its `id`. `gold` maps each id to what the prediction is
compared with.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from bench.metrics.sums import Form, Sums, value_of

Row = Mapping[str, Any]
Counts = Mapping[str, Any]
"""What a family counts in one row: names to numbers, texts or lists of them, as JSON can hold them."""
Gold = Mapping[str, Mapping[str, Any]]

Scorer = Callable[[Sequence[Row], Gold], "list[Score]"]
"""Makes scores of rows and what they are compared with, for one metric family."""

NOT_APPLICABLE = "not applicable: "
NO_SOURCE = "rows without a source or prompt"


@dataclass(frozen=True)
class Score:
    """One value of a metric over stored predictions.

    Args:
        name: column name, such as `bleu-3`.
        value: the number; None when the metric is undefined for these rows.
        unit: such as `percent`, `nats`, `count`.
        higher_is_better: direction; None where neither direction is better.
        n: number of rows that the value comes from.
        signature: package, version, tokenizer and options. It is the same for every method over the same rows; values
            with different signatures never share a column. Without a value it ends with `|not applicable: ` and the
            reason.
        sums: sufficient statistics of each row in the order of ids, if the value is a function of their sums.
    """

    name: str
    value: float | None
    unit: str
    higher_is_better: bool | None
    n: int
    signature: str
    sums: Sums | None = field(default=None, hash=False, repr=False)

    def as_dict(self) -> dict[str, Any]:
        """Return the content for a stored file, without the sufficient statistics."""
        return {each.name: getattr(self, each.name) for each in fields(self) if each.name != "sums"}


def explained(score: Score, reason: str) -> Score:
    """Return a score without a value with the reason at the end of its signature, and any other score unchanged.

    >>> explained(Score("ppl/word", None, "", False, 2, "perplexity|per:word"), "infinite").signature
    'perplexity|per:word|not applicable: infinite'
    """
    if score.value is not None or NOT_APPLICABLE in score.signature:
        return score
    return replace(score, signature=f"{score.signature}|{NOT_APPLICABLE}{reason}")


@dataclass(frozen=True)
class Family:
    """A scorer in two steps: count each row, then make scores from the counts of all rows.

    This is the form of a family whose columns are functions of sums over rows. Its torchmetrics class keeps the counts
    instead of the texts, and runs a model once for each text. A metric of the whole set of rows is a plain function.

    Args:
        statistic: `(rows, gold)` to one `Counts` for each row, in their order.
        scores: makes scores from the counts of all rows.
    """

    statistic: Callable[[Sequence[Row], Gold], Sequence[Counts]]
    scores: Callable[[Sequence[Counts]], list[Score]]

    def __call__(self, rows: Sequence[Row], gold: Gold) -> list[Score]:
        """Score rows.

        Raises:
            ValueError: the ids are not those of `gold`, or there are no rows.
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
    """Return the score whose value is a function of sums over rows; intervals and paired tests use the same sums.

    Args:
        name: name of the column.
        form: `mean()`, `ratio()`, `perplexity()` or `bleu()` of `bench.metrics.sums`.
        rows: `[rows, k]` sufficient statistics in the order of ids.
        signature: as in `Score`.
        unit: as in `Score`.
        higher_is_better: as in `Score`.
        why: the reason to give when the denominator is 0 and there is no value.

    >>> from bench.metrics.sums import ratio
    >>> score_of_sums("copies", ratio(), [(1, 4), (0, 4)], "copies|version:1").value
    12.5
    >>> score_of_sums("copies", ratio(), [(0, 0)], "copies|version:1").signature
    'copies|version:1|not applicable: nothing was counted'
    """
    score = Score(name, None, unit, higher_is_better, len(rows), signature)
    value = value_of([math.fsum(column) for column in zip(*rows, strict=True)], form) if rows else None
    if value is None:
        return explained(score, why)
    if not math.isfinite(value):
        return explained(score, "infinite")
    return replace(score, value=value, sums=Sums(form, rows))


def ordered(rows: Sequence[Row], gold: Gold) -> list[Row]:
    """Return rows in the order of their ids, which is the order of the sufficient statistics.

    Raises:
        ValueError: rows and gold do not have the same ids, each once.
    """
    ids = [row["id"] for row in rows]
    if len(set(ids)) != len(ids):
        raise ValueError(f"expected one row per id, got {len(ids) - len(set(ids))} repeated ids")
    if set(ids) != set(gold):
        missing, extra = set(gold) - set(ids), set(ids) - set(gold)
        raise ValueError(
            f"expected rows for exactly the {len(gold)} ids of the split; "
            f"missing {len(missing)} {sorted(missing)[:3]}, extra {len(extra)} {sorted(extra)[:3]}"
        )
    return sorted(rows, key=lambda row: str(row["id"]))


def field_of_all(rows: Sequence[Row], name: str) -> list[Any] | None:
    """Return a field of every row, or None when no row has it.

    Raises:
        ValueError: some rows have the field and others do not.

    >>> field_of_all([{"id": "a", "text": "x"}], "text"), field_of_all([{"id": "a"}], "text")
    (['x'], None)
    """
    without = [row["id"] for row in rows if name not in row]
    if without and len(without) < len(rows):
        raise ValueError(_only_some(name, rows, without))
    return None if without else [row[name] for row in rows]


def _only_some(name: str, rows: Sequence[Row], without: Sequence[str]) -> str:
    return f"expected {name} in all {len(rows)} rows or in none; {len(without)} rows have none: {without[:3]}"


def sources_of(rows: Sequence[Row], gold: Gold) -> list[str] | None:
    """Return the text that each row was generated from: its `prompt`, else the `source` of its gold; None without any.

    Raises:
        ValueError: some rows have one and others do not.

    >>> sources_of([{"id": "a"}], {"a": {"source": "Once"}}), sources_of([{"id": "a"}], {"a": {"source": ""}})
    (['Once'], None)
    >>> sources_of([{"id": "a", "prompt": "Once upon"}], {"a": {}})
    ['Once upon']
    """
    sources = [row.get("prompt", gold[row["id"]].get("source")) for row in rows]
    if not any(sources):
        return None
    without = [row["id"] for row, source in zip(rows, sources, strict=True) if source is None]
    if without:
        raise ValueError(_only_some("a source", rows, without))
    return sources


def texts_and_references(rows: Sequence[Row], gold: Gold) -> tuple[list[str], list[Sequence[str]]]:
    """Return the text and the references of every row.

    Raises:
        ValueError: a text is no string, or a row has no list of one or more references.
    """
    texts, references = [], []
    for row in rows:
        text, of_text = row["text"], gold[row["id"]].get("references", ())
        if not isinstance(text, str):
            raise ValueError(f"row {row['id']!r}: expected a text, got {type(text).__name__}")
        if isinstance(of_text, str) or not of_text or not all(isinstance(one, str) for one in of_text):
            raise ValueError(f"row {row['id']!r}: expected one or more references in a list, got {of_text!r:.60}")
        texts.append(text)
        references.append(of_text)
    return texts, references


def reason_of(counts: Sequence[Counts]) -> str:
    """Return why rows could not be counted, as the `reason` of their counts; empty if all were counted.

    A reason that lies in the rows comes before one that lies in this machine, which begins with "needs".

    >>> reason_of([{"reason": "needs owner/model"}, {"reason": "no source text"}, {"true": 1}])
    'no source text'
    """
    reasons = [row["reason"] for row in counts if row.get("reason")]
    return min(reasons, key=lambda reason: reason.startswith("needs "), default="")
