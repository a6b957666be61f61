"""Options: typed-in text becomes what an annotation says, or one clear line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import pytest

from bench.config.options import coerce, fill, options_of
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
        ("Sum", Literal["sum", "mean"], "one of sum, mean"),
    ],
)
def test_what_cannot_be_it_is_refused_in_one_line(value, annotation, expected):
    with pytest.raises(UsageError) as found:
        coerce(value, annotation, "method.x")
    assert str(found.value) == f"method.x is {expected}, not '{value}'"


def test_fill_gives_every_option_its_value():
    assert fill(options_of(Wanted), {"needed": "3", "mode": "mean"}, "method 'wanted'") == {
        "weight": 1.0, "mode": "mean", "rows": None, "flag": False, "text": "", "untyped": 0.5, "needed": 3,
    }  # fmt: skip


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
