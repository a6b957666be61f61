"""Checkpoints: public models found on this machine, refused where weights are missing, named without a path.

A checkpoint is a folder, or the id of a hub repository that is in the cache; nothing is downloaded. `from_pretrained`
gives what a checkpoint lacks random weights and goes on, so whoever loads one asks `refuse_lacking` what was missing.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

__all__ = [
    "NoVerifier",
    "device_of",
    "find",
    "lacking",
    "loading",
    "named",
    "provenance",
    "refuse_lacking",
    "shown",
]


class NoVerifier(Exception):
    """Rows cannot be judged: the model or something in the rows is missing. The message says what, for the table."""


def find(checkpoint: str) -> Path:
    """Return the folder of a checkpoint: itself, or the hub's copy in the cache.

    Raises:
        NoVerifier: it is neither; nothing is downloaded.
    """
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    if (Path(checkpoint) / "config.json").is_file():
        return Path(checkpoint)
    try:
        config = try_to_load_from_cache(checkpoint, "config.json")
    except HFValidationError:
        config = None
    if not isinstance(config, str):
        raise NoVerifier(f"needs {shown(checkpoint)}: bench doctor")
    return Path(config).parent


def named(checkpoint: str | None, variable: str, default: str = "") -> str:
    """Return the checkpoint that was asked for: the argument, or what an environment variable names, or the default."""
    return checkpoint or os.environ.get(variable) or default


@contextmanager
def loading(checkpoint: str) -> Iterator[None]:
    """Turn what `transformers` says of a checkpoint that cannot be read into one line.

    Raises:
        NoVerifier: in place of what was raised inside.
    """
    try:
        yield
    except (OSError, ValueError, RuntimeError, KeyError) as error:
        why = " ".join(str(error).split())[:120]
        raise NoVerifier(f"{shown(checkpoint)} does not load ({type(error).__name__}: {why}): bench doctor") from error


def lacking(info: Mapping[str, Any]) -> list[str]:
    """Return which weights were not in a checkpoint, or had another shape, from `output_loading_info`.

    >>> lacking({"missing_keys": ["b", "a"], "mismatched_keys": [], "unexpected_keys": ["c"]})
    ['a', 'b']
    """
    return sorted({str(key) for key in [*info["missing_keys"], *info["mismatched_keys"]]})


def refuse_lacking(checkpoint: str, weights: Sequence[str]) -> None:
    """Raise NoVerifier where a checkpoint lacks weights."""
    if weights:
        raise NoVerifier(f"{shown(checkpoint)} lacks {len(weights)} weights, such as {weights[0]}: bench doctor")


def device_of(device: str | None) -> torch.device:
    """Return the device that was asked for, by default the GPU if there is one."""
    if not device and torch.cuda.is_available():
        device = "cuda"
    return torch.device(device or "cpu")


def provenance(checkpoint: str, folder: Path) -> dict[str, str]:
    """Say what was loaded without its path: `checkpoint`, `revision` or a hash of the `weights`, and of the `config`.

    Args:
        checkpoint: as it was asked for.
        folder: what `find` returned for it.
    """
    config = {"config": hashlib.sha256((folder / "config.json").read_bytes()).hexdigest()[:12]}
    if folder.parent.name == "snapshots":
        return {"checkpoint": shown(checkpoint), "revision": folder.name[:12], **config}
    digest = hashlib.sha256()
    for path in sorted([*folder.glob("*.safetensors"), *folder.glob("*.bin")]):
        with path.open("rb") as file:
            while block := file.read(1 << 24):
                digest.update(block)
    return {"checkpoint": shown(checkpoint), "weights": digest.hexdigest()[:12], **config}


def shown(checkpoint: str) -> str:
    """Return a checkpoint's name for people; of a folder its last part only, so that no path gets into a result.

    >>> shown("nobody/encoder"), shown("somewhere/on/disk/encoder")
    ('nobody/encoder', 'encoder')
    """
    if Path(checkpoint).is_dir() or checkpoint.count("/") > 1:
        return Path(checkpoint).resolve().name
    return checkpoint
