"""Recent losses: the last so many losses of rows, and the quantile of them from which on a row is left out.

Kang and Hashimoto 2020, loss truncation.

Shapes: S losses are kept, R are new.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

__all__ = ["RecentLosses", "cut_of", "pushed"]


class RecentLosses(nn.Module):
    """The losses of the last rows and the cut from them, as buffers: a training that is resumed goes on from them.

    Args:
        size: S, how many losses are kept.
        dropped: share of them that is above the cut.
        min_count: how many losses come before the first cut.
        renewed: whether the cut moves when more than `size` losses are new; else with all that are kept.
    """

    losses: Tensor  # [S], the oldest first
    n_seen: Tensor  # int64, how many there were
    n_new: Tensor  # int64, how many since the cut last moved
    cut: Tensor  # infinite before the first one

    def __init__(self, size: int, dropped: float, min_count: int, renewed: bool) -> None:
        super().__init__()
        self.size, self.dropped, self.min_count, self.renewed = size, dropped, min_count, renewed
        self.register_buffer("losses", torch.zeros(size))
        self.register_buffer("n_seen", torch.zeros((), dtype=torch.int64))
        self.register_buffer("n_new", torch.zeros((), dtype=torch.int64))
        self.register_buffer("cut", torch.tensor(torch.inf))

    def after(self, new: Tensor) -> dict[str, Tensor]:
        """Return the buffers once new losses are kept.

        Args:
            new: `[R]`, in order.
        """
        losses, n_seen, n_new = pushed(self.losses, new), self.n_seen + len(new), self.n_new + len(new)
        moves = n_seen >= self.min_count
        if self.renewed:
            moves = moves & (n_new > self.size)
        cut = torch.where(moves, cut_of(losses, self.dropped), self.cut)
        return {"losses": losses, "n_seen": n_seen, "n_new": torch.where(moves, 0, n_new), "cut": cut}

    def keep(self, new: Tensor) -> None:
        """Keep new losses, `[R]`."""
        for name, value in self.after(new).items():
            getattr(self, name).copy_(value)

    def has_cut(self, n_seen: int) -> bool:
        """Return whether the first cut has been made once so many losses were seen."""
        return n_seen >= self.min_count and (not self.renewed or n_seen > self.size)


def pushed(recent: Tensor, new: Tensor) -> Tensor:
    """Put new losses behind the kept ones, and drop as many of the oldest.

    Args:
        recent: `[S]`, the oldest first.
        new: `[R]`, in order.

    Returns:
        `[S]`.

    >>> pushed(torch.tensor([1.0, 2.0, 3.0]), torch.tensor([4.0]))
    tensor([2., 3., 4.])
    """
    return torch.cat([recent, new.to(recent)])[-len(recent) :]


def cut_of(recent: Tensor, dropped: float) -> Tensor:
    """The loss that a share `dropped` of the kept ones reaches: their 1 - dropped quantile, linear between two losses.

    Args:
        recent: `[S]`.
        dropped: at least 0 and below 1.

    Returns:
        A scalar; infinite where nothing is dropped.

    >>> cut_of(torch.tensor([4.0, 1.0, 3.0, 2.0, 5.0]), 0.25)
    tensor(4.)
    """
    if dropped == 0:
        return recent.new_full((), torch.inf)
    return recent.to(torch.promote_types(recent.dtype, torch.float32)).quantile(1 - dropped)
