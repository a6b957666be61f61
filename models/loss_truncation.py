"""Loss truncation: rows that the model finds least likely, which may be noise, are left out of maximum likelihood.

Shapes: B batch rows, T positions of a row, n positions of a slice; S losses are kept, R are new.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from bench.base.options import Positive, Range
from bench.errors import UsageError
from bench.models.backbones.backbone import Backbone
from bench.models.core.cpu_copy import to_device
from bench.models.core.head import Head
from bench.models.core.objective import Objective
from bench.models.core.sliced_loss import LossSum
from bench.models.core.states import IGNORED, States, TokenSlice
from bench.models.functional.head_losses import nll_of


class LossTruncation(Objective):
    """-log p of the targets of rows whose mean loss is below a quantile of recent rows' losses.

    Source: Kang and Hashimoto 2020; in which section the loss stands is not known here. Read in public copies of the
    authors' class; 10,000 losses are kept there and awaited before the first cut, and 40 % are dropped. Runs here
    are shorter: 1,000. The sum is divided by all targets of the step, those of dropped rows too, as the released
    mean over the batch has zeros for them. The released mean is over rows, of each row's mean; here it is over
    tokens. Before the first cut the loss is maximum likelihood; a training that ends without one says so in its
    record and under its table.

    Variants.

    - `paper`: the cut of a step comes from the steps before it, and moves with each step.
    - `released`: a batch counts before its rows are chosen, and the cut moves when more than `size` losses are new.
      With several ranks or micro-batches each counts its own batch first.

    The paper also rejects texts when it decodes, which is not here. Controls: `mle.min_p` and `mle.typical`, decoders
    that leave out unlikely tokens of a model that was trained on everything.

    Args:
        dropped: share of recent rows that is above the cut.
        size: how many losses are kept.
        min_count: how many losses come before the first cut; at least `size`.
        variant: which losses the cut comes from, and when.
    """

    name = "loss_truncation"
    equations = (
        r"\ell = \sum_{r:\, m(r) < \text{cut}} -\log p(r), \quad m(r) = \frac{1}{|r|} \sum_{t \in r} -\log p(x_t)",
    )
    version = 1
    two_passes = True

    def __init__(
        self,
        backbone: Backbone,
        *,
        dropped: Annotated[float, Range(0, below=1)] = 0.4,
        size: Positive = 1000,
        min_count: Positive = 1000,
        variant: Literal["paper", "released"] = "paper",
    ) -> None:
        super().__init__(backbone)
        self.variant, self.batch_invariant = variant, variant == "paper"
        self.recent = RecentLosses(size, dropped, min_count, renewed=variant == "released")  # the same on all ranks
        self.pending: list[Tensor] = []  # losses of this rank in this step, a tensor each micro-batch
        self.is_dropped: Tensor | None = None  # [B] of the batch whose loss is being summed

    @classmethod
    def check_options(cls, options: Mapping[str, Any]) -> None:
        """Refuse a first cut from fewer losses than are kept."""
        if options["min_count"] < options["size"]:
            raise UsageError(
                f"min_count is at least size, so that a cut comes from size losses; "
                f"got min_count={options['min_count']} and size={options['size']}"
            )

    def remarks(self) -> list[str]:
        """Say so where no row was left out, because training ended before the first cut."""
        recent = self.recent
        if not recent.dropped or bool(recent.cut.isfinite()):
            return []
        return [
            f"no row was left out, so this is maximum likelihood: its training saw {int(recent.n_seen):,} rows, and "
            f"the first cut needs {recent.min_count:,}"
        ]

    def head_loss(self, tokens: TokenSlice, head: Head) -> tuple[Tensor, dict[str, Tensor]]:
        """-log p of the target, 0 in a row that is dropped, [n]."""
        nll = nll_of(head, tokens.targets)
        if self.is_dropped is None:
            return nll, {}
        return nll.masked_fill(self.is_dropped[tokens.start + tokens.group], 0.0), {}

    def loss(self, states: States) -> LossSum:
        """Sum over the targets of rows below the cut."""
        means, cut = self._means(states), self.recent.cut
        if self.training:
            has_target = np.flatnonzero((states.on_cpu().targets != IGNORED).any(1))
            self.pending.append(means[to_device({"rows": has_target}, means.device)["rows"]])
            if self.variant == "released":
                cut = self.recent.after(torch.cat(self.pending))["cut"]
        self.is_dropped = means >= cut
        try:
            return super().loss(states)
        finally:
            self.is_dropped = None

    def end_of_step(self, reduce: Callable[[Tensor], Tensor]) -> None:
        """Keep the losses of all ranks, and move the cut."""
        if not self.pending:
            return
        self.recent.keep(gathered(self.pending, reduce, *self.rank_and_world()))
        self.pending = []

    def _means(self, states: States) -> Tensor:
        """Mean of -log p over the targets of each row, [B]; 0 for a row without a target."""
        return self.target_nll(states).sum(1) / (states.targets != IGNORED).sum(1).clamp_min(1)


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
        losses = torch.cat([self.losses, new.to(self.losses)])[-self.size :]
        n_seen, n_new = self.n_seen + len(new), self.n_new + len(new)
        moves = n_seen >= self.min_count
        if self.renewed:
            moves = moves & (n_new > self.size)
        cut = torch.where(moves, cut_of(losses, self.dropped), self.cut)
        return {"losses": losses, "n_seen": n_seen, "n_new": torch.where(moves, 0, n_new), "cut": cut}

    def keep(self, new: Tensor) -> None:
        """Keep new losses, `[R]`."""
        for name, value in self.after(new).items():
            getattr(self, name).copy_(value)


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


def gathered(parts: Sequence[Tensor], reduce: Callable[[Tensor], Tensor], rank: int, world: int) -> Tensor:
    """Join what each rank has noted, in the order in which one process alone would have noted it.

    A step has as many micro-batches on every rank; the rows of one are shared out over the ranks in order. With one
    rank no device is waited for; with several, each waits for the others.

    Args:
        parts: of this rank, one tensor [any length] for each of its micro-batches; all ranks have as many.
        reduce: sums a tensor over ranks, as `end_of_step` is given it.
        rank, world: this process, and how many there are.

    Returns:
        [total length], the same on every rank.

    >>> gathered([torch.tensor([1.0, 2.0]), torch.tensor([3.0])], lambda tensor: tensor, 0, 1)
    tensor([1., 2., 3.])
    """
    if world == 1:
        return torch.cat(list(parts))
    lengths = torch.zeros(len(parts), world, dtype=torch.int64, device=parts[0].device)
    lengths[:, rank] = torch.tensor([len(part) for part in parts])
    ends = reduce(lengths).flatten().cumsum(0).tolist()  # micro-batch by micro-batch, rank by rank
    joined = parts[0].new_zeros(ends[-1])
    for micro, part in enumerate(parts):
        end = ends[micro * world + rank]
        joined[end - len(part) : end] = part  # each rank writes what no other writes
    return reduce(joined)
