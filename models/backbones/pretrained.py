"""Pretrained: where weights are from, which commit of a hub repository that is, and the hash of converted tensors.

A branch such as `main` moves. So the commit is settled when a repository is first downloaded, and stays the one of the
cache from then on; configuration, tokenizer and weights are all loaded at it.
"""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from bench.base.network import cached_folder, hub_reachable, is_commit, within
from bench.errors import DataError
from bench.models.backbones import BACKBONES

ANSWER_S = 12.0
"""Seconds in which the hub must answer for the commit of a branch or a configuration; after them the cache is read."""


@dataclass(frozen=True)
class Pretrained:
    """Where the weights of a backbone are from.

    Args:
        repository: hub id; empty for a folder.
        revision: the branch, tag or commit of the settings; empty for a folder.
        commit: the commit that the revision stands for; empty for a folder, and where neither the cache nor the hub
            names it.
    """

    repository: str = ""
    revision: str = ""
    commit: str = ""

    @property
    def load_at(self) -> str:
        """The revision to load."""
        return self.commit or self.revision

    def as_dict(self) -> dict[str, str]:
        """Return it as plain content."""
        return {"repository": self.repository, "revision": self.revision, "commit": self.commit}


def resolved(repository: str, revision: str) -> Pretrained:
    """Settle the commit of a revision: the one in the cache, else the one that the hub names now.

    Args:
        repository: hub id, or a folder, which has neither revision nor commit.
        revision: a branch, a tag or a commit.
    """
    if Path(repository).is_dir():
        return Pretrained()
    if is_commit(revision):
        return Pretrained(repository, revision, revision)
    folder = cached_folder(repository, revision)
    commit = folder.name if folder else ""
    if not commit and hub_reachable():
        commit = _named_commit(repository, revision)
    return Pretrained(repository, revision, commit)


def _named_commit(repository: str, revision: str) -> str:
    """Return the commit that the hub names, or nothing: the download that follows ends with the error."""
    from huggingface_hub import HfApi

    try:
        info = within(ANSWER_S, lambda: HfApi().model_info(repository, revision=revision, timeout=ANSWER_S))
    except (OSError, ValueError):  # TimeoutError and all of the hub's own errors are among these
        return ""
    return str(info.sha)


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


def check_tensors(name: str, file: Path) -> None:
    """Refuse converted weights that are not the pinned ones: results of two machines would not be comparable.

    Raises:
        DataError: naming both hashes.
    """
    pinned = BACKBONES[name].tensors_sha256 if name in BACKBONES else ""
    found = tensors_sha256(file)
    if pinned and found != pinned:
        raise DataError(
            f"{name}: the converted tensors in '{file}' have the hash {found[:12]}, expected {pinned[:12]}; remove "
            f"their folder if it is there, and run bench models get {name} again, with other versions of transformers "
            f"and gguf"
        )
