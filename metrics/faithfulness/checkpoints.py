"""Checkpoints: public models on this machine, refused where weights are missing, and named without a path.

A checkpoint is a folder, or the id of a hub repository that is in the cache; nothing is downloaded. `from_pretrained`
gives random values to weights that a checkpoint lacks and goes on, so every loader here calls `check_weights`.
"""

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from bench.metrics.requirements import model_folder, public_name


class NotApplicable(Exception):
    """Rows cannot be scored, because the model or something in the rows is missing; tables show the message."""


def find(checkpoint: str) -> Path:
    """Return the folder of a checkpoint: itself, one that `bench models get` made, or the hub's copy in the cache.

    Raises:
        NotApplicable: it is neither; nothing is downloaded.
    """
    folder = model_folder(checkpoint)
    if folder is None:
        raise NotApplicable(f"needs {public_name(checkpoint)}: bench doctor")
    return folder


@contextmanager
def loading(checkpoint: str) -> Iterator[None]:
    """Turn the error of `transformers` for a checkpoint that cannot be read into one line.

    Raises:
        NotApplicable: in place of the error that was raised inside.
    """
    try:
        yield
    except (OSError, ValueError, RuntimeError, KeyError) as error:
        message = f"{type(error).__name__}: {' '.join(str(error).split())[:120]}"
        raise NotApplicable(f"{public_name(checkpoint)} does not load ({message}): bench doctor") from error


def check_weights(checkpoint: str, info: Mapping[str, Any], unread: tuple[str, ...] = ()) -> None:
    """Refuse a checkpoint in which weights are missing or have another shape.

    Args:
        checkpoint: as the user named it.
        info: what `from_pretrained` returns with `output_loading_info=True`.
        unread: prefixes of the weights that are never read, and may be missing.

    Raises:
        NotApplicable: weights are missing.
    """
    missing = sorted({str(key) for key in [*info["missing_keys"], *info["mismatched_keys"]]})
    missing = [key for key in missing if not key.startswith(unread)]
    if missing:
        raise NotApplicable(
            f"{public_name(checkpoint)} lacks {len(missing)} weights, such as {missing[0]}: bench doctor"
        )


def device() -> torch.device:
    """Return the GPU if there is one, else the CPU."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def provenance(checkpoint: str, folder: Path) -> dict[str, str]:
    """Return what was loaded: `checkpoint`, its `revision` or a hash of its `weights`, and a hash of its `config`.

    Args:
        checkpoint: as the user named it.
        folder: what `find` returned for it.
    """
    config = {"config": hash_of(folder / "config.json")}
    if folder.parent.name == "snapshots":
        return {"checkpoint": public_name(checkpoint), "revision": folder.name[:12], **config}
    weights = hash_of(*sorted([*folder.glob("*.safetensors"), *folder.glob("*.bin")]))
    return {"checkpoint": public_name(checkpoint), "weights": weights, **config}


def hash_of(*paths: Path) -> str:
    """Return the first 12 digits of the SHA-256 of files, one after the other."""
    digest = hashlib.sha256()
    for path in paths:
        with path.open("rb") as file:
            hashlib.file_digest(file, lambda: digest)
    return digest.hexdigest()[:12]


def label_of(checkpoint: str, default: str = "") -> str:
    """Return the suffix of a column: the model's name in brackets, or empty for the default model.

    >>> label_of("owner/encoder", "owner/encoder"), label_of("all-minilm-l6-v2", "owner/encoder")
    ('', '[all-minilm-l6-v2]')
    """
    name = public_name(checkpoint).rpartition("/")[2]
    return "" if name == default.rpartition("/")[2] else f"[{name}]"
