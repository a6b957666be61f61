"""Checkpoints: parameters and buffers as safetensors, loaded only where their hash is right."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save

from bench.base.keys import sha256
from bench.errors import StoreError, UsageError
from bench.models.core.objective import Objective
from bench.store.store import CellFolder


def save_checkpoint(objective: Objective) -> bytes:
    """Return parameters and buffers as safetensors: shared tensors once, no frozen weights below adapters."""
    frozen = objective.frozen_weights
    seen: set[int] = set()
    kept = {}
    for name, tensor in objective.state_dict().items():
        if name in frozen:
            continue
        if tensor.data_ptr() not in seen or tensor.numel() == 0:
            seen.add(tensor.data_ptr())
            kept[name] = tensor.detach().cpu().contiguous()
    return save(kept)


def load_verified(folder: CellFolder, content: dict[str, Any]) -> dict[str, torch.Tensor]:
    """Return the tensors of a run whose checkpoint has the stored hash.

    Raises:
        StoreError: when it is missing or damaged.
    """
    digest = content["model"]["checkpoint_sha256"]
    path, again = folder.checkpoint(digest), f"remove '{folder.path}' and run the same command again to train it again"
    try:
        data = path.read_bytes()
        if sha256(data) != digest:
            raise StoreError(f"checkpoint '{path}' does not have the hash it was stored with; {again}")
        return load(data)
    except (OSError, SafetensorError) as error:
        raise StoreError(f"checkpoint '{path}' cannot be read ({error}); {again}") from error


def load_checkpoint(objective: Objective, stored: dict[str, torch.Tensor], where: Path) -> None:
    """Load tensors into an objective of the same shape; tied tensors follow the one that was stored.

    Frozen weights below adapters are in no checkpoint and are not changed.

    Raises:
        StoreError: when they are of another model.
    """
    here = objective.state_dict()
    unexpected = [name for name in stored if name not in here]
    unlike = [name for name in stored if name in here and stored[name].shape != here[name].shape]
    missing = [name for name in absent(here, stored) if name not in objective.frozen_weights]
    if unexpected or unlike or missing:
        raise StoreError(
            f"checkpoint in '{where}' is of another model: missing {missing[:3]}, unknown {unexpected[:3]}, of another "
            f"shape {unlike[:3]}"
        )
    objective.load_state_dict(stored, strict=False)


def load_part(objective: Objective, stored: dict[str, torch.Tensor], where: Path) -> bool:
    """Load the tensors that the run of another method shares; return whether parameters or buffers were missing.

    Raises:
        UsageError: when the backbones differ.
    """
    here = objective.state_dict()
    unlike = [name for name, tensor in stored.items() if name in here and here[name].shape != tensor.shape]
    either = {*absent(here, stored), *absent(stored, here)} - objective.frozen_weights
    backbones = [name for name in either if name.startswith("backbone.")]
    if unlike or backbones:
        name = min(unlike or backbones)
        ours, theirs = (list(held[name].shape) if name in held else "nothing" for held in (here, stored))
        raise UsageError(
            f"weights of '{where}' do not fit: '{name}' should be {ours}, it has {theirs}; give both runs the same "
            f"backbone and vocabulary"
        )
    objective.load_state_dict({name: tensor for name, tensor in stored.items() if name in here}, strict=False)
    own = {name for name in here if not name.startswith("backbone.")}
    return bool(own - set(stored))


def absent(here: Mapping[str, torch.Tensor], stored: Mapping[str, torch.Tensor]) -> list[str]:
    """Return the names that are not stored, unless a tensor that they are tied to is stored."""
    tied = {here[name].data_ptr() for name in stored if name in here}
    return [name for name, tensor in here.items() if name not in stored and tensor.data_ptr() not in tied]
