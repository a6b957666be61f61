"""Options: what users type, checked and turned into values of the right type."""

from __future__ import annotations

import inspect
import math
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any, Literal, Union

from bench.errors import UsageError, did_you_mean


def options_of(make: Callable[..., Any]) -> dict[str, tuple[Any, Any]]:
    """Return a constructor's keyword-only arguments: name -> (annotation, default).

    >>> def make(task, *, width: int = 8): ...
    >>> options_of(make)
    {'width': (<class 'int'>, 8)}
    """
    function = make
    if inspect.isclass(make):
        function = make.__init__
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


def coerce(value: Any, annotation: Any, name: str) -> Any:
    """Turn a typed-in value into what an annotation says; strings only ever become what was asked for.

    Raises:
        UsageError: naming the option, what was expected and what came.

    >>> coerce("1e-4", float, "trainer.lr"), coerce("all", int | None, "task.eval_rows"), coerce("no", str, "x")
    (0.0001, None, 'no')
    """
    origin = typing.get_origin(annotation)
    if origin in (Union, types.UnionType):
        inner = [a for a in typing.get_args(annotation) if a is not type(None)]
        if value is None or (isinstance(value, str) and value.lower() in ("none", "all", "null")):
            return None
        return coerce(value, inner[0], name)
    if origin is Literal:
        allowed = typing.get_args(annotation)
        if value in allowed:
            return value
        raise UsageError(f"{name} is one of {', '.join(map(str, allowed))}, not '{value}'")
    return _plain(value, annotation, name)


BOOLEANS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


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
            if not math.isfinite(float(value)):
                raise ValueError
            return float(value)
    except (ValueError, OverflowError, KeyError, TypeError):
        kind = {bool: "true or false", int: "a whole number", float: "a finite number"}.get(annotation, "text")
        raise UsageError(f"{name} is {kind}, not '{value}'") from None
    return str(value)


def fill(options: Mapping[str, tuple[Any, Any]], values: Mapping[str, Any], what: str) -> dict[str, Any]:
    """Return every option with its value: the given one, else the default.

    Raises:
        UsageError: for an unknown option or a missing one without a default.
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
            filled[name] = _fraction(default, annotation)
    return filled


def _fraction(default: Any, annotation: Any) -> Any:
    """Return a default as if it had been typed in: a whole number given for a fraction becomes one, so keys agree."""
    wanted = annotation is float or float in typing.get_args(annotation)
    if wanted and type(default) is int:
        return float(default)
    return default
