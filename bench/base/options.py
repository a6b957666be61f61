"""Options: the keyword-only arguments of a class or factory, and what their annotations say they may be.

One table serves what is typed after `--set`, the plan, which makes no model, and what is given in Python.
"""

from __future__ import annotations

import functools
import inspect
import math
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, ParamSpec, TypeVar, Union

from bench.errors import UsageError, did_you_mean, nearest

P = ParamSpec("P")
R = TypeVar("R")

Options = Mapping[str, tuple[Any, Any]]
"""Annotation and default of each option, by name."""

Together = Callable[[Mapping[str, Any]], None]
"""Takes every option with its value; raises UsageError where two of them contradict each other."""

UNIONS = (Union, types.UnionType)
SEQUENCES = (list, tuple, Sequence)
NOTHING = ("none", "all", "null")
BOOLEANS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
LARGEST = 3.4028234663852886e38
"""The largest finite number of 32 bits, which weights and optimisers have; a larger one becomes infinite there."""
KINDS = {bool: "true or false", int: "a whole number", float: "a finite number"}


@dataclass(frozen=True)
class Range:
    """What numbers an option may be, in its annotation: `weight: Annotated[float, Range(0)]`.

    Args:
        least: the smallest.
        most: the largest.
        below: what it stays below.
        above: what it stays above.

    >>> str(Range(0, 1)), 0.5 in Range(0, 1), 1 in Range(0, below=1)
    ('at least 0 and at most 1', True, False)
    >>> str(Range(above=0, most=1)), 0 in Range(above=0)
    ('above 0 and at most 1', False)
    """

    least: float = -math.inf
    most: float = math.inf
    below: float = math.inf
    above: float = -math.inf

    def __contains__(self, value: float) -> bool:
        return self.least <= value <= self.most and self.above < value < self.below

    def __str__(self) -> str:
        limits = (("at least", self.least), ("above", self.above), ("at most", self.most), ("below", self.below))
        return " and ".join(f"{words} {limit}" for words, limit in limits if math.isfinite(limit))


class Later:
    """In an annotation: the option came after results were stored, and is written down only where it is used.

    So the keys of cells that do not use it stay what they were: `rank: Annotated[int, LATER] = 0`.
    """


LATER = Later()

Positive = Annotated[int, Range(1)]
Amount = Annotated[float, Range(0)]
Share = Annotated[float, Range(0, 1)]
PositiveShare = Annotated[float, Range(above=0, most=1)]


# The table --------------------------------------------------------------------------------------------------------


def options_of(make: Callable[..., Any]) -> dict[str, tuple[Any, Any]]:
    """Return the keyword-only arguments of a class or factory: name -> (annotation, default).

    >>> def make(task, *, width: int = 8): ...
    >>> options_of(make)
    {'width': (<class 'int'>, 8)}
    """
    function = make
    if inspect.isclass(make):
        function = make.__init__
    function = inspect.unwrap(function)
    options = {}
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY:
            options[parameter.name] = (_annotation(parameter, function), parameter.default)
    return options


def _annotation(parameter: inspect.Parameter, function: Any) -> Any:
    """Resolve one annotation; the others of a constructor may name what is only imported for type checkers."""
    annotation = parameter.annotation
    if annotation is inspect.Parameter.empty:
        if parameter.default in (None, inspect.Parameter.empty):
            return str
        return type(parameter.default)
    if not isinstance(annotation, str):
        return annotation
    try:
        return eval(annotation, function.__globals__)  # noqa: S307
    except NameError as error:
        where = f"option '{parameter.name}' of {function.__qualname__}"
        raise UsageError(f"{where}: its type '{annotation}' is not there at run time ({error})") from error


# Values that were typed in ----------------------------------------------------------------------------------------


