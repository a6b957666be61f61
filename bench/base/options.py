"""Options: the keyword-only arguments of a constructor or the fields of a dataclass, read and checked by pydantic.

A constructor has one schema. It reads the values of `--set` and of recipes, and those that are given in Python.
pydantic is imported with the first schema, so that `bench --help` and `bench list` start without it.
"""

from __future__ import annotations

import functools
import inspect
import math
import operator
import re
import reprlib
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal, ParamSpec, TypeVar, Union

from bench.errors import UsageError, did_you_mean, nearest

if TYPE_CHECKING:
    from pydantic import TypeAdapter, ValidationError

P = ParamSpec("P")
R = TypeVar("R")

CrossFieldCheck = Callable[[Mapping[str, Any]], None]
"""Takes every option with its value; raises UsageError where two of them contradict each other."""

UNIONS = (Union, types.UnionType)
SEQUENCES = (list, tuple, Sequence)
NONE_WORDS = ("none", "all", "null")
MAX_FLOAT32 = 3.4028234663852886e38
"""Weights and optimisers have 32 bits, where a larger number becomes infinite."""
EXPECTED = {
    "bool": "true or false",
    "int": "a whole number",
    "float": "a finite number",
    "finite": "a finite number",
    "greater": "a finite number",
    "less": "a finite number",
    "string": "text",
    "list": "a list of values, typed with commas between them",
}
"""What was expected, by the first word of the type of pydantic's error."""


WORDS = {types.NoneType: "none", bool: "true or false", int: "a whole number", float: "a number", str: "text"}


@dataclass(frozen=True)
class Range:
    """The numbers that an option may be, in its annotation: `weight: Annotated[float, Range(0)]`.

    Args:
        least: the smallest.
        most: the largest.
        below: the number that it stays below.
        above: the number that it stays above.

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

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        from pydantic_core import PydanticCustomError, core_schema

        def check(value: float | None) -> float | None:
            if value is not None and value not in self:
                raise PydanticCustomError("range", str(self))
            return value

        return core_schema.no_info_after_validator_function(check, handler(source))


OMIT_IF_DEFAULT = object()
"""In an annotation: the option is newer than stored results, so it is recorded only where it is used.

The keys of runs that do not use it stay what they were: `rank: Annotated[int, OMIT_IF_DEFAULT] = 0`.
"""

Positive = Annotated[int, Range(1)]
Amount = Annotated[float, Range(0)]
Share = Annotated[float, Range(0, 1)]
PositiveShare = Annotated[float, Range(above=0, most=1)]


def options_of(make: Callable[..., Any]) -> dict[str, tuple[Any, Any]]:
    """Return annotation and default of each keyword-only argument, or of each field of a dataclass, by name.

    >>> def make(task, *, width: int = 8): ...
    >>> options_of(make)
    {'width': (<class 'int'>, 8)}
    """
    function = inspect.unwrap(make.__init__ if inspect.isclass(make) else make)
    hints, options = _field_types(make) if is_dataclass(make) else {}, {}
    for name, parameter in inspect.signature(function).parameters.items():
        if name in hints:
            options[name] = (hints[name], parameter.default)
        elif parameter.kind is parameter.KEYWORD_ONLY:
            options[name] = (_annotation(parameter, function), parameter.default)
    return options


def _field_types(kind: Any) -> dict[str, Any]:
    """Return the types of the fields of a dataclass; those that it inherits name what other modules import."""
    try:
        return typing.get_type_hints(kind, include_extras=True)
    except NameError as error:
        raise UsageError(f"the type of a field of {kind.__qualname__} is not there at run time ({error})") from error


def words_of(annotation: Any) -> str:
    """Return which values an option takes, in words.

    >>> words_of(Annotated[float, Range(0, 1)]), words_of(Literal["a", "b"]), words_of(int | None)
    ('a number of at least 0 and of at most 1', 'a or b', 'a whole number or none')
    """
    origin, inside = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is Annotated:
        ranges = [str(rule).replace("at ", "of at ") for rule in inside[1:] if isinstance(rule, Range)]
        return " ".join([words_of(inside[0]), *ranges])
    if origin is Literal:
        return " or ".join(map(str, inside))
    if origin in UNIONS:
        return " or ".join(map(words_of, inside))
    if origin in SEQUENCES:
        return f"several with commas: {words_of(inside[0])}"
    return WORDS[annotation]


def default_text(default: Any) -> str:
    """Return a default as it is typed; `required` without one.

    >>> default_text(None), default_text(0.5), default_text(""), default_text((1, 2))
    ('none', '0.5', 'empty', '1,2')
    """
    if default is inspect.Parameter.empty:
        return "required"
    if isinstance(default, (list, tuple)):
        return ",".join(map(str, default))
    if isinstance(default, bool) or default is None:
        return str(default).lower()
    return str(default) or "empty"


def _annotation(parameter: inspect.Parameter, function: Any) -> Any:
    """Resolve one annotation; the others of a constructor may name types that only type checkers import."""
    annotation = parameter.annotation
    if annotation is parameter.empty:
        return Any if parameter.default in (None, parameter.empty) else type(parameter.default)
    if isinstance(annotation, str):
        try:
            annotation = eval(annotation, function.__globals__)  # noqa: S307
        except NameError as error:
            where = f"option '{parameter.name}' of {function.__qualname__}"
            raise UsageError(f"{where}: its type '{annotation}' is not there at run time ({error})") from error
    return annotation


def omit_defaults(make: Callable[..., Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values without those that are omitted where they are the default."""
    omitted = {
        name: default
        for name, (annotation, default) in options_of(make).items()
        if OMIT_IF_DEFAULT in getattr(annotation, "__metadata__", ())
    }
    return {name: value for name, value in values.items() if name not in omitted or value != omitted[name]}


