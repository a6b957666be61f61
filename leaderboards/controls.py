"""Controls: of which methods a row is a control, which row of a sweep of decodings is shown, and trivial controls."""

from collections.abc import Sequence

from bench.leaderboards.row import TableRow
from bench.models import METHODS

DIVERSITY = "self-bleu-2"
"""The column in which a matched control is as near to its method as it can be; Self-BLEU-1 hardly differs by method."""


def controlled_by(method: str) -> list[str]:
    """Return the methods that declare a method as their control; a method that is itself compared controls none.

    >>> controlled_by("adadec.const"), controlled_by("trime")
    (['adadec', 'adadec_attexp'], [])
    """
    if method in METHODS and not METHODS[method].baseline:
        return []
    return [name for name, entry in METHODS.items() if method in entry.controls]


def matched_method(row: TableRow) -> str:
    """Return the method whose diversity a row should match; empty for most rows."""
    base, _, variant = row.method.partition(".")
    if base not in METHODS:
        return ""
    options = (METHODS[base].variants or {}).get(variant) or {}
    return str(options.get("evaluation_variant.matched", ""))


def diversity(row: TableRow) -> dict[str, float]:
    """Return a row's means of `DIVERSITY` by signature, since only equal signatures can be compared."""
    return {
        value.signature: value.mean
        for column, value in row.values.items()
        if column.partition(" [")[0] == DIVERSITY and value.mean is not None
    }


def keep_matched(rows: Sequence[TableRow]) -> list[TableRow]:
    """Keep of each sweep of decodings the rows whose `DIVERSITY` is nearest to a row they should match, with a remark.

    Both have the same backbone and seeds. A sweep that has no row to match is left out.
    """
    sweeps: dict[str, list[TableRow]] = {}
    for row in rows:
        if method := matched_method(row):
            sweeps.setdefault(method, []).append(row)
    kept = [row for row in rows if not matched_method(row)]
    for goal in [row for row in kept if ":" not in row.decoding]:  # with a colon it evaluates another method's run
        sweep = sweeps.get(goal.method, [])
        for signature, met in diversity(goal).items():
            near = [
                (abs(theirs - met), row.decoding, place, theirs)
                for place, row in enumerate(sweep)
                if (theirs := diversity(row).get(signature)) is not None
                and (row.backbone, row.seeds) == (goal.backbone, goal.seeds)
            ]
            if near:
                _, decoding, place, theirs = min(near)
                sweep[place].add_remark(
                    f"{decoding} is the nearest to {goal.method} {goal.decoding} in {DIVERSITY}: "
                    f"{theirs:.1f} to {met:.1f}"
                )
                if not any(row is sweep[place] for row in kept):
                    kept.append(sweep[place])
    return kept


def is_trivial(method: str) -> bool:
    """Return whether a method is a trivial control: it copies its input, counts tokens, or is not trained.

    >>> [is_trivial(method) for method in ("lead", "bigram", "mle.untrained", "mle", "my own")]
    [True, True, True, False, False]
    """
    entry = METHODS.get(method)
    return method.endswith(".untrained") or (entry is not None and entry.baseline)
