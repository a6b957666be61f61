"""Recent losses: the last so many losses of rows, and the quantile of them from which on a row is left out.

Kang and Hashimoto 2020, loss truncation.

Shapes: S losses are kept, R are new.
"""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["cut_of", "pushed"]


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
