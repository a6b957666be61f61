"""Krippendorff's alpha against the examples he and others published."""

import pytest

from bench.leaderboards.statistics.agreement import alpha, coincidences


def units(*raters):
    """By unit, what each rater said; a point is no answer."""
    return [[answer for answer in answers if answer != "."] for answers in zip(*raters, strict=True)]


FOUR = units("123321412...", "1233224125.3", ".33323422" "51.", "12332441251.")  # fmt: skip
"""Krippendorff 2011, "Computing Krippendorff's alpha-reliability", section C: four observers, missing answers."""


@pytest.mark.parametrize(("found", "order", "level", "published"), [
    (units("0100000010", "1110010000"), "01", "nominal", 0.095),  # 2011, section A: two observers, yes and no
    (units("aabbdcccedda", "babbbccceddd"), "abcde", "nominal", 0.692),  # 2011, section B: two observers
    (FOUR, "12345", "nominal", 0.743),  # 2011, section C
    (FOUR, "12345", "ordinal", 0.815),  # 2011, section D
    (units(".....34121133.3", "1.213343.......", "..21344.21133.4"), "1234", "nominal", 0.691),  # widely reprinted
])  # fmt: skip
def test_alpha_is_what_was_published(found, order, level, published):
    assert alpha(found, order, level) == pytest.approx(published, abs=0.0005)


def test_the_coincidences_are_those_of_krippendorffs_table():
    table = coincidences(FOUR, "12345")
    assert table.sum(axis=0).tolist() == pytest.approx([9, 13, 10, 5, 3])
    assert table.tolist()[0] == pytest.approx([7, 4 / 3, 1 / 3, 1 / 3, 0])
    assert (table == table.T).all()


@pytest.mark.parametrize("level", ["nominal", "ordinal"])
def test_raters_who_say_the_same_agree_wholly(level):
    assert alpha([["a"] * 3, ["b"] * 3, ["c"] * 3], "abc", level) == 1
    assert alpha([["a", "b"], ["b", "a"]] * 50, "ab", level) == pytest.approx(-1, abs=0.02)


def test_an_order_matters_to_the_ordinal_alpha_only():
    near, far = units("1122334455", "2132435454"), units("1155224433", "5511442233")
    assert alpha(near, "12345", "ordinal") > 0.5 > 0 > alpha(far, "12345", "ordinal")
    assert alpha(near, "12345") == alpha(near, "54321")
    assert alpha(near, "12345", "ordinal") == pytest.approx(alpha(near, "54321", "ordinal"))


def test_answers_nobody_gave_and_units_with_one_answer_change_nothing():
    for level in ("nominal", "ordinal"):
        assert alpha([*FOUR, ["5"], []], "12345", level) == alpha(FOUR, "12345", level)
        assert alpha(FOUR, "0123456", level) == pytest.approx(alpha(FOUR, "12345", level))


def test_there_is_no_alpha_without_pairs_or_without_two_answers():
    assert alpha([["a"], ["b"]], "ab") is None
    assert alpha([["a", "a"]] * 3, "ab") is None
    with pytest.raises(ValueError, match="got 'c'"):
        alpha([["a", "c"]], "ab")
