"""Decoding settings: how text is drawn from a model, and the short text users type for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, Literal, get_args

from bench.errors import UsageError, did_you_mean

__all__ = ["Decoding", "parse"]

Mode = Literal["greedy", "beam", "topk", "nucleus", "sample"]
Distribution = Literal["model", "posterior", "decoupled"]

VALUE = {"beam": "beams", "topk": "k", "nucleus": "p"}
"""The setting that a mode's own value fills: `topk=3` is `k=3`."""

EXAMPLE = {"beam": "beam=4", "topk": "topk=3", "nucleus": "nucleus=0.95"}

OPTIONS: dict[str, tuple[str, ...]] = {
    "greedy": ("no_repeat_ngram", "max_new_tokens"),
    "beam": ("length_penalty", "no_repeat_ngram", "early_stopping", "max_new_tokens"),
    "topk": ("temperature", "no_repeat_ngram", "max_new_tokens"),
    "nucleus": ("temperature", "no_repeat_ngram", "max_new_tokens"),
    "sample": ("temperature", "no_repeat_ngram", "max_new_tokens"),
}
"""What `+` may add to each mode; a setting that does nothing in a mode is refused there."""

RANGES: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "beams": ("a whole number of at least 2", lambda value: value >= 2),
    "k": ("a whole number of at least 1", lambda value: value >= 1),
    "p": ("a number above 0 and below 1", lambda value: 0 < value < 1),
    "temperature": ("a number above 0", lambda value: 0 < value < float("inf")),
    "length_penalty": ("a number", lambda value: abs(value) < float("inf")),
    "no_repeat_ngram": ("a whole number of at least 0", lambda value: value >= 0),
    "max_new_tokens": ("a whole number of at least 1", lambda value: value is None or value >= 1),
}


@dataclass(frozen=True)
class Decoding:
    """One way to turn next-token distributions into text.

    A setting that has no effect in the mode must keep its default, so that two equal decodings are equal objects.

    Args:
        mode: `greedy`, `beam`, `topk`, `nucleus`, or `sample` from the whole distribution.
        beams: width of the beam.
        k: size of top-k sampling (Fan et al. 2018).
        p: mass of nucleus sampling (Holtzman et al. 2019).
        temperature: divides the log-probabilities before tokens are cut away.
        length_penalty: a finished beam's score is its log-probability over its length to this power.
        no_repeat_ngram: n-grams of this size never repeat; 0 is off. On decoder-only models the prompt counts too.
        early_stopping: stop a beam search as soon as it holds `beams` finished texts.
        max_new_tokens: longest continuation in tokens; None is the task's.
        distribution: `model` is the method's default; `posterior` its full next-token distribution; `decoupled` draws
            a frequency class first and then a token of it, cut within the class (F2-Softmax eq. 7); greedy and beam
            search take the most probable class, and a beam is scored by its tokens' probabilities within their classes.

    Raises:
        UsageError: for a value that is out of range or has no effect in the mode.
    """

    mode: Mode
    beams: int = 1
    k: int = 0
    p: float = 1.0
    temperature: float = 1.0
    length_penalty: float = 1.0
    no_repeat_ngram: int = 0
    early_stopping: bool = False
    max_new_tokens: int | None = None
    distribution: Distribution = "model"

    def __post_init__(self) -> None:
        _known("decoding", self.mode, OPTIONS)
        _known("distribution", self.distribution, get_args(Distribution))
        for field in fields(self)[1:-1]:
            value = getattr(self, field.name)
            if field.name in self.settings:
                object.__setattr__(self, field.name, _checked(field.name, value))
            elif value != field.default:
                raise UsageError(f"{field.name} has no effect in {self.mode} decoding{_where(field.name)}")
        if self.distribution == "decoupled":
            self._check_decoupled()

    def _check_decoupled(self) -> None:
        """Refuse what has no meaning where a class of tokens is drawn first."""
        if self.mode == "sample":
            raise UsageError("decoupled decoding is not for sample: without a cut it is posterior:sample")
        for name in ("temperature", "no_repeat_ngram"):
            if getattr(self, name) != getattr(type(self), name):
                raise UsageError(f"{name} cannot be combined with decoupled decoding: eq. 7 cuts within one class")

    @property
    def settings(self) -> tuple[str, ...]:
        """The settings that matter in this mode, in the order they are written."""
        if self.mode in VALUE:
            return (VALUE[self.mode], *OPTIONS[self.mode])
        return OPTIONS[self.mode]

    @property
    def name(self) -> str:
        """The shortest text that `parse` turns back into this decoding.

        >>> Decoding("beam", beams=4, length_penalty=2.0).name
        'beam=4+length_penalty=2.0'
        """
        text = str(self.mode)
        if self.distribution != "model":
            text = f"{self.distribution}:{text}"
        if self.mode in VALUE:
            text += f"={getattr(self, VALUE[self.mode])}"
        for name in OPTIONS[self.mode]:
            value = getattr(self, name)
            if value == getattr(type(self), name):
                continue
            text += f"+{name}"
            if name != "early_stopping":
                text += f"={value}"
        return text

    def as_dict(self) -> dict[str, Any]:
        """Return the settings that matter, for keys: equal content means equal texts from equal models.

        >>> Decoding("greedy").as_dict()
        {'mode': 'greedy', 'no_repeat_ngram': 0, 'max_new_tokens': None, 'distribution': 'model'}
        """
        return {name: getattr(self, name) for name in ("mode", *self.settings, "distribution")}

    @property
    def samples(self) -> bool:
        """Whether tokens are drawn at random, so that seeds are needed."""
        return self.mode in ("topk", "nucleus", "sample")


