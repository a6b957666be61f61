"""mle.cache and mle.knn: a trained model mixed with what it reads from remembered states. Nothing is trained.

A trained cache has to be better than this: the same model with a memory that no training prepared. The mixture is in
`bench.models.functional.interpolation`. Its two numbers, lam and sharpness, are the best of a grid on validation text;
lam = 0, the model alone, is on the grid.

Shapes: n positions of a slice, V vocabulary, M entries, N keys, k neighbours, D width of a state.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar

import torch
from torch import Tensor

from bench.base.options import Range
from bench.errors import UsageError
from bench.models.core.continuations import MOST_TARGETS, rows_from_everywhere
from bench.models.core.objective import Objective
from bench.models.core.states import TokenSlice, slices
from bench.models.functional.interpolation import interpolated, nearest_keys, shares_of, spread

if TYPE_CHECKING:
    from bench.models.backbones.backbone import Backbone, Batch


Entries = tuple[Tensor, Tensor, Tensor]
"""Scores, tokens and whether they may be read, [n, M] each."""

WEIGHTS = (0.0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
"""lam that is tried."""


class Interpolated(Objective):
    """A trained model, mixed with what `entries` remembers."""

    parent = "mle"
    training_free = True
    sharpnesses: ClassVar[tuple[float, ...]]

    chosen: Tensor  # [2]: lam and sharpness; lam is 0 until `after_training` has chosen

    def __init__(self, backbone: Backbone) -> None:
        super().__init__(backbone)
        self.register_buffer("chosen", torch.tensor([0.0, 1.0]))

    @abstractmethod
    def entries(self, tokens: TokenSlice) -> Entries:
        """Return what each position may read."""

    def log_probs(self, tokens: TokenSlice) -> Tensor:
        """Logarithm of P, [n, V]."""
        return self._mixed(tokens)[2]

    def components(self, tokens: TokenSlice) -> dict[str, Tensor]:
        """Logarithms of (1 - lam) p, lam q and their sum, [n, V] each; with lam = 0 nothing is remembered."""
        of_model, of_entries, mixed = self._mixed(tokens)
        weights = (of_entries.sum(1, keepdim=True) > 0) * self.chosen[0].to(of_model)
        return {"head": (1 - weights).log() + of_model, "cache": weights.log() + of_entries.log(), "full": mixed}

    def _mixed(self, tokens: TokenSlice) -> tuple[Tensor, Tensor, Tensor]:
        """Return log p, q and log P, [n, V] each; q is 0 where nothing may be read."""
        of_model = super().log_probs(tokens)
        scores, ids, readable = self.entries(tokens)
        weight, sharpness = self.chosen.to(of_model)
        shares = shares_of(scores.to(of_model), readable, sharpness)
        of_entries = spread(shares, ids, of_model.shape[1])
        return of_model, of_entries, interpolated(of_model, of_entries, weight, readable.any(1))

    def after_training(self, train: Sequence[Batch], valid: Sequence[Batch]) -> dict[str, float]:
        """Choose lam and sharpness by the likelihood of validation text; ties go to the smaller ones.

        Where there are more than `MOST_TARGETS` targets, batches from everywhere in it are read.

        Returns:
            Both numbers, `at_edge` (whether one of them is the last that was tried, so that the best may lie beyond),
            the targets that were read, and their nats with and without what is remembered.
        """
        sums = torch.zeros(len(self.sharpnesses), len(WEIGHTS), dtype=torch.float64, device=self.chosen.device)
        n_targets = 0
        for tokens in rows_from_everywhere(self, valid, MOST_TARGETS):
            sums += self._log_likelihoods(tokens)
            n_targets += len(tokens)
        sums = sums.cpu()
        best = int(sums.argmax())
        weight, sharpness = WEIGHTS[best % len(WEIGHTS)], self.sharpnesses[best // len(WEIGHTS)]
        self.chosen.copy_(torch.tensor([weight, sharpness]))
        is_last = weight == WEIGHTS[-1] or sharpness in (self.sharpnesses[0], self.sharpnesses[-1])
        found: dict[str, float] = {"weight": weight, "sharpness": sharpness, "at_edge": weight > 0 and is_last}
        if n_targets:
            alone = sums[0, WEIGHTS.index(0.0)]
            found |= {"nll_alone": -float(alone) / n_targets, "nll": -float(sums.flatten()[best]) / n_targets}
        return {**found, "targets": n_targets}

    def _log_likelihoods(self, tokens: TokenSlice) -> Tensor:
        """Return the log-likelihood of a slice's targets for every setting of the grid, summed, float64."""
        of_model = super().log_probs(tokens).gather(1, tokens.targets[:, None]).squeeze(1)  # [n]
        scores, ids, readable = self.entries(tokens)
        has_entries, holds_target = readable.any(1), ids == tokens.targets[:, None]
        sums = []
        for sharpness in self.sharpnesses:
            shares = shares_of(scores.to(of_model), readable, sharpness)
            of_entries = (shares * holds_target).sum(1)
            for weight in WEIGHTS:
                sums.append(interpolated(of_model, of_entries, weight, has_entries).double().sum())
        return torch.stack(sums).view(len(self.sharpnesses), len(WEIGHTS))


