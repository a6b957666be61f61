"""mle.knn: nearest neighbours among training states, on a model that maximum likelihood has trained.

    P(w) = (1 - lam) p(w) + lam q(w),    q(w) ~ sum over the k nearest keys i that hold w of exp(-|h - h_i|^2 / T)

Khandelwal et al. 2020 (kNN-LM), their eq. 2 and 3. The datastore is made between training and evaluation: the state
before each training target is a key, the target its value. Theirs holds every target (103 million) and takes the input
of the last feed-forward layer as key; here it holds at most `keys` targets, those of batches evenly spread over the
training text, and the key is the state that the head reads, which every backbone has.

Shapes: n positions of a slice, N keys, k neighbours, D width of a state.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, ClassVar

import torch
from torch import Tensor

from bench.base.options import Range
from bench.models.core.states import Rows, slices
from bench.models.functional.interpolation import nearest_keys
from bench.models.interpolated import Entries, Interpolated

if TYPE_CHECKING:
    from bench.models.backbones.backbone import Backbone, Batch


class MLEKNN(Interpolated):
    """kNN-LM over training states: control of what reads more than its own parameters.

    Source: Khandelwal et al. 2020, section 2. `sharpnesses` are one over the temperature.

    Args:
        backbone: any.
        keys: most entries of the datastore.
        k: neighbours that are read.
    """

    name: ClassVar[str] = "mle.knn"
    paper: ClassVar[str] = "Khandelwal et al. 2020"
    version: ClassVar[int] = 1
    uses_token_counts: ClassVar[bool] = True
    sharpnesses: ClassVar[tuple[float, ...]] = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)

    keys: Tensor  # [N, D] float16
    values: Tensor  # [N] token behind each key, -1 for a place that is empty

    def __init__(
        self,
        backbone: Backbone,
        *,
        keys: Annotated[int, Range(1, 200_000)] = 200_000,
        k: Annotated[int, Range(1)] = 1024,
    ) -> None:
        super().__init__(backbone)
        self.most_keys, self.k = keys, k

    def prepare(self, counts: Tensor) -> None:
        """Make room for a key of each training target, or for as many as there may be."""
        self.n_targets = int(counts.sum())
        n, width = min(self.most_keys, self.n_targets), self.backbone.embedding().shape[1]
        self.register_buffer("keys", torch.zeros(n, width, dtype=torch.float16))
        self.register_buffer("values", torch.full((n,), -1))

    def entries(self, rows: Rows) -> Entries:
        """Minus the squared distances of the k nearest keys, their values, and whether they are any, [n, k] each."""
        states = rows.hidden.float()
        distances, found = nearest_keys(states, self.keys, self.k)
        tokens = self.values[found]
        return -distances, tokens.clamp_min(0), tokens >= 0

    def after_training(self, train: Iterable[Batch], valid: Iterable[Batch]) -> dict[str, float]:
        """Fill the datastore from training text, then choose weight and temperature on validation text."""
        room = len(self.values)
        share = room / max(1, self.n_targets)  # of the batches that are read, so that long texts take no longer
        filled = 0
        for number, batch in enumerate(train):
            if math.ceil((number + 1) * share) == math.ceil(number * share) or filled == room:
                continue
            for rows in slices(self.states(batch)):
                n = min(len(rows), room - filled)
                self.keys[filled : filled + n] = rows.hidden[:n].to(self.keys.dtype)
                self.values[filled : filled + n] = rows.targets[:n]
                filled += n
        return {"keys": filled, **super().after_training(train, valid)}