def coerce(value: Any, annotation: Any, name: str) -> Any:
    """Turn a typed-in value into what an annotation says; strings only ever become what was asked for.

    Items of a sequence are typed with commas between them, and become a list.

    Raises:
        UsageError: naming the option, what was expected and what came.

    >>> coerce("1e-4", float, "trainer.lr"), coerce("all", int | None, "task.eval_rows"), coerce("no", str, "x")
    (0.0001, None, 'no')
    >>> coerce("0.5", Annotated[float, Range(0, 1)], "method.mix"), coerce("1, 2", tuple[int, ...], "method.orders")
    (0.5, [1, 2])
    """
    return _converted(value, annotation, name, True)


def fill(options: Options, values: Mapping[str, Any], what: str) -> dict[str, Any]:
    """Return every option with its value: the given one, else the default.

    One that came `LATER` is left out where it has its default.

    Raises:
        UsageError: for an unknown option, a value it cannot have, or a missing one without a default.
    """
    for name in values:
        if name not in options:
            raise UsageError(f"{what} has no option '{name}'{did_you_mean(name, options)}")
    filled = {}
    for name, (annotation, default) in options.items():
        if name in values:
            filled[name] = coerce(values[name], annotation, f"{what} option '{name}'")
        elif default is inspect.Parameter.empty:
            raise UsageError(f"{what} needs the option '{name}'")
        else:
            filled[name] = _as_typed(default, annotation)
        if _is_later(annotation) and filled[name] == default:
            del filled[name]
    return filled


def _is_later(annotation: Any) -> bool:
    """Return whether an option is written down only where it is used."""
    return typing.get_origin(annotation) is Annotated and LATER in typing.get_args(annotation)


def fill_together(make: Callable[..., Any], values: Mapping[str, Any], what: str) -> dict[str, Any]:
    """Return every option of a class or factory with its value, as its constructor would take them.

    Raises:
        UsageError: as `fill`, and where two options contradict each other.
    """
    filled = fill(options_of(make), values, what)
    check_together: Together | None = getattr(make, "check_options", None)
    if check_together is not None:
        check_together(filled)
    return filled


def _as_typed(default: Any, annotation: Any) -> Any:
    """Return a default as if it had been typed in, so that keys agree: a fraction for a whole number, a list."""
    kinds = _members(annotation)
    if float in kinds and type(default) is int:
        return float(default)
    if not isinstance(default, (list, tuple)):
        return default
    for kind in kinds:
        if typing.get_origin(kind) in SEQUENCES:
            return [_as_typed(item, typing.get_args(kind)[0]) for item in default]
    return default


def _members(annotation: Any) -> list[Any]:
    """Return the types of a union, or the one type, without their ranges."""
    origin, inner = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is Annotated:
        return _members(inner[0])
    if origin in UNIONS:
        return [kind for part in inner for kind in _members(part)]
    return [annotation]


# Values that are given in Python ----------------------------------------------------------------------------------