class MLECache(Interpolated):
    """The continuous cache over a row's own memory: control of TRIME and HistAlign.

    Source: Grave et al. 2017, eq. 3 and 4 with the linear interpolation of section 3. Their cache crosses the rows of a
    text; here it is the memory of one row, as TRIME's and HistAlign's are, so that what is compared is the training
    alone. With theta = 1 / sqrt(D) and one softmax in place of the interpolation it is eq. 3 of HistAlign.
    `sharpnesses` are theta times sqrt(D).
    """

    name = "mle.cache"
    equations = (
        r"P(w) = (1 - \lambda)\, p(w) + \lambda\, q(w)",
        r"q(w) \propto \sum_{i:\, m_i = w} e^{\theta\, h^\top h_i}",
    )
    version = 2
    sharpnesses = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)

    def entries(self, tokens: TokenSlice) -> Entries:
        """Scaled products with the states of the memory, its tokens, and which of them may be read, [n, M] each."""
        return tokens.similarity(), tokens.memory_tokens, tokens.readable


DISTANCES = 2**26
"""Distances that are held at once: 256 MB."""

SCALE_TARGETS = 2_000
"""Targets of validation text over which the mean squared distance is taken."""


class MLEKNN(Interpolated):
    """kNN-LM over training states: control of what reads more than its own parameters.

    Source: Khandelwal et al. 2020, eq. 2 and 3. The datastore is made between training and evaluation: the state before
    each training target is a key, the target its value. Theirs holds every target (103 million) and takes the input of
    the last feed-forward layer as key; here it holds at most `keys` targets, those of batches evenly spread over the
    training text, and the key is the state that the head reads, which every backbone has.

    States of one model are a hundred times as far from each other as those of another. So the temperature is tried
    relative to what is near in this one: `sharpnesses` are the mean squared distance of the k nearest keys over the
    temperature. At the first of them all neighbours count about alike, at the last one hardly any but the nearest.

    Args:
        keys: most entries of the datastore.
        k: neighbours that are read.
    """

    name = "mle.knn"
    equations = (
        r"P(w) = (1 - \lambda)\, p(w) + \lambda\, q(w)",
        r"q(w) \propto \sum_{i \in N_k:\, v_i = w} e^{-|h - h_i|^2 / T}",
    )
    version = 2
    uses_token_counts = True
    sharpnesses = (0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)

    counts: Tensor  # [V] of each token as a training target; a checkpoint alone knows by it how many keys there are
    keys: Tensor  # [N, D] float16
    values: Tensor  # [N] token behind each key, -1 for a place that is empty
    mean_distance: Tensor  # [] squared, of the nearest keys over validation text
    searched: Tensor  # [N, D] float32, the keys of filled places less their mean; distances do not change with it
    norms: Tensor  # [N] squared norms of these
    tokens: Tensor  # [N] token behind each of these
    mean: Tensor  # [D] of the keys

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
        self.register_load_state_dict_post_hook(MLEKNN.index)

    def prepare(self, counts: Tensor) -> None:
        """Make room for a key of each training target, or for as many as there may be."""
        n, width = min(self.most_keys, int(counts.sum())), self.backbone.embedding().shape[1]
        self.register_buffer("counts", counts.clone())
        self.register_buffer("keys", torch.zeros(n, width, dtype=torch.float16))
        self.register_buffer("values", torch.full((n,), -1))
        for name in ("searched", "norms", "tokens", "mean"):
            self.register_buffer(name, None, persistent=False)
        self.index()

    def index(self, *unused: object) -> None:
        """Make what is searched of the places that are filled; also called after weights were loaded."""
        is_filled = self.values >= 0
        searched = self.keys[is_filled].float()
        self.mean, self.tokens = searched.mean(0), self.values[is_filled]
        searched -= self.mean
        self.searched, self.norms = searched, searched.square().sum(1)

    def entries(self, tokens: TokenSlice) -> Entries:
        """Minus the relative squared distances of the k nearest keys, and their values, [n, k] each; all are read."""
        distances, ids = self.nearest(tokens)
        return -distances / self.mean_distance, ids, torch.ones_like(ids, dtype=torch.bool)

    def nearest(self, tokens: TokenSlice) -> tuple[Tensor, Tensor]:
        """Squared distances of the k nearest keys that are filled, and their values, [n, k] each."""
        at_once = max(1, DISTANCES // max(1, len(tokens)))
        states = tokens.hidden.float() - self.mean
        distances, found = nearest_keys(states, self.searched, self.k, at_once, self.norms)
        return distances, self.tokens[found]

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
        self.index()
        return n_keys
