"""Ties: a direction that may be that of a setting, where the side that lost had its setting picked by next to nothing.

Settings are picked among few trials of a share of the training. Two that validation text cannot tell apart may end far
from each other, and the interval over seeds knows nothing of the one that was not taken. A search with a tie
break has repeated them at full length; then that round decides whether one was clearly best.
"""

from __future__ import annotations

from bench.base.ties import TIE
from bench.leaderboards.claim.verdicts import Verdict
from bench.leaderboards.row import TableRow

__all__ = ["margin", "tie"]


def tie(verdict: Verdict) -> str:
    """Return why the direction of a verdict may be that of a setting; nothing where it is not, or is open."""
    if verdict.decision is None or verdict.claim.relation not in ("higher", "lower"):
        return ""
    lost = {"established": verdict.evidence.other, "reversed": verdict.evidence.row}.get(verdict.decision.direction)
    if lost is None:
        return ""
    nats = margin(lost)
    if nats is None or nats >= TIE:
        return ""
    return f"the setting of {lost.method} was picked by {nats:.4f} nats, so the direction may be that of the setting"


def margin(row: TableRow) -> float | None:
    """Return the nats by which a row's setting was picked over the next best; None where fewer than two were tried."""
    losses = sorted(loss for loss in row.tie_break_losses or row.trial_losses if loss is not None)
    if len(losses) < 2:
        return None
    return losses[1] - losses[0]
