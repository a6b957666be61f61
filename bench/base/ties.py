"""Ties: settings that a few shortened trainings cannot tell apart by their validation loss."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["MOST", "TIE", "tied"]

TIE = 0.01
"""Nats per target token: two settings nearer to each other than this are alike. Another seed moves a loss as much."""

MOST = 3
"""Settings of one method that are held to be tied, at most."""


def tied(losses: Sequence[float | None]) -> list[int]:
    """Return the places of the losses within a tie of the lowest, in their own order; none where one has won clearly.

    Of losses that are exactly equal the first stands for all: as far as they went, their setting has changed nothing.

    Args:
        losses: nats per target token; None for a setting that has none, as after a diverged training.

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
