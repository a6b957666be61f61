"""Requirements: what a metric needs in addition to predictions, and whether this machine has it; nothing is loaded."""

import importlib.util
import os
from dataclasses import dataclass
from importlib.metadata import distributions
from pathlib import Path

from bench.base.machine import cache_root
from bench.base.network import cached_folder

SPACY_SIZES = ("_sm", "_md", "_lg", "_trf")
"""How the names of spaCy's own models end."""


@dataclass(frozen=True)
class Package:
    """An optional package.

    Args:
        name: name to import it by.
        install: command that installs it.
        is_distribution: the name is that of the distribution, and nothing is imported from it.
    """

    name: str
    install: str
    is_distribution: bool = False

    def __str__(self) -> str:
        return f"{self.name} ({self.install})"

    @property
    def is_installed(self) -> bool:
        """Whether it can be imported, or its distribution is installed."""
        if self.is_distribution:
            return any(distributions(name=self.name))
        return importlib.util.find_spec(self.name) is not None


SPACY = Package("spacy", "pip install 'objective-bench[metrics]'")


@dataclass(frozen=True)
class Checkpoint:
    """Weights or a file that an environment variable names, or a copy in the cache of the Hugging Face hub.

    Args:
        variable: environment variable with a folder, a file or a hub id.
        hub: hub ids that are looked for in the cache if the variable is not set.
        holds: what the variable should name.
        model: what `bench models get` calls it; empty for what no public model is.
    """

    variable: str
    hub: tuple[str, ...] = ()
    holds: str = "a folder"
    model: str = ""

    def __str__(self) -> str:
        named = f"{self.variable} naming {self.holds}"
        if self.hub:
            named = f"{self.hub[0]} in the hub cache, or {named}"
        return f"{named}: bench models get {self.model}" if self.model else named

    @property
    def is_installed(self) -> bool:
        """Whether the named file, folder or hub copy is on this machine, or else one of the hub copies."""
        named = os.environ.get(self.variable)
        return any(map(_is_here, [named] if named else self.hub))


@dataclass(frozen=True)
class NamedModel:
    """A model by its name, such as that of `coherence[all-minilm-l6-v2]`, or the spaCy model of a metric.

    Args:
        name: what `bench models get` calls it, a folder, a hub id, or the package of a spaCy model.
        variable: environment variable that names another model in its place.
    """

    name: str
    variable: str = ""

    def __str__(self) -> str:
        if self.name.count("/"):
            return f"{self.name} (expected a folder, or a model in the hub's cache: hf download {self.name})"
        if self.name.endswith(SPACY_SIZES):
            other = f", or {self.variable} naming another" if self.variable else ""
            return f"a spaCy model (python -m spacy download {self.name}{other})"
        return f"{self.name} (bench models get {self.name}, or an installed spaCy package of this name)"

    @property
    def is_installed(self) -> bool:
        """Whether it, or the one that the variable names, lies on this machine or is an installed package."""
        name = os.environ.get(self.variable) or self.name
        if model_folder(name) is not None:
            return True
        return name.isidentifier() and importlib.util.find_spec(name) is not None


Requirement = Package | Checkpoint | NamedModel


def describe(requirements: tuple[Requirement, ...]) -> str:
    """Return a sentence part that names the requirements.

    >>> describe((Package("spacy", "pip install spacy"), Checkpoint("BENCH_X", ("owner/x",))))
    'spacy (pip install spacy); owner/x in the hub cache, or BENCH_X naming a folder'
    """
    return "; ".join(map(str, requirements))


def missing(requirements: tuple[Requirement, ...]) -> str:
    """Return `describe` of the requirements that this machine does not meet; empty if it meets all."""
    return describe(tuple(requirement for requirement in requirements if not requirement.is_installed))


def named_models(requirements: tuple[Requirement, ...]) -> dict[str, str]:
    """Return the models that environment variables name, by variable; empty texts for those that are not set."""
    variables = [each.variable for each in requirements if not isinstance(each, Package) and each.variable]
    named = {variable: os.environ.get(variable) for variable in variables}
    return {variable: public_name(name) if name else "" for variable, name in named.items()}


def _is_here(name: str) -> bool:
    return Path(name).exists() or model_folder(name) is not None


def public_name(checkpoint: str) -> str:
    """Return the name of a checkpoint; of a folder its last part only, so that no path gets into a result.

    >>> public_name("nobody/encoder"), public_name("somewhere/on/disk/encoder")
    ('nobody/encoder', 'encoder')
    """
    if Path(checkpoint).is_dir() or checkpoint.count("/") > 1:
        return Path(checkpoint).resolve().name
    return checkpoint


def model_folder(name: str) -> Path | None:
    """Return where a model lies: its folder, one that `bench models get` made, or the hub's copy in the cache."""
    for folder in (Path(name), cache_root() / "models" / name):
        if any((folder / file).is_file() for file in ("config.json", "meta.json")):
            return folder
    return cached_folder(name)
