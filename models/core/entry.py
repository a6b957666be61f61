"""Registry entry and recipe of a method: its class attributes that a plan reads without building a model."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from bench.decodings.core.decoding import Decoding


@dataclass(frozen=True)
class Compatibility:
    """Backbone, task and options that a method would run with: see `why_not`.

    Args:
        architecture: of the backbone.
        copies: whether the backbone mixes copying into its distribution.
        fields: extra fields the task's rows have.
        open_ended: whether the task continues text, with the loss on all of it.
        target_tokens: about how many tokens a training target has on average.
        options: of the method.
    """

    architecture: str
    copies: bool = False
    fields: frozenset[str] = frozenset()
    open_ended: bool = False
    target_tokens: float = math.inf
    options: Mapping[str, Any] = field(default_factory=dict)


class RegistryEntry:
    """The name, sources and version of a method, and the backbones and tasks that it fits."""

    name: ClassVar[str]
    paper: ClassVar[str] = ""  # of a class that is in no table, whose entry says it otherwise
    equations: ClassVar[tuple[str, ...]] = ()  # LaTeX of its loss or distribution, one displayed line each
    version: ClassVar[int] = 2  # part of the key of a run: a change of the numbers raises it
    revised: ClassVar[Mapping[str, int]] = {}  # `option=value` to its version, where only those runs have changed
    architectures: ClassVar[tuple[str, ...]] = ("decoder-only", "encoder-decoder")
    fields: ClassVar[frozenset[str]] = frozenset()  # of a task's rows, in addition to source and target
    runs_on_copying: ClassVar[bool] = True  # on a backbone that mixes copies of the source into its distribution
    min_target_tokens: ClassVar[int] = 0  # of an average training target

    @classmethod
    def check_options(cls, options: Mapping[str, Any]) -> None:
        """Refuse options that contradict each other. `options` has all of them; a plan calls this without a model."""

    @classmethod
    def options_in_effect(cls, options: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return options whose value means another value (such as `auto`), each with that value, for comparisons."""
        return {}

    @classmethod
    def why_not(cls, fit: Compatibility) -> str | None:
        """Return why the method does not fit a backbone and a task, or None."""
        if fit.architecture not in cls.architectures:
            return f"works on {' and '.join(cls.architectures)} backbones, not on {fit.architecture} ones"
        if fit.copies and not cls.runs_on_copying:
            return "has a head of its own, which a copying backbone cannot mix with its copies"
        if missing := cls.fields - fit.fields:
            return f"needs the task field {', '.join(sorted(missing))}"
        if fit.target_tokens < cls.min_target_tokens:
            return f"needs targets of {cls.min_target_tokens} tokens; these have about {fit.target_tokens:.0f}"
        return None

    def remarks(self) -> list[str]:
        """Return notes for readers of this model's numbers, one per line; they are stored after training."""
        return []


class Recipe:
    """The settings and the other models that a method needs for its run."""

    settings: ClassVar[Mapping[str, Any]] = {}  # `section.name` to value: what makes it this method
    defaults: ClassVar[Mapping[str, Any]] = {}  # the same, unless the recipe of the task sets another value
    parent: ClassVar[str] = ""  # the method whose run of the same task, backbone and seed it is fine-tuned from
    training_free: ClassVar[bool] = False  # takes the weights of its parent as they are and trains no step
    reference: ClassVar[str] = ""  # the method whose trained model of the same task and seed it reads, frozen
    starts_pretrained: ClassVar[bool] = False  # a pretrained backbone replaces the parent `mle`, and the reference
    own_backbone: ClassVar[str] = ""  # overrides the backbone of the run
    own_decoding: ClassVar[str] = ""  # overrides the decodings of the run, e.g. `sample`; keeps their max_new_tokens

    @classmethod
    def resolved(cls, decoding: Decoding) -> Decoding:
        """Return the decoding to use for this method; methods that do not use the full posterior override it."""
        return decoding