def read_options(
    make: Callable[..., Any], values: Mapping[str, Any], where: str, *, only_known: bool = False
) -> dict[str, Any]:
    """Return the options of a class or factory with their values, for its constructor, for keys and for records.

    Text is converted to the type of the annotation, text with commas to a list, and a default to the same value as when
    it is given: 1.0 for a default of 1, a list for a tuple. An option marked `OMIT_IF_DEFAULT` is left out at its
    default.

    Args:
        make: the class or factory; its attribute `check_options`, if any, is its cross-field validator.
        values: by name; where a name is missing, the default holds.
        where: whose options they are, for messages: `method 'histalign'`, or `trainer.` with a dot, or nothing.
        only_known: ignore values that it has no option for, instead of refusing them.

    Raises:
        UsageError: an option is unknown, missing or has a value that its annotation does not allow, or two options
            contradict each other.

    >>> def make(*, lr: Annotated[float, Range(0)] = 1, rows: int | None = 5, orders: tuple[int, ...] = (1, 2)): ...
    >>> read_options(make, {"rows": "all"}, "trainer.")
    {'lr': 1.0, 'rows': None, 'orders': [1, 2]}
    """
    from pydantic import ValidationError

    options = options_of(make)
    defaults = {name: default for name, (_, default) in options.items() if default is not inspect.Parameter.empty}
    if only_known:
        values = {name: value for name, value in values.items() if name in options}
    try:
        read = _schema(make).validate_python({**defaults, **values})
    except ValidationError as error:
        raise UsageError(_message(error, list(options), where)) from None
    check: CrossFieldCheck | None = getattr(make, "check_options", None)
    if check is not None:
        check(read)
    return omit_defaults(make, read)


