"""Requirements: what a metric needs beside its rows, in words, and whether this machine has it; nothing is loaded."""

from __future__ import annotations

import importlib.util
import os
from dataclasses import dataclass
from importlib.metadata import distributions
from pathlib import Path

__all__ = ["AnyOf", "Checkpoint", "Package", "Requirement", "SpacyModel", "lacking", "words"]


@dataclass(frozen=True)
class Package:
    """An optional package.

    Args:
        name: what it is imported by.
        install: how to install it.
        is_distribution: the name is that of its distribution, where nothing is imported from it.
    """

    name: str
    install: str
    is_distribution: bool = False

    @property
    def words(self) -> str:
        """What is needed."""
        return f"{self.name} ({self.install})"

    @property
    def is_there(self) -> bool:
        """Whether it can be imported, or is installed."""
        if self.is_distribution:
            return any(distributions(name=self.name))
        return importlib.util.find_spec(self.name) is not None


@dataclass(frozen=True)
class SpacyModel:
    """One of several spaCy models, the paper's first."""

    names: tuple[str, ...]

    @property
    def words(self) -> str:
        """What is needed."""
        return f"a spaCy model (python -m spacy download {self.names[0]})"

    @property
    def is_there(self) -> bool:
        """Whether one of them is installed."""
        return any(importlib.util.find_spec(name) is not None for name in self.names)


@dataclass(frozen=True)
class Checkpoint:
    """Weights or a file that an environment variable names, or a hub copy in the cache.

    Args:
        variable: names a folder, a file or a hub id.
        hub: hub ids that are looked for in the cache without it.
        holds: what the variable should name.
    """

    variable: str
    hub: tuple[str, ...] = ()
    holds: str = "a folder"

    @property
    def words(self) -> str:
        """What is needed."""
        named = f"{self.variable} naming {self.holds}"
        if not self.hub:
            return named
        return f"{self.hub[0]} in the hub cache, or {named}"

    @property
    def is_there(self) -> bool:
        """Whether the named place, or else one of the hub copies, is on this machine."""
        named = os.environ.get(self.variable)
        if named:
            return _is_here(named)
        return any(map(_is_here, self.hub))


@dataclass(frozen=True)
class AnyOf:
    """One of several things."""

    these: tuple[Package | SpacyModel | Checkpoint, ...]

    @property
    def words(self) -> str:
        """What is needed."""
        return ", or ".join(each.words for each in self.these)

    @property
    def is_there(self) -> bool:
        """Whether one of them is."""
        return any(each.is_there for each in self.these)


Requirement = Package | SpacyModel | Checkpoint | AnyOf


def words(requirements: tuple[Requirement, ...]) -> str:
    """Return what is needed, for people.

    >>> words((Package("spacy", "pip install spacy"), Checkpoint("BENCH_X", ("owner/x",))))
    'spacy (pip install spacy); owner/x in the hub cache, or BENCH_X naming a folder'
    """
    return "; ".join(requirement.words for requirement in requirements)


def lacking(requirements: tuple[Requirement, ...]) -> str:
    """Return what of it is not on this machine, for people; empty when all is."""
    return words(tuple(requirement for requirement in requirements if not requirement.is_there))


def _is_here(place: str) -> bool:
    return Path(place).exists() or _cached(place)


def _cached(repository: str) -> bool:
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    try:
        return isinstance(try_to_load_from_cache(repository, "config.json"), str)
    except HFValidationError:
        return False