def checked(what: str, together: Together | None = None) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator: a constructor or factory that refuses options its annotations do not allow.

    Args:
        what: whose options they are, for messages: `method 'histalign'`.
        together: refuses options that contradict each other; the plan finds it as `check_options`.
    """

    def decorate(make: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(make)
        def call(*args: P.args, **named: P.kwargs) -> R:
            check_given(make, named, what)
            values = {name: named.get(name, default) for name, (_, default) in options_of(make).items()}
            if together is not None and inspect.Parameter.empty not in values.values():
                together(values)
            return make(*args, **named)

        call.check_options = together  # type: ignore[attr-defined]
        return call

    return decorate


def check_constructor(cls: Any, kind: str) -> None:
    """Let a class check the options of its own constructor before its first line; for `__init_subclass__`.

    Args:
        cls: has `check_options`.
        kind: what it is, for messages: `method`.
    """
    if "__init__" in vars(cls):
        cls.__init__ = checked(f"{kind} '{getattr(cls, 'name', cls.__name__)}'", cls.check_options)(cls.__init__)


def check_given(make: Callable[..., Any], given: Mapping[str, Any], what: str) -> None:
    """Refuse options given in Python that a constructor does not have, or whose values its annotations do not allow.

    Raises:
        UsageError: naming the option, what was expected and what came.
    """
    options, parameters = options_of(make), inspect.signature(make).parameters
    takes_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
    for name, value in given.items():
        if name in options:
            _converted(value, options[name][0], f"{what} option '{name}'", False)
        elif name not in parameters and not takes_any:
            raise UsageError(f"{what} has no option '{name}'{did_you_mean(name, options)}")


def check_fields(made: Any) -> None:
    """Refuse a dataclass whose annotations do not allow a value of it; for its `__post_init__`.

    Raises:
        UsageError: naming the field, what was expected and what came.
    """
    for name, annotation in typing.get_type_hints(type(made), include_extras=True).items():
        _converted(getattr(made, name), annotation, f"{type(made).__name__} {name}", False)


# One value --------------------------------------------------------------------------------------------------------


def _converted(value: Any, annotation: Any, name: str, typed_in: bool) -> Any:
    """Turn a value into what an annotation says; one given in Python (not typed in) must be it already."""
    origin, inner = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is Annotated:
        return _in_range(_converted(value, inner[0], name, typed_in), inner[1:], name)
    if origin in UNIONS:
        return _one_of(value, inner, name, typed_in)
    if origin is Literal:
        return _choice(value, inner, name)
    if origin in SEQUENCES:
        return _items(value, inner[0], name, typed_in)
    if typed_in:
        return _plain(value, annotation, name)
    if annotation in KINDS:
        is_other = isinstance(value, str) or (annotation is int and isinstance(value, float))
        if is_other:
            raise UsageError(f"{name} is {KINDS[annotation]}, not {value!r}")
        return _plain(value, annotation, name)
    return value


def _in_range(value: Any, rules: Sequence[Any], name: str) -> Any:
    """Return a number that its ranges allow; what else stands in an annotation is for others."""
    for rule in rules:
        if isinstance(rule, Range) and value is not None and value not in rule:
            raise UsageError(f"{name} is {rule}, not {value}")
    return value


def _one_of(value: Any, kinds: Sequence[Any], name: str, typed_in: bool) -> Any:
    """Return a value as the first kind of a union that it can be."""
    if value is None or (typed_in and isinstance(value, str) and value.lower() in NOTHING):
        return None
    problems = []
    for kind in kinds:
        if kind is types.NoneType:
            continue
        try:
            return _converted(value, kind, name, typed_in)
        except UsageError as problem:
            problems.append(problem)
    raise problems[0]


def _choice(value: Any, allowed: Sequence[Any], name: str) -> Any:
    """Return the choice that a value is, or is the text of."""
    if value in allowed:
        return value
    by_text = {str(choice): choice for choice in allowed}
    if isinstance(value, str) and value in by_text:
        return by_text[value]
    near = nearest(str(value), by_text)
    suggestion = ""
    if near:
        suggestion = f"; did you mean '{near}'?"
    raise UsageError(f"{name} is one of {', '.join(by_text)}, not '{value}'{suggestion}")


def _items(value: Any, kind: Any, name: str, typed_in: bool) -> list[Any]:
    """Return the items of a sequence."""
    if typed_in and isinstance(value, str):
        value = [item.strip() for item in value.split(",") if item.strip()]
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise UsageError(f"{name} is a list of values, typed with commas between them, not '{value}'")
    return [_converted(item, kind, name, typed_in) for item in value]


def _plain(value: Any, annotation: Any, name: str) -> Any:
    """Turn a value into a truth value, a number or a text."""
    try:
        if annotation is bool:
            return BOOLEANS[str(value).lower()]
        if isinstance(value, bool):
            raise ValueError
        if annotation is int:
            if isinstance(value, float) and value != int(value):
                raise ValueError
            return int(value)
        if annotation is float:
            if not abs(float(value)) <= LARGEST:  # not nan either
                raise ValueError
            return float(value)
    except (ValueError, OverflowError, KeyError, TypeError):
        raise UsageError(f"{name} is {KINDS.get(annotation, 'text')}, not '{value}'") from None
    return str(value)
