"""Loss truncation: rows that the model finds least likely, which may be noise, are left out of maximum likelihood.

    loss = sum over rows r with m(r) < cut of -log p(r),    m(r) the mean of -log p over the targets of r
    cut  = the 1 - dropped quantile of m over the last `size` rows

Kang and Hashimoto 2020. The functions are in `bench.models.functional.recent_losses`.

Shapes: B batch rows, T positions of a row, n positions of a slice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import torch
from torch import Tensor

from bench.base.options import Positive, Range
from bench.errors import UsageError
from bench.models.backbones.backbone import Backbone
from bench.models.core.chunks import LossSum
from bench.models.core.gathered import gathered
from bench.models.core.head import Head
from bench.models.core.host import to_device
from bench.models.core.objective import Objective
from bench.models.core.states import IGNORED, Rows, States
from bench.models.functional.recent_losses import cut_of, pushed


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
        backbone: any.
        dropped: share of recent rows that is above the cut.
        size: how many losses are kept.
        min_count: how many losses come before the first cut; at least `size`.
        variant: which losses the cut comes from, and when.
    """

    name: ClassVar[str] = "loss_truncation"
    paper: ClassVar[str] = "Kang and Hashimoto 2020"
    equations: ClassVar[tuple[str, ...]] = (
        r"\ell = \sum_{r:\, m(r) < \text{cut}} -\log p(r), \quad m(r) = \frac{1}{|r|} \sum_{t \in r} -\log p(x_t)",
    )
    version: ClassVar[int] = 1
    two_passes: ClassVar[bool] = True

    recent: Tensor  # [size] losses of the last rows, the oldest first; the same on all ranks, as all buffers
    n_seen: Tensor  # int64, how many there were
    n_new: Tensor  # int64, how many since the cut last moved
    cut: Tensor

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
        self.dropped, self.size, self.min_count, self.variant = dropped, size, min_count, variant
        self.batch_invariant = variant == "paper"
        self.register_buffer("recent", torch.zeros(size))
        self.register_buffer("n_seen", torch.zeros((), dtype=torch.int64))
        self.register_buffer("n_new", torch.zeros((), dtype=torch.int64))
        self.register_buffer("cut", torch.tensor(torch.inf))
        self.pending: list[Tensor] = []  # losses of this rank in this step, a tensor each micro-batch
        self.n_too_late = 0  # rows of the last step that came too late for the cut of its own losses
        self.is_dropped: Tensor | None = None  # [B] of the batch whose loss is being summed

    @classmethod
    def check_options(cls, options: Mapping[str, Any]) -> None:
        """Refuse a first cut from fewer losses than are kept."""
        if options["min_count"] < options["size"]:
            raise UsageError(
                f"min_count is at least size, so that a cut comes from size losses; "
                f"got min_count={options['min_count']} and size={options['size']}"
            )

    def training_note(self) -> str | None:
        """That it begins as maximum likelihood, and for how long."""
        return f"maximum likelihood until the losses of {self.min_count:,} rows are known; then rows are left out"

    def remarks(self) -> list[str]:
        """That no row was left out, where the training ended before the first cut, or with it."""
        if not self.dropped:
            return []
        said = "no row was left out, so this is maximum likelihood: "
        if not bool(self.cut.isfinite()):
            return [f"{said}its training saw {int(self.n_seen):,} rows, and the first cut needs {self.min_count:,}"]
        if not self._may_cut(int(self.n_seen) - self.n_too_late):
            return [f"{said}the first cut, which needs {self.min_count:,} rows, came behind the last step"]
        return []

    def _may_cut(self, n_seen: int) -> bool:
        """Whether the first cut has been made once so many rows were seen."""
        return n_seen >= self.min_count and (self.variant == "paper" or n_seen > self.size)

    def head_loss(self, rows: Rows, head: Head) -> tuple[Tensor, dict[str, Tensor]]:
        """-log p of the target, 0 in a row that is dropped, [n]."""
        at_target = head.at(rows.targets)
        nll = head.lse - at_target
        if self.is_dropped is None:
            return nll, {}
        return nll.masked_fill(self.is_dropped[rows.start + rows.group], 0.0), {}

    def loss(self, states: States) -> LossSum:
        """Sum over the targets of rows below the cut."""
        means, cut = self._means(states), self.cut
        if self.training:
            has_target = np.flatnonzero((states.on_host().targets != IGNORED).any(1))
            self.pending.append(means[to_device({"rows": has_target}, means.device)["rows"]])
            if self.variant == "released":
                cut = self._after(torch.cat(self.pending))["cut"]
        self.is_dropped = means >= cut
        try:
            return super().loss(states)
        finally:
            self.is_dropped = None

    def end_of_step(self, reduce: Callable[[Tensor], Tensor]) -> None:
        """Keep the losses of all ranks, and move the cut."""
        if not self.pending:
            return
        new = gathered(self.pending, reduce, *self.rank_and_world())
        self.n_too_late = len(new)
        if self.variant == "released":
            self.n_too_late -= sum(map(len, self.pending))
        for name, value in self._after(new).items():
            getattr(self, name).copy_(value)
        self.pending = []

    def _means(self, states: States) -> Tensor:
        """Mean of -log p over the targets of each row, [B]; 0 for a row without a target."""
        return self.target_nll(states).sum(1) / (states.targets != IGNORED).sum(1).clamp_min(1)

    def _after(self, new: Tensor) -> dict[str, Tensor]:
        """The buffers once new losses are kept."""
        recent, n_seen, n_new = pushed(self.recent, new), self.n_seen + len(new), self.n_new + len(new)
        moves = n_seen >= self.min_count
        if self.variant == "released":
            moves = moves & (n_new > self.size)
        cut = torch.where(moves, cut_of(recent, self.dropped), self.cut)
        return {"recent": recent, "n_seen": n_seen, "n_new": torch.where(moves, 0, n_new), "cut": cut}
