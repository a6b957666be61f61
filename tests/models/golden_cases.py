"""Turn a golden case of tests/golden/trime_histalign into the rows that the functions of cache.py and ranking.py take.

Letters: B texts, T positions, M memory entries, V tokens, D width; the n = B*T rows lie text by text.
- Decoder-only: row t predicts input_ids[t+1] (the last row nothing); entry i is state i labelled input_ids[i+1], for
  i < T-1; row t reads the entries i < t whose label is not the pad, and nothing if it predicts the pad itself.
- Encoder-decoder: row t predicts labels[t]; entry k is encoder state k labelled input_ids[k]; all but pads are read.
"""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from bench.models.functional.cache import scaled_similarity
from bench.models.functional.ranking import ranked_hinge
from tools.benchmarks.histalign_ranking import cosine_ranks

FOLDER = Path(__file__).parents[1] / "golden" / "trime_histalign"
INDEX: dict[str, dict[str, Any]] = {case["name"]: case for case in json.loads((FOLDER / "index.json").read_text())}
NAMES = sorted(INDEX)


@dataclass(frozen=True)
class Case:
    """One golden case as rows. ``hidden`` (and ``encoder``) are leaves, so a loss can be differentiated to them."""

    hidden: Tensor  # [B, T, D]
    encoder: Tensor | None  # [B, M, D], encoder-decoder only
    embedding: Tensor  # [V, D]
    logits: Tensor  # [n, V]
    similarity: Tensor  # [n, M]
    memory_tokens: Tensor  # [n, M]
    readable: Tensor  # [n, M]
    targets: Tensor  # [n] negative where there is none
    labelled: Tensor  # [n] the row carries a loss
    margin: float
    alpha: float
    scalars: dict[str, Any]
    expected: dict[str, np.ndarray]

    @property
    def positive(self) -> Tensor:
        """[n, M] readable entries that carry the target."""
        return self.readable & (self.memory_tokens == self.targets[:, None])

    def at_labels(self, *tensors: Tensor) -> list[Tensor]:
        """The rows that carry a loss."""
        return [tensor[self.labelled] for tensor in tensors]

    def ranks(self, scope: str) -> Tensor:
        """Ranks of the rows that carry a loss, over the readable entries (cache) or over all of them (sequence)."""
        targets, tokens, readable = self.at_labels(self.targets, self.memory_tokens, self.readable)
        ranked = readable if scope == "cache" else torch.ones_like(readable)
        return cosine_ranks(targets, tokens, ranked, self.embedding)

    def gradients(self, loss: Tensor) -> dict[str, np.ndarray]:
        """Gradients of a loss by the states, under the names that end the golden arrays."""
        if self.encoder is None:
            return {"grad_hidden": torch.autograd.grad(loss, self.hidden, retain_graph=True)[0].double().numpy()}
        decoder, encoder = torch.autograd.grad(loss, (self.hidden, self.encoder), retain_graph=True)
        return {"grad_dec": decoder.double().numpy(), "grad_enc": encoder.double().numpy()}


@cache
def arrays(name: str) -> dict[str, np.ndarray]:
    """The arrays of one case."""
    with np.load(FOLDER / INDEX[name]["file"]) as file:
        return dict(file)


def load(name: str, dtype: torch.dtype = torch.float64, states: torch.dtype | None = None) -> Case:
    """Read a case; compute in ``dtype``, from states rounded to ``states`` if given."""
    given, params = arrays(name), INDEX[name]["params"]
    tensors = {key: torch.from_numpy(given[key]) for key in given if not key.startswith("as_")}
    for key in tensors.keys() & {"hidden", "dec_hidden", "enc_hidden", "embedding"}:
        tensors[key] = tensors[key].to(states or dtype).to(dtype)
    build = _decoder_only if "hidden" in tensors else _encoder_decoder
    fields = build(tensors, -1 if params["pad_id"] is None else params["pad_id"])
    hidden, memory = fields["hidden"], fields.pop("memory")
    per_row = {key: value.flatten(0, 1) for key, value in fields.items() if key not in ("hidden", "encoder")}
    return Case(
        **per_row,
        hidden=hidden,
        encoder=fields.get("encoder"),
        embedding=tensors["embedding"],
        logits=(hidden @ tensors["embedding"].T).flatten(0, 1),
        similarity=scaled_similarity(hidden, memory).flatten(0, 1),
        margin=params["lam"],
        alpha=params["alpha"],
        scalars=INDEX[name]["scalars"],
        expected={key: value for key, value in given.items() if key.startswith("as_")},
    )


def _decoder_only(given: dict[str, Tensor], pad: int) -> dict[str, Tensor]:
    hidden, following, labels = given["hidden"].requires_grad_(), given["input_ids"][:, 1:], given["labels"][:, 1:]
    batch, steps = given["input_ids"].shape
    past = torch.ones(steps, steps - 1).tril(-1).bool()
    nothing = torch.full((batch, 1), -2)  # neither a token nor the -1 that stands for "no pad"
    targets = torch.cat([following, nothing], 1)
    return {
        "hidden": hidden,
        "memory": hidden[:, :-1],
        "memory_tokens": following[:, None].expand(batch, steps, -1),
        "readable": past & (following != pad)[:, None] & (targets != pad)[:, :, None],
        "targets": targets,
        "labelled": torch.cat([labels != -100, nothing > 0], 1),
    }


def _encoder_decoder(given: dict[str, Tensor], pad: int) -> dict[str, Tensor]:
    tokens, labels = given["input_ids"], given["labels"]
    batch, steps = labels.shape
    encoder = given["enc_hidden"].requires_grad_()
    return {
        "hidden": given["dec_hidden"].requires_grad_(),
        "encoder": encoder,
        "memory": encoder,
        "memory_tokens": tokens[:, None].expand(batch, steps, -1),
        "readable": (tokens != pad)[:, None].expand(batch, steps, -1),
        "targets": labels,
        "labelled": labels != -100,
    }


def hinge_of(
    similarity: Tensor,
    ranks: Tensor,
    positive: Tensor,
    candidates: Tensor,
    margin: float,
    reduction: Literal["sum", "pair_mean"] = "sum",
) -> Tensor:
    """``ranked_hinge`` where any entry may carry the target; ``positive`` is [n, M]."""
    everywhere = torch.arange(similarity.shape[1]).expand_as(candidates)
    return ranked_hinge(similarity, ranks, everywhere, positive, candidates, margin, reduction)