def checked(what: str, check: CrossFieldCheck | None = None) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator: a constructor or factory that reads its options as `read_options` does.

    Args:
        what: whose options they are, for messages: `method 'histalign'`.
        check: the cross-field validator: it refuses options that contradict each other.
    """

    def decorate(make: Callable[P, R]) -> Callable[P, R]:
        make.check_options = check  # type: ignore[attr-defined]

        @functools.wraps(make)
        def call(*args: P.args, **named: P.kwargs) -> R:
            options, parameters = options_of(make), inspect.signature(make).parameters
            takes_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
            given = {n: value for n, value in named.items() if n in options or not (takes_any or n in parameters)}
            read = read_options(make, given, what)
            return make(*args, **{**named, **{name: value for name, value in read.items() if name in given}})

        return call

    return decorate


def check_constructor(cls: Any, kind: str) -> None:
    """Let a class read the options of its own constructor before its first line; for `__init_subclass__`.

    Args:
        cls: has the cross-field validator `check_options`, or None there.
        kind: of the class, for messages: `method`.
    """
    if "__init__" in vars(cls):
        cls.__init__ = checked(f"{kind} '{getattr(cls, 'name', cls.__name__)}'", cls.check_options)(cls.__init__)


def check_fields(made: Any, where: str | None = None) -> None:
    """Make the fields of a dataclass what their annotations say, or refuse them; for its `__post_init__`.

    Args:
        made: the dataclass.
        where: its name in messages, with a dot; by default that of the class.

    Raises:
        UsageError: naming the field, what was expected and what came.
    """
    kind = type(made)
    for name, value in read_options(kind, vars(made), f"{kind.__name__}." if where is None else where).items():
        is_tuple = typing.get_origin(options_of(kind)[name][0]) is tuple
        object.__setattr__(made, name, tuple(value) if is_tuple else value)


@functools.cache
def _schema(make: Callable[..., Any]) -> TypeAdapter[dict[str, Any]]:
    """Return the schema of the options of a class or factory: a dictionary with their names and types.

    A TypedDict and no BaseModel, which would refuse options named `copy` or `json`.
    """
    from pydantic import ConfigDict, TypeAdapter
    from typing_extensions import TypedDict

    fields = {name: _field(annotation) for name, (annotation, _) in options_of(make).items()}
    for name, (_, default) in options_of(make).items():
        if default is None:  # as `width: int = None` means it
            fields[name] = fields[name] | None
    record = typing.cast(Any, TypedDict)("Options", fields)
    record.__pydantic_config__ = ConfigDict(extra="forbid", coerce_numbers_to_str=True)
    return TypeAdapter(record)


def _field(annotation: Any) -> Any:
    """Return the type that pydantic reads an annotation as; a type without a form as text is not checked."""
    from pydantic import AfterValidator, AllowInfNan, BeforeValidator, Field

    origin, inner = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is Annotated:
        return Annotated[_field(inner[0]), *inner[1:]]
    if origin is Literal:
        return Annotated[Any, AfterValidator(functools.partial(_choice, inner))]
    if origin in SEQUENCES:
        return Annotated[list[_field(inner[0])], BeforeValidator(_split)]  # type: ignore[misc]
    if origin in UNIONS:
        kinds = [_field(kind) for kind in inner if kind is not types.NoneType]
        union = kinds[0]
        if len(kinds) > 1:  # the first type that fits: "7" is a number for `int | str`
            union = Annotated[functools.reduce(operator.or_, kinds), Field(union_mode="left_to_right")]
        return Annotated[union | None, BeforeValidator(_none)] if types.NoneType in inner else union
    if annotation is float:
        return Annotated[float, AllowInfNan(False), Field(ge=-MAX_FLOAT32, le=MAX_FLOAT32)]
    if annotation is int:
        return Annotated[int, BeforeValidator(_whole_number)]
    return annotation if annotation in (bool, str) else Any


def _whole_number(value: Any) -> Any:
    """Refuse a text that is no whole number: pydantic reads `0-3` as -3."""
    from pydantic_core import PydanticKnownError

    if isinstance(value, str) and not re.fullmatch(r"\s*[+-]?[\d_]+(\.0*)?\s*", value):
        raise PydanticKnownError("int_parsing")
    return value


def _choice(choices: Sequence[Any], value: Any) -> Any:
    """Return the choice that a value is, or is the text of."""
    from pydantic_core import PydanticCustomError

    by_text = {str(choice): choice for choice in choices}
    if str(value) not in by_text:
        raise PydanticCustomError("choice", "one of {choices}", {"choices": ", ".join(by_text)})
    return by_text[str(value)]


def _split(value: Any) -> Any:
    """Return the items of a text with commas."""
    return [item.strip() for item in value.split(",") if item.strip()] if isinstance(value, str) else value


def _none(value: Any) -> Any:
    """Return None for a word that means it."""
    return None if isinstance(value, str) and value.lower() in NONE_WORDS else value


def _message(error: ValidationError, known: Sequence[str], where: str) -> str:
    """Return the first problem as one line: the option, what was expected, what came, and the nearest known name."""
    problems = error.errors(include_url=False)
    problem = next((each for each in problems if each["type"] == "extra_forbidden"), problems[0])
    kind, name, value, near = problem["type"], str(problem["loc"][0]), problem["input"], None
    of_section = where.endswith(".") or not where
    option = f"{where}{name}" if of_section else f"{where} option '{name}'"
    if kind == "extra_forbidden":
        unknown = f"no option '{option}'" if of_section else f"{where} has no option '{name}'"
        return f"{unknown}{did_you_mean(name, known)}"
    if kind == "missing":
        return f"{where} needs the option '{name}'"
    if kind == "choice":
        near = nearest(str(value), problem["ctx"]["choices"].split(", "))
    expected = EXPECTED.get(kind.partition("_")[0], problem["msg"].removeprefix("Input should be "))
    shown = value if kind == "range" else repr(str(value))
    if isinstance(value, (list, tuple, dict)):  # of a file, where a short text can stand for a value without end
        shown = reprlib.repr(value)
    return f"{option} must be {expected}, not {shown}" + (f"; did you mean '{near}'?" if near else "")
