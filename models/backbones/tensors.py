"""The hash of a model's tensors: what pins weights that are converted on each machine."""

from __future__ import annotations

import hashlib
from pathlib import Path

__all__ = ["tensors_sha256"]


def tensors_sha256(file: Path) -> str:
    """Return the SHA-256 of the tensors of a safetensors file, in the order of their names.

    Name, type, shape and bytes of each tensor enter. The file's own header does not: libraries write it differently.
    """
    import torch
    from safetensors import safe_open

    digest = hashlib.sha256()
    with safe_open(file, framework="pt") as opened:
        for name in sorted(opened.keys()):
            tensor = opened.get_tensor(name)
            digest.update(f"{name} {tensor.dtype} {list(tensor.shape)}\n".encode())
            digest.update(tensor.contiguous().reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()
