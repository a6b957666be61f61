"""Controls: rows that would explain another method's gain away, and which of a sweep's rows meets it."""

from __future__ import annotations

from collections.abc import Sequence

from bench.leaderboards.row import TableRow
from bench.models import METHODS

DIVERSITY = "self-bleu-2"
"""The column a matched control meets: at n = 480 texts one-gram overlap is the same for everybody."""


def controlled_by(method: str) -> list[str]:
    """Return the methods that declare a row as their control; a method of its own right is none.

    >>> controlled_by("adadec.const"), controlled_by("trime")
    (['adadec', 'adadec_attexp'], [])
    """
    if method in METHODS and not METHODS[method].baseline:
        return []
    return [name for name, entry in METHODS.items() if method in entry.controls]


def matched_method(row: TableRow) -> str:
    """Return the method whose diversity a row is to meet, or nothing."""
    base, _, variant = row.method.partition(".")
    variants = METHODS[base].variants if base in METHODS else None
    return str(((variants or {}).get(variant) or {}).get("reading.matched", ""))


def diversity(row: TableRow) -> dict[str, float]:
    """Return a row's means of `DIVERSITY` by signature; only those of one signature measure the same."""
    return {signature: value.mean for (name, signature), value in row.found.items()
            if name == DIVERSITY and value.mean is not None}  # fmt: skip


def keep_matched(rows: Sequence[TableRow]) -> list[TableRow]:
    """Of a sweep of decodings keep, for each row it is to meet, the one nearest in `DIVERSITY`; say so in its remark.

    A sweep with nothing to meet is left out.
    """
    kept = [row for row in rows if not matched_method(row)]
    for wanted in kept.copy():
        for signature, goal in diversity(wanted).items() if ":" not in wanted.decoding else ():
            like = [(number, row, diversity(row)) for number, row in enumerate(rows)
                    if matched_method(row) == wanted.method and row.backbone == wanted.backbone
                    and row.seeds == wanted.seeds]  # fmt: skip
            sweep = [(abs(found[signature] - goal), row.decoding, number, found[signature])
                     for number, row, found in like if signature in found]  # fmt: skip
            if not sweep:
                continue
            _, decoding, number, met = min(sweep)
            nearest = rows[number]
            said = (f"{decoding} is the nearest to {wanted.method} {wanted.decoding} in {DIVERSITY}: "
                    f"{met:.1f} to {goal:.1f}")  # fmt: skip
            nearest.remark = "; ".join(filter(None, [nearest.remark, said]))
            if nearest not in kept:
                kept.append(nearest)
    return kept
