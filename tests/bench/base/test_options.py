"""Options: typed-in text becomes what an annotation says, or one clear line."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

import pytest

from bench.base.options import Range, check_fields, checked, coerce, fill, fill_together, options_of
from bench.errors import UsageError

if TYPE_CHECKING:
    from nowhere import Unknown


class Wanted:
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
        untyped=0.5,
        needed: int,
    ) -> None: ...


def test_only_keyword_arguments_are_options():
    found = options_of(Wanted)
    assert list(found) == ["weight", "mode", "rows", "flag", "text", "untyped", "needed"]
    assert found["weight"] == (float, 1)
    assert found["rows"] == (int | None, None)


def test_an_option_without_a_type_has_that_of_its_default():
    assert options_of(Wanted)["untyped"] == (float, 0.5)


def test_a_type_that_is_not_there_is_named():
    def make(*, width: Unknown) -> None: ...

    with pytest.raises(UsageError, match=r"^option 'width' of .*make: its type 'Unknown' is not there"):
        options_of(make)


@pytest.mark.parametrize(
    ("value", "annotation", "right"),
    [
        ("1e-4", float, 1e-4),
        ("1", float, 1.0),
        (5, float, 5.0),
        ("-0.5", float, -0.5),
        ("12", int, 12),
        ("012", int, 12),
        (3.0, int, 3),
        ("no", str, "no"),
        ("012", str, "012"),
        ("", str, ""),
        ("yes", bool, True),
        ("True", bool, True),
        ("0", bool, False),
        ("no", bool, False),
        (True, bool, True),
        ("none", int | None, None),
        ("all", int | None, None),
        ("null", float | None, None),
        (None, int | None, None),
        ("7", int | None, 7),
        ("sum", Literal["sum", "mean"], "sum"),
        ("mean", Literal["sum", "mean"] | None, "mean"),
        ("2", Literal[1, 2], 2),
        ("0.5", Annotated[float, Range(0, 1)], 0.5),
        (1, Annotated[float, Range(0, 1)], 1.0),
        ("none", Annotated[float, Range(0)] | None, None),
        ("none", Annotated[float | None, Range(0)], None),
        ("1, 2,3", tuple[int, ...], [1, 2, 3]),
        ([1, "2"], Sequence[float], [1.0, 2.0]),
        ("", list[str], []),
        ("x", int | str, "x"),
    ],
)
def test_values_become_what_was_asked_for(value, annotation, right):
    found = coerce(value, annotation, "method.x")
    assert found == right
    assert type(found) is type(right)


@pytest.mark.parametrize(
    ("value", "annotation", "expected"),
    [
        ("1e-4", int, "a whole number"),
        ("1.5", int, "a whole number"),
        (1.5, int, "a whole number"),
        (float("inf"), int, "a whole number"),
        ("", int, "a whole number"),
        ("ten", float, "a finite number"),
        ("nan", float, "a finite number"),
        ("inf", float, "a finite number"),
        ("-inf", float | None, "a finite number"),
        (None, float, "a finite number"),
        (True, int, "a whole number"),
        (True, str, "text"),
        ("maybe", bool, "true or false"),
        ("zzz", Literal["sum", "mean"], "one of sum, mean"),
        ("maybe", tuple[bool, ...], "true or false"),
        (3, tuple[int, ...], "a list of values, typed with commas between them"),
    ],
)
def test_what_cannot_be_it_is_refused_in_one_line(value, annotation, expected):
    with pytest.raises(UsageError) as found:
        coerce(value, annotation, "method.x")
    assert str(found.value) == f"method.x is {expected}, not '{value}'"


@pytest.mark.parametrize(
    ("value", "annotation", "says"),
    [
        ("-0.1", Annotated[float, Range(0)], "at least 0, not -0.1"),
        ("1.5", Annotated[float, Range(0, 1)], "at least 0 and at most 1, not 1.5"),
        ("1", Annotated[float, Range(0, below=1)], "at least 0 and below 1, not 1.0"),
        ("9", Annotated[int, Range(most=8)], "at most 8, not 9"),
        ("nan", Annotated[float, Range(0)], "a finite number, not 'nan'"),
        ("inf", Annotated[float, Range()], "a finite number, not 'inf'"),
        ("1,0", Sequence[Annotated[int, Range(1)]], "at least 1, not 0"),
        ("-1", Annotated[float, Range(0)] | None, "at least 0, not -1.0"),
        ("Sum", Literal["sum", "mean"], "one of sum, mean, not 'Sum'; did you mean 'sum'?"),
        ("relased", Literal["paper", "released"], "one of paper, released, not 'relased'; did you mean 'released'?"),
        ("ce", Literal["mle", "trime"], "one of mle, trime, not 'ce'; did you mean 'mle'?"),
    ],
)
def test_ranges_and_choices_say_what_fits(value, annotation, says):
    with pytest.raises(UsageError) as found:
        coerce(value, annotation, "method.x")
    assert str(found.value) == f"method.x is {says}"


def test_fill_gives_every_option_its_value():
    assert fill(options_of(Wanted), {"needed": "3", "mode": "mean"}, "method 'wanted'") == {
        "weight": 1.0, "mode": "mean", "rows": None, "flag": False, "text": "", "untyped": 0.5, "needed": 3,
    }  # fmt: skip


def test_the_items_of_a_default_are_those_of_what_is_typed_in():
    """A tuple would be another value than its JSON, in keys and in records."""

    def make(*, orders: Sequence[int] = (1, 2), shares: tuple[float, ...] | None = (1, 0.5)) -> None: ...

    by_default = fill(options_of(make), {}, "x")
    assert repr(by_default) == "{'orders': [1, 2], 'shares': [1.0, 0.5]}"
    assert repr(fill(options_of(make), {"orders": "1,2", "shares": "1, 0.5"}, "x")) == repr(by_default)


def test_a_default_and_the_same_value_typed_in_are_the_same():
    options = options_of(Wanted)
    by_default = fill(options, {"needed": "3"}, "x")
    typed_in = fill(options, {name: str(value) for name, value in by_default.items()}, "x")
    assert repr(typed_in) == repr(by_default)


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"needed": 1, "wieght": 1}, "method 'wanted' has no option 'wieght'; did you mean 'weight'?"),
        ({}, "method 'wanted' needs the option 'needed'"),
        ({"needed": "x"}, "method 'wanted' option 'needed' is a whole number, not 'x'"),
    ],
)
def test_fill_refuses(values: dict[str, Any], says: str):
    with pytest.raises(UsageError) as found:
        fill(options_of(Wanted), values, "method 'wanted'")
    assert str(found.value) == says


# In Python --------------------------------------------------------------------------------------------------------


def not_both(options: Mapping[str, Any]) -> None:
    if options["share"] and options["rows"] is None:
        raise UsageError("share needs rows")


@checked("thing 'made'", not_both)
def made(
    name: str,
    *,
    share: Annotated[float, Range(0, 1)] = 0.0,
    rows: int | None = None,
    flag: bool = False,
    orders: Sequence[int] = (1, 2),
    text: str = "",
    plain=0.5,
    other: Any = None,
) -> str:
    """A factory."""
    return name


def test_what_its_annotations_allow_is_made():
    assert made("x") == "x"
    assert made(name="x", share=1, rows=3, flag=True, orders=[3], text="y", plain=2, other=object()) == "x"
    assert list(options_of(made)) == ["share", "rows", "flag", "orders", "text", "plain", "other"]
    assert (made.__name__, made.__doc__) == ("made", "A factory.")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"share": math.nan, "rows": 1}, "thing 'made' option 'share' is a finite number, not 'nan'"),
        ({"share": 2, "rows": 1}, "thing 'made' option 'share' is at least 0 and at most 1, not 2.0"),
        ({"share": "0.5", "rows": 1}, "thing 'made' option 'share' is a finite number, not '0.5'"),
        ({"rows": 2.0}, "thing 'made' option 'rows' is a whole number, not 2.0"),
        ({"rows": "none"}, "thing 'made' option 'rows' is a whole number, not 'none'"),
        ({"rows": True}, "thing 'made' option 'rows' is a whole number, not 'True'"),
        ({"flag": "no"}, "thing 'made' option 'flag' is true or false, not 'no'"),
        (
            {"orders": "12"},
            "thing 'made' option 'orders' is a list of values, typed with commas between them, not '12'",
        ),
        ({"orders": [1.5]}, "thing 'made' option 'orders' is a whole number, not 1.5"),
        ({"plain": -math.inf}, "thing 'made' option 'plain' is a finite number, not '-inf'"),
        ({"shares": 1}, "thing 'made' has no option 'shares'; did you mean 'share'?"),
        ({"share": 0.5}, "share needs rows"),
    ],
)
def test_what_they_do_not_is_refused_before_anything_is_made(options: dict[str, Any], says: str):
    with pytest.raises(UsageError) as found:
        made("x", **options)
    assert str(found.value) == says


def test_a_plan_finds_the_same_without_making_anything():
    assert fill_together(made, {"share": "1", "rows": "2"}, "x")["share"] == 1.0
    with pytest.raises(UsageError, match="^share needs rows$"):
        fill_together(made, {"share": "1"}, "x")


def test_a_factory_that_takes_anything_may():
    @checked("any")
    def anything(*, width: int = 1, **others: Any) -> Mapping[str, Any]:
        return others

    assert anything(depth="x") == {"depth": "x"}
    with pytest.raises(UsageError, match="^any option 'width' is a whole number"):
        anything(width="x")


def test_fields_of_a_dataclass_are_checked():
    @dataclass(frozen=True)
    class Rate:
        lr: Annotated[float, Range(0)] = 0.1

        def __post_init__(self) -> None:
            check_fields(self)

    assert Rate(1).lr == 1
    with pytest.raises(UsageError, match="^Rate lr is a finite number, not 'nan'$"):
        Rate(math.nan)
