"""mle.knn: nearest neighbours among training states, on a model that maximum likelihood has trained.

    P(w) = (1 - lam) p(w) + lam q(w),    q(w) ~ sum over the k nearest keys i that hold w of exp(-|h - h_i|^2 / T)

Khandelwal et al. 2020 (kNN-LM), their eq. 2 and 3. The datastore is made between training and evaluation: the state
before each training target is a key, the target its value. Theirs holds every target (103 million) and takes the input
of the last feed-forward layer as key; here it holds at most `keys` targets, those of batches evenly spread over the
training text, and the key is the state that the head reads, which every backbone has.

States of one model are a hundred times as far from each other as those of another. So T is tried relative to what is
near in this one: T = m / sharpness, with m the mean squared distance of the k nearest keys over validation text.

Shapes: n positions of a slice, N keys, k neighbours, D width of a state.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

import torch
from torch import Tensor

from bench.base.options import Range
from bench.errors import UsageError
from bench.models.core.continuations import rows_from_everywhere
from bench.models.core.states import TokenSlice, slices
from bench.models.functional.interpolation import nearest_keys
from bench.models.interpolated import Entries, Interpolated
from bench.models.mle_decoded import Derived

if TYPE_CHECKING:
    from bench.models.backbones.backbone import Backbone, Batch

DISTANCES = 2**26
"""Distances that are held at once: 256 MB."""

SCALE_TARGETS = 2_000
"""Targets of validation text over which the mean squared distance is taken."""


@dataclass(frozen=True)
class Datastore:
    """The places of a datastore that are filled, as a search wants them; distances do not change with the mean.

    Args:
        keys: [N, D] float32, less their mean, which would cancel.
        norms: [N] squared norms of these.
        values: [N] token behind each key.
        mean: [D] of the keys.
    """

    keys: Tensor
    norms: Tensor
    values: Tensor
    mean: Tensor


def filled_places(keys: Tensor, values: Tensor) -> Datastore:
    """Return what is filled of a datastore.

    Args:
        keys: [N, D], any floating dtype.
        values: [N], -1 for a place that is empty.
    """
    is_filled = values >= 0
    found = keys[is_filled].float()
    mean = found.mean(0)
    found -= mean
    return Datastore(found, found.square().sum(1), values[is_filled], mean)


class MLEKNN(Interpolated):
    """kNN-LM over training states: control of what reads more than its own parameters.

    Source: Khandelwal et al. 2020, section 2. `sharpnesses` are the mean squared distance over the temperature: at the
    first of them all neighbours count about alike, at the last one hardly any but the nearest.

    Args:
        backbone: any.
        keys: most entries of the datastore.
        k: neighbours that are read.
    """

    name: ClassVar[str] = "mle.knn"
    paper: ClassVar[str] = "Khandelwal et al. 2020"
    equations: ClassVar[tuple[str, ...]] = (
        r"P(w) = (1 - \lambda)\, p(w) + \lambda\, q(w)",
        r"q(w) \propto \sum_{i \in N_k:\, v_i = w} e^{-|h - h_i|^2 / T}",
    )
    version: ClassVar[int] = 2
    uses_token_counts: bool = True
    sharpnesses: ClassVar[tuple[float, ...]] = (0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)

    counts: Tensor  # [V] of each token as a training target; a checkpoint alone knows by it how many keys there are
    keys: Tensor  # [N, D] float16
    values: Tensor  # [N] token behind each key, -1 for a place that is empty
    mean_distance: Tensor  # [] squared, of the nearest keys over validation text

    def __init__(
        self,
        backbone: Backbone,
        *,
        keys: Annotated[int, Range(1, 200_000)] = 200_000,
        k: Annotated[int, Range(1)] = 1024,
    ) -> None:
        super().__init__(backbone)
        self.most_keys, self.k = keys, k
        self.register_buffer("mean_distance", torch.tensor(1.0))
        self._datastore = Derived(filled_places)

    def prepare(self, counts: Tensor) -> None:
        """Make room for a key of each training target, or for as many as there may be."""
        n, width = min(self.most_keys, int(counts.sum())), self.backbone.embedding().shape[1]
        self.register_buffer("counts", counts.clone())
        self.register_buffer("keys", torch.zeros(n, width, dtype=torch.float16))
        self.register_buffer("values", torch.full((n,), -1))

    def entries(self, tokens: TokenSlice) -> Entries:
        """Minus the relative squared distances of the k nearest keys, and their values, [n, k] each; all are read."""
        distances, ids = self.nearest(tokens)
        return -distances / self.mean_distance, ids, torch.ones_like(ids, dtype=torch.bool)

    def nearest(self, tokens: TokenSlice) -> tuple[Tensor, Tensor]:
        """Squared distances of the k nearest keys that are filled, and their values, [n, k] each."""
        datastore = self._datastore.of(self.keys, self.values)
        states = tokens.hidden.float() - datastore.mean
        at_once = max(1, DISTANCES // max(1, len(tokens)))
        distances, found = nearest_keys(states, datastore.keys, self.k, at_once, datastore.norms)
        return distances, datastore.values[found]

    def after_training(self, train: Sequence[Batch], valid: Sequence[Batch]) -> dict[str, float]:
        """Fill the datastore from training text, then choose weight and temperature on validation text.

        Raises:
            UsageError: a state is too large for a key.
        """
        n_keys = self._fill(train)
        total = torch.zeros((), dtype=torch.float64, device=self.keys.device)
        n_distances = 0
        for tokens in rows_from_everywhere(self, valid, SCALE_TARGETS):
            distances, _ = self.nearest(tokens)
            total += distances.double().sum()
            n_distances += distances.numel()
        mean = float(total) / max(1, n_distances)
        if mean > 0:  # else every neighbour is the state itself
            self.mean_distance.fill_(mean)
        found = super().after_training(train, valid)
        return {"keys": n_keys, "mean_squared_distance": mean, **found}

    def _fill(self, train: Sequence[Batch]) -> int:
        """Fill the datastore with the states of as many batches as it has room for; return how many keys it has."""
        n_most = len(self.values)
        share = n_most / max(1, int(self.counts.sum()))  # of the batches
        self.values.fill_(-1)
        n_keys = 0
        for number in range(len(train)):
            if n_keys == n_most:
                break
            if math.ceil((number + 1) * share) == math.ceil(number * share):
                continue
            for tokens in slices(self.states(train[number]), self.slice_size):
                n = min(len(tokens), n_most - n_keys)
                self.keys[n_keys : n_keys + n] = tokens.hidden[:n].to(self.keys.dtype)
                self.values[n_keys : n_keys + n] = tokens.targets[:n]
                n_keys += n
        if not bool(self.keys.isfinite().all()):
            raise UsageError(
                f"{self.name} keeps states as {str(self.keys.dtype).removeprefix('torch.')}, which holds numbers up to "
                f"{torch.finfo(self.keys.dtype).max:,.0f}; a state of this model has larger ones, or none: look at the "
                f"loss of its training, take a backbone whose last layer is normalised, or leave {self.name} out"
            )
        return n_keys
