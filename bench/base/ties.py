"""Ties: settings that a few shortened trainings cannot tell apart by their validation likelihood."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["MOST", "TIE", "tied"]

TIE = 0.01
"""Nats per target token: settings that differ by less than this tie, since another seed changes as much."""

MOST = 3
"""Settings of one method that tie, at most."""


def tied(losses: Sequence[float | None]) -> list[int]:
    """Return the places of the losses that tie with the lowest, in their own order; none where one is clearly lowest.

    Of losses that are exactly equal only the first counts: there the setting has changed nothing so far.

    Args:
        losses: negative log-likelihoods in nats per target token; None for a setting that has none, as after a diverged
            training.

    >>> tied([5.111, 5.425, 5.105])
    [0, 2]
    >>> tied([5.2, 5.0, None]), tied([5.0, 5.0])
    ([], [])
    """
    places: dict[float, int] = {}
    for place, loss in enumerate(losses):
        if loss is not None:
            places.setdefault(loss, place)
    order = sorted(places)
    near = [places[loss] for loss in order if loss - order[0] < TIE][:MOST]
    if len(near) < 2:
        return []
    return sorted(near)
