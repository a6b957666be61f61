"""Decoding: the base of every way to turn next-token distributions into text.

A decoding is a frozen dataclass. Its fields are its options, and what it does with a distribution is one method:

- a sampler says which tokens may be drawn (`bench.decodings.core.sampler`);
- a decoding with a loop of its own chooses the tokens itself (`write`);
- any other takes the most probable token, again and again.

Shapes: B rows, R texts that grow at once (several of a row in a search), T tokens, V vocabulary, D width of a state.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Protocol, get_args

from bench.base.options import OMIT_IF_DEFAULT, Positive, Range, check_fields, omit_defaults, options_of
from bench.errors import UsageError

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["DISTRIBUTIONS", "Decoding", "Distribution", "PluginOrigin", "Texts"]

Distribution = Literal["model", "posterior", "decoupled", "f2_released"]
DISTRIBUTIONS: tuple[Distribution, ...] = get_args(Distribution)
CLASS_CUTS = {
    "decoupled": "F2-Softmax's equation 7 cuts tokens within the class that is drawn",
    "f2_released": "another group's code of F2-Softmax cuts tokens of the classes that it draws",
}
"""Distributions that draw a class of tokens first, and why some options do not go with them."""
NOT_OPTIONS = ("distribution", "plugin")
"""Fields that are set by the prefix (`posterior:`) and by the name of a plug-in, not by `+option=value`."""
LAST = ("no_repeat_ngram", "unrepeated_ngram", "early_stopping", "repetition_penalty", "max_new_tokens")
"""Options that a text has behind all others, in this order, which stored names have."""


class Texts(Protocol):
    """Texts that grow token by token: what a decoding with a loop of its own writes with.

    The R texts of a batch stand in the order of its rows, those of one row side by side; at first there is one a row.
    """

    ids: Tensor  # [R, T] what was read and written: the prompt or, for encoder-decoder, the start token; then the text
    start: int  # column of `ids` at which a text begins
    ends: frozenset[int]  # tokens that end a text

    @property
    def states(self) -> Tensor:
        """The last state of the model after each token, of the prompt too, [R, T, D]."""

    @property
    def real(self) -> Tensor:
        """Which tokens are no padding, [R, T] bool."""

    @property
    def finished(self) -> bool:
        """Whether every text has an end token."""

    def log_probs(self) -> Tensor:
        """Log-probabilities of the next token, [R, V], after blocked n-grams and penalties."""

    def words(self, tokens: Sequence[int]) -> list[str]:
        """Return the words of a text, between white space, without special tokens."""

    def append(self, tokens: Tensor) -> None:
        """Add a token to each text, [R]."""

    def repeat(self, times: int) -> None:
        """Put copies of each text next to it."""

    def keep(self, places: Sequence[int]) -> None:
        """Go on with the texts at these places, in this order; a place may come twice."""


@dataclass(frozen=True)
class PluginOrigin:
    """The origin of a decoding that is a plug-in.

    Args:
        spec: what to type to find its class again: `module:Name` or `file.py:Name`.
        target: its class, as keys have it.
        source_sha256: of the file it is in, for keys.
    """

    spec: str
    target: str
    source_sha256: str


@dataclass(frozen=True, kw_only=True)
class Decoding:
    """One way to write texts, with its options.

    Args:
        no_repeat_ngram: n-grams of this size never repeat; 0 is off. On decoder-only models the prompt counts too.
        repetition_penalty: the log-probability of a token that was written before is multiplied by this (Keskar et al.
            2019, section 4.1). No source, prompt or start token counts.
        max_new_tokens: longest continuation in tokens; None is the task's.
        distribution: `model` is the method's default; `posterior` its full next-token distribution; `decoupled` draws
            a frequency class first and then a token of it, cut within the class (F2-Softmax eq. 7); greedy and beam
            search take the most probable class, and a beam is scored by its tokens' probabilities within their classes;
            `f2_released` is the decoding of another group's code of F2-Softmax (`core/released_classes.py`).
        plugin: where the class of a plug-in is from; None for a decoding of ours.

    Raises:
        UsageError: for a value that is out of range or has no effect.
    """

    name: ClassVar[str]  # what a user types
    main_option: ClassVar[str] = ""  # the option whose value follows the name: k in `topk=3`
    samples: ClassVar[bool] = False  # whether tokens are drawn at random, so that seeds are needed
    looks_ahead: ClassVar[bool] = False  # whether the model reads the last token too

    no_repeat_ngram: Annotated[int, Range(0)] = 0
    repetition_penalty: Annotated[float, Range(above=0), OMIT_IF_DEFAULT] = 1.0
    max_new_tokens: Positive | None = None
    distribution: Distribution = "model"
    plugin: PluginOrigin | None = None

    def __post_init__(self) -> None:
        check_fields(self, f"decoding '{self.name}'")
        if self.distribution in CLASS_CUTS:
            self._check_classes()
        self.check()

    def _check_classes(self) -> None:
        """Refuse what has no meaning where a class of tokens is drawn first."""
        if self.distribution == "f2_released" and "k" not in (self.class_cut() or {}):
            raise UsageError(
                f"f2_released is not for {self.name}: the code that it follows samples among k tokens; type "
                "f2_released:topk=3, and f2_released:topk=1 for what it calls greedy"
            )
        if self.class_cut() is None:
            raise UsageError(
                f"decoupled decoding is not for {self.name}: F2-Softmax's equation 7 is defined here for greedy, beam, "
                f"topk and nucleus"
            )
        for name in ("temperature", "no_repeat_ngram", "repetition_penalty"):
            _, default = self.options().get(name, (None, None))
            if getattr(self, name, default) != default:
                raise UsageError(
                    f"{name} cannot be combined with {self.distribution} decoding: {CLASS_CUTS[self.distribution]}"
                )

    # Hooks ------------------------------------------------------------------------------------------------------

    def check(self) -> None:
        """Refuse options that contradict each other."""

    def class_cut(self) -> Mapping[str, Any] | None:
        """Return how tokens are cut within a class, for `decoupled_log_probs`; None where that means nothing."""
        return None

    def write(self, texts: Texts, limit: int) -> list[list[int]]:
        """Return the new tokens of each row, at most `limit`; tokens after an end token are ignored.

        A decoding that does not override it chooses token by token.
        """
        raise NotImplementedError

    # Texts and keys ---------------------------------------------------------------------------------------------

    @classmethod
    @cache
    def options(cls) -> Mapping[str, tuple[Any, Any]]:
        """Return annotation and default of each option, in the order they are typed, as `options_of` does."""
        options = {name: option for name, option in options_of(cls).items() if name not in NOT_OPTIONS}
        ordered = sorted(options, key=lambda name: (name != cls.main_option, name in LAST and 1 + LAST.index(name)))
        return {name: options[name] for name in ordered}

    @property
    def text(self) -> str:
        """The canonical name of this decoding in keys, tables and seeds; for one of ours also what a user types."""
        return self._text(self.name)

    @property
    def spec(self) -> str:
        """What to type to make this decoding again."""
        if self.plugin is None:
            return self.text
        return self._text(self.plugin.spec)

    def _text(self, name: str) -> str:
        """Return a name with its value and the options that differ from their defaults."""
        text = name
        if self.distribution != "model":
            text = f"{self.distribution}:{text}"
        for option, (_, default) in self.options().items():
            given = getattr(self, option)
            if option == self.main_option:
                text += f"={given}"
            elif given != default:
                text += f"+{option}" if given is True else f"+{option}={given}"
        return text

    def as_dict(self) -> dict[str, Any]:
        """Return the options that matter, for keys: equal content means equal texts from equal models."""
        options = {name: getattr(self, name) for name in self.options()}
        content: dict[str, Any] = {"mode": self.name, **omit_defaults(type(self), options)}
        content["distribution"] = self.distribution
        if self.plugin is not None:
            content["code"] = {"class": self.plugin.target, "source_sha256": self.plugin.source_sha256}
        return content
