"""Settings of decodings: what may be typed behind `=` and `+`, with its range and default.

A setting is a field of a decoding's dataclass:

    k: int = whole(least=1, value=True, example="topk=3")
    temperature: float = number(1.0, above=0)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Annotated, Any

from bench.base.options import Range, read_value
from bench.errors import UsageError

__all__ = ["REQUIRED", "Setting", "flag", "number", "settings_of", "whole"]

REQUIRED: Any = object()
"""In place of the default of a setting that has none."""


@dataclass(frozen=True)
class Setting:
    """What values a setting takes.

    Args:
        kind: `int`, `float` or `bool`.
        default: `REQUIRED` for none; None for a setting that is off.
        range: the numbers it may be.
        value: whether it is the decoding's own value, typed as `topk=3` and not as `+k=3`.
        example: a text that sets it, for messages.
        place: where it stands in a text and in keys, the lower first; stored names have this order.
        only_when_set: whether keys leave it out at its default, so that those that were stored before it came stay.
    """

    kind: type[Any]
    default: Any = REQUIRED
    range: Range = Range()
    value: bool = False
    example: str = ""
    place: int = 0
    only_when_set: bool = False

    @property
    def words(self) -> str:
        """The values it takes, in words.

        >>> Setting(float, range=Range(above=0, below=1)).words
        'a number above 0 and below 1'
        """
        if self.kind is bool:
            return "true or false"
        numbers = {int: "a whole number", float: "a number"}
        return f"{numbers[self.kind]} {str(self.range).replace('at ', 'of at ')}".strip()

    @property
    def default_text(self) -> str:
        """The default as it is typed; `required` where there is none, `none` for one that is off."""
        if self.default is REQUIRED:
            return "required"
        return str(self.default).lower()

    def as_dict(self) -> dict[str, Any]:
        """Return what values it takes and its default, as plain content; a setting without one has no `default`."""
        content: dict[str, Any] = {"expected": self.words}
        if self.default is not REQUIRED:
            content["default"] = self.default
        return content

    def checked(self, name: str, value: Any) -> Any:
        """Return a value of the right type, in range; it may be given as text.

        Raises:
            UsageError: it is not what the setting takes.
        """
        if value is None and self.default is None:
            return None
        try:
            return read_value(Annotated[self.kind, self.range], value)
        except ValueError:
            raise UsageError(f"{name} is {self.words}, not '{value}'") from None


def whole(default: Any = REQUIRED, **about: Any) -> Any:
    """Return the field of a whole number.

    Args:
        default: none means that it has to be given.
        about: `least`, `most`, `below` and `above` as in `Range`, and what `Setting` takes.
    """
    return _field(int, default, about)


def number(default: Any = REQUIRED, **about: Any) -> Any:
    """Return the field of a number that is finite; `about` is as for `whole`."""
    return _field(float, default, about)


def flag(default: bool = False, **about: Any) -> Any:
    """Return the field of what is true or false; `about` is as in `Setting`."""
    return _field(bool, default, about)


def _field(kind: type[Any], default: Any, about: dict[str, Any]) -> Any:
    limits = {name: about.pop(name) for name in ("least", "most", "below", "above") if name in about}
    setting = Setting(kind, default, Range(**limits), **about)
    return field(metadata={"setting": setting}, **({} if default is REQUIRED else {"default": default}))


def settings_of(kind: type[Any]) -> Mapping[str, Setting]:
    """Return the settings of a class of decodings by name: its own value first, the others by their place."""
    found = {each.name: each.metadata["setting"] for each in fields(kind) if "setting" in each.metadata}
    return dict(sorted(found.items(), key=lambda item: (not item[1].value, item[1].place)))
