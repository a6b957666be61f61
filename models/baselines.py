"""Baselines: texts written without a model. A method that reads a source or an exemplar must beat them."""

from abc import ABC, abstractmethod
from typing import ClassVar

from bench.models.core.entry import Compatibility, Recipe


class Baseline(Recipe, ABC):
    """Writes one text a row; nothing is trained, and there is no likelihood."""

    name: ClassVar[str]
    paper: ClassVar[str]
    equations: ClassVar[tuple[str, ...]] = ()
    version: ClassVar[int] = 1
    fields: ClassVar[frozenset[str]] = frozenset({"exemplar"})

    @classmethod
    def why_not(cls, fit: Compatibility) -> str | None:
        """Return why it does not fit a task, or None: it takes a source."""
        if fit.open_ended:
            return "needs rows with a source"
        return None

    @abstractmethod
    def write(self, source: str, exemplar: str, words: int) -> str:
        """Return the text of a row.

        Args:
            source: text that a model would read.
            exemplar: training target of the nearest training source.
            words: number of words of an average training target.
        """


class CopyExemplar(Baseline):
    """The exemplar as it is. Where it does far better on training than on test rows, exemplars leak the answer."""

    name: ClassVar[str] = "copy_exemplar"
    paper: ClassVar[str] = "Peng et al. 2019"

    def write(self, source: str, exemplar: str, words: int) -> str:
        """Return the exemplar."""
        return exemplar


class Lead(Baseline):
    """The first words of the source, as many as a target has on average."""

    name: ClassVar[str] = "lead"
    paper: ClassVar[str] = "a baseline of summarisation"
    fields: ClassVar[frozenset[str]] = frozenset()

    def write(self, source: str, exemplar: str, words: int) -> str:
        """Return the start of the source.

        >>> Lead().write("one two three four", "", 2)
        'one two'
        """
        return " ".join(source.split()[:words])
