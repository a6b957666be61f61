"""Krippendorff's alpha against the examples he and others published."""

import pytest

from bench.leaderboards.human import alpha


def units(*raters):
    """By unit, the answers of each rater; a point is no answer."""
    return [[answer for answer in answers if answer != "."] for answers in zip(*raters, strict=True)]


FOUR = units("123321412...", "1233224125.3", ".33323422" "51.", "12332441251.")  # fmt: skip
"""Krippendorff 2011, "Computing Krippendorff's alpha-reliability", section C: four observers, missing answers."""


@pytest.mark.parametrize(("found", "order", "level", "published"), [
    (units("0100000010", "1110010000"), "01", "nominal", 0.095),  # 2011, section A: two observers, yes and no
    (units("aabbdcccedda", "babbbccceddd"), "abcde", "nominal", 0.692),  # 2011, section B: two observers
    (FOUR, "12345", "nominal", 0.743),  # 2011, section C
    (FOUR, "12345", "ordinal", 0.815),  # 2011, section D
    ([*FOUR, ["5"], []], "0123456", "ordinal", 0.815),  # answers nobody gave and units with one change nothing
    (units(".....34121133.3", "1.213343.......", "..21344.21133.4"), "1234", "nominal", 0.691),  # widely reprinted
    ([["a"] * 3, ["b"] * 3, ["c"] * 3], "abc", "ordinal", 1.0),
    ([["a"], ["b"]], "ab", "nominal", None),
    ([["a", "a"]] * 3, "ab", "nominal", None),
])  # fmt: skip
def test_alpha_is_what_was_published(found, order, level, published):
    assert alpha(found, order, level) == (None if published is None else pytest.approx(published, abs=0.0005))
