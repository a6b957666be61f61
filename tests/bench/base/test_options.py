"""Options: text and values become what an annotation says, or one clear line; pydantic's own rules are made ours."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
import pytest

from bench.base.options import OMIT_IF_DEFAULT, Range, check_fields, checked, options_of, read_options
from bench.errors import UsageError

if TYPE_CHECKING:
    from nowhere import Unknown


class Loss:
    def __init__(
        self,
        backbone: Unknown,
        plain: int = 1,
        *,
        weight: float = 1,
        mode: Literal["sum", "mean"] = "sum",
        rows: int | None = None,
        flag: bool = False,
        text: str = "",
        copy=0.5,
        rank: Annotated[int, Range(0), OMIT_IF_DEFAULT] = 0,
        needed: int,
    ) -> None: ...


BY_DEFAULT = {"weight": 1.0, "mode": "sum", "rows": None, "flag": False, "text": "", "copy": 0.5, "needed": 3}


def read(value: Any, annotation: Any) -> Any:
    """Read one value as `method.x`."""

    def make(*, x: Any) -> None: ...

    make.__annotations__["x"] = annotation
    return read_options(make, {"x": value}, "method.")["x"]


def refusal(call: Callable[..., Any], *given: Any, **named: Any) -> str:
    with pytest.raises(UsageError) as found:
        call(*given, **named)
    return str(found.value)


def test_only_keyword_arguments_are_options():
    found = options_of(Loss)
    assert list(found) == ["weight", "mode", "rows", "flag", "text", "copy", "rank", "needed"]
    assert found["weight"] == (float, 1)
    assert found["copy"] == (float, 0.5), "the type of its default"


def test_a_type_that_is_not_there_is_named():
    def make(*, width: Unknown) -> None: ...

    assert refusal(options_of, make).startswith("option 'width' of ")
    assert "make: its type 'Unknown' is not there" in refusal(options_of, make)


@pytest.mark.parametrize(
    ("value", "annotation", "right"),
    [
        ("1e-4", float, 1e-4), ("1", float, 1.0), (5, float, 5.0), (np.float32(0.5), float, 0.5), ("012", int, 12),
        (3.0, int, 3), (np.int64(3), int, 3), ("no", str, "no"), ("012", str, "012"), (12, str, "12"), ("", str, ""),
        ("yes", bool, True), ("True", bool, True), ("0", bool, False), ("no", bool, False),
        ("none", int | None, None), ("All", int | None, None), ("null", float | None, None), (None, int | None, None),
        ("7", int | None, 7), ("7", int | str, 7), ("x", int | str, "x"),
        ("mean", Literal["sum", "mean"] | None, "mean"), ("none", Literal["none", "all"], "none"),
        ("2", Literal[1, 2], 2), (1, Annotated[float, Range(0, 1)], 1.0),
        ("none", Annotated[float, Range(0)] | None, None), ("none", Annotated[float | None, Range(0)], None),
        ("1, 2,3", tuple[int, ...], [1, 2, 3]), ([1, "2"], Sequence[float], [1.0, 2.0]), ((1, 2), list[int], [1, 2]),
        ("", list[str], []), ("0.5", Any, "0.5"),
    ],
)  # fmt: skip
def test_values_become_what_the_annotation_says(value, annotation, right):
    found = read(value, annotation)
    assert found == right
    assert type(found) is type(right)


@pytest.mark.parametrize(
    ("value", "annotation", "expected"),
    [
        ("1e-4", int, "a whole number, not '1e-4'"), ("0-3", int, "a whole number, not '0-3'"),
        (1.5, int, "a whole number, not '1.5'"), ("", int, "a whole number, not ''"),
        ("true", int, "a whole number, not 'true'"), ("ten", float, "a finite number, not 'ten'"),
        ("nan", float, "a finite number, not 'nan'"), ("1e39", float, "a finite number, not '1e39'"),
        ("-inf", float | None, "a finite number, not '-inf'"), (None, float, "a finite number, not 'None'"),
        (True, str, "text, not 'True'"), ("maybe", bool, "true or false, not 'maybe'"),
        ("maybe", tuple[bool, ...], "true or false, not 'maybe'"),
        (3, tuple[int, ...], "a list of values, typed with commas between them, not '3'"),
        ("-0.1", Annotated[float, Range(0)], "at least 0, not -0.1"),
        ("1.5", Annotated[float, Range(0, 1)], "at least 0 and at most 1, not 1.5"),
        ("1", Annotated[float, Range(0, below=1)], "at least 0 and below 1, not 1"),
        ("nan", Annotated[float, Range()], "a finite number, not 'nan'"),
        ("1,0", Sequence[Annotated[int, Range(1)]], "at least 1, not 0"),
        ("-1", Annotated[float, Range(0)] | None, "at least 0, not -1"),
        ("zzz", Literal["sum", "mean"], "one of sum, mean, not 'zzz'"),
        ("Sum", Literal["sum", "mean"], "one of sum, mean, not 'Sum'; did you mean 'sum'?"),
    ],
)  # fmt: skip
def test_a_value_that_is_not_allowed_is_refused_in_one_line(value, annotation, expected):
    assert refusal(read, value, annotation) == f"method.x must be {expected}"


def test_every_option_gets_its_value():
    found = read_options(Loss, {"needed": "3", "mode": "mean", "rank": "1"}, "method 'loss'")
    assert found == {**BY_DEFAULT, "mode": "mean", "rank": 1}


def test_a_default_and_the_same_value_typed_in_give_the_same_key():
    by_default = read_options(Loss, {"needed": "3"}, "x")
    assert repr(by_default) == repr(BY_DEFAULT), "a default of 1 is 1.0 for a float; a newer option is omitted"
    typed_in = read_options(Loss, {name: str(value) for name, value in by_default.items()}, "x")
    assert repr(typed_in) == repr(by_default)

    def make(*, orders: Sequence[int] = (1, 2), shares: tuple[float, ...] | None = (1, 0.5), k: int = None) -> None: ...

    by_default = read_options(make, {}, "x")
    assert repr(by_default) == "{'orders': [1, 2], 'shares': [1.0, 0.5], 'k': None}", "JSON has no tuples"
    assert repr(read_options(make, {"orders": "1,2", "shares": "1, 0.5"}, "x")) == repr(by_default)


def test_unknown_and_missing_options_are_refused():
    found = refusal(read_options, Loss, {"needed": "x", "wieght": 1}, "method 'loss'")
    assert found == "method 'loss' has no option 'wieght'; did you mean 'weight'?"
    assert refusal(read_options, Loss, {"wieght": 1}, "method.").startswith("no option 'method.wieght'; did you mean")
    assert refusal(read_options, Loss, {}, "method 'loss'") == "method 'loss' needs the option 'needed'"
    found = refusal(read_options, Loss, {"needed": "x"}, "method 'loss'")
    assert found == "method 'loss' option 'needed' must be a whole number, not 'x'"


# Constructors -----------------------------------------------------------------------------------------------------


def not_both(options: Mapping[str, Any]) -> None:
    if options["share"] and options["rows"] is None:
        raise UsageError("share needs rows")


@checked("thing 'made'", not_both)
def made(
    name: str,
    *,
    share: Annotated[float, Range(0, 1)] = 0.0,
    rows: int | None = None,
    orders: Sequence[int] = (1, 2),
    other: Any = None,
) -> tuple[Any, ...]:
    """A factory."""
    return name, share, rows, orders, other


def test_a_constructor_gets_its_options_as_their_annotations_say():
    thing = object()
    assert made("x") == ("x", 0.0, None, (1, 2), None), "its own defaults stay as they are"
    assert repr(made(name="x", share="1", rows=3, orders=(3,))) == "('x', 1.0, 3, [3], None)"
    assert made("x", other=thing)[-1] is thing
    assert list(options_of(made)) == ["share", "rows", "orders", "other"]
    assert (made.__name__, made.__doc__) == ("made", "A factory.")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"share": math.nan, "rows": 1}, "thing 'made' option 'share' must be a finite number, not 'nan'"),
        ({"share": 2, "rows": 1}, "thing 'made' option 'share' must be at least 0 and at most 1, not 2"),
        ({"orders": [1.5]}, "thing 'made' option 'orders' must be a whole number, not '1.5'"),
        ({"shares": 1}, "thing 'made' has no option 'shares'; did you mean 'share'?"),
        ({"share": 0.5}, "share needs rows"),
    ],
)
def test_a_constructor_refuses_wrong_options_before_its_first_line(options: dict[str, Any], says: str):
    assert refusal(made, "x", **options) == says


def test_a_plan_refuses_the_same_without_making_anything():
    assert read_options(made, {"share": "1", "rows": "2"}, "x")["share"] == 1.0
    assert refusal(read_options, made, {"share": "1"}, "x") == "share needs rows"


def test_a_factory_that_takes_any_option_may():
    @checked("any")
    def anything(*, width: int = 1, **others: Any) -> Mapping[str, Any]:
        return others

    assert anything(depth="x") == {"depth": "x"}
    assert refusal(anything, width="x").startswith("any option 'width' must be a whole number")


def test_fields_of_a_dataclass_are_checked():
    @dataclass(frozen=True)
    class Rate:
        lr: Annotated[float, Range(0)] = 0.1

        def __post_init__(self) -> None:
            check_fields(self)

    assert repr(Rate(1).lr) == "1.0"
    assert refusal(Rate, math.nan) == "Rate.lr must be a finite number, not 'nan'"

    @dataclass(frozen=True)
    class Untyped(Rate):
        rows: Unknown = None

    assert "name 'Unknown' is not defined" in refusal(Untyped)