def parse(text: str) -> list[Decoding]:
    """Read decodings as users type them: a comma between decodings, a `+` before each option.

    Raises:
        UsageError: naming what is unknown or out of range.

    >>> [d.name for d in parse("greedy, topk=3, decoupled:nucleus=0.9, beam=4+length_penalty=2+early_stopping")]
    ['greedy', 'topk=3', 'decoupled:nucleus=0.9', 'beam=4+length_penalty=2.0+early_stopping']
    """
    decodings: list[Decoding] = []
    for part in text.split(","):
        decoding = _decoding(part.strip())
        if decoding in decodings:
            raise UsageError(f"decoding '{decoding.name}' is given twice")
        decodings.append(decoding)
    return decodings


def _decoding(text: str) -> Decoding:
    """Read one decoding."""
    if not text:
        raise UsageError(f"a decoding is missing; there are: {', '.join(OPTIONS)}, for example topk=3 or beam=4")
    head, *added = (part.strip() for part in text.split("+"))
    distribution, _, rest = head.rpartition(":")
    mode, sign, value = rest.partition("=")
    _known("decoding", mode, OPTIONS)
    if sign and mode not in VALUE:
        raise UsageError(f"{mode} takes no value")
    if not sign and mode in VALUE:
        raise UsageError(f"{mode} needs a value, for example {EXAMPLE[mode]}")
    given = {}
    if sign:
        given[VALUE[mode]] = _read(VALUE[mode], value)
    for option in added:
        name, sign, value = option.partition("=")
        _known(f"option of {mode} decoding", name, OPTIONS[mode])
        if name in given:
            raise UsageError(f"{name} is given twice in '{text}'")
        if name == "early_stopping" and not sign:
            value = "true"
        given[name] = _read(name, value)
    _known("distribution", distribution or "model", get_args(Distribution))
    return Decoding(mode=mode, distribution=distribution or "model", **given)  # type: ignore[arg-type]


def _read(name: str, text: str) -> Any:
    """Turn a typed-in value into the type of its setting."""
    default = getattr(Decoding, name)
    if isinstance(default, bool):
        if text.lower() not in ("true", "false"):
            raise UsageError(f"{name} is true or false, not '{text}'")
        return text.lower() == "true"
    try:
        if isinstance(default, float):
            return float(text)
        return int(text)
    except ValueError:
        raise UsageError(f"{name} is {RANGES[name][0]}, not '{text}'") from None


def _checked(name: str, value: Any) -> Any:
    """Return the value if it is in range; a whole number given for a fraction becomes one, so that keys agree."""
    default = getattr(Decoding, name)
    if name not in RANGES:
        expected, fits = "true or false", isinstance(value, bool)
    else:
        expected, in_range = RANGES[name]
        fits = isinstance(value, (int, type(default))) and not isinstance(value, bool) and in_range(value)
    if not fits:
        raise UsageError(f"{name} is {expected}, not '{value}'")
    if isinstance(default, float):
        return float(value)
    return value


def _known(what: str, name: str, names: Any) -> None:
    """Refuse a name that is not among the known ones."""
    if name not in names:
        raise UsageError(f"there is no {what} '{name}'{did_you_mean(name, names)}")


def _where(name: str) -> str:
    """Say in which modes a setting has an effect."""
    modes = [mode for mode in OPTIONS if name in OPTIONS[mode] or VALUE.get(mode) == name]
    return f"; it belongs to {', '.join(modes)}"
