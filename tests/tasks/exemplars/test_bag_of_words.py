"""Bags of words: what a word is in several scripts, unknown words, a text that is too long."""

import pytest

from bench.errors import DataError
from bench.tasks.exemplars import bag_of_words
from bench.tasks.exemplars.bag_of_words import bags_of, words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (" \t\n ... -- #.## % ", []),
        ("The U.S. (well-known) shares", ["the", "u", "s", "well", "known", "shares"]),
        ("-lrb- us -rrb- australia 's", ["lrb", "us", "rrb", "australia", "s"]),
        ("Straße CAFÉ naïve 3.5", ["straße", "café", "naïve", "3", "5"]),
        ("Привет, мир! Ελλάδα", ["привет", "мир", "ελλάδα"]),
        ("대통령은 오늘, 서울에서", ["대통령은", "오늘", "서울에서"]),
        ("我爱北京。", ["我", "爱", "北", "京"]),
        ("東京タワー", ["東", "京", "タ", "ワ", "ー"]),
        ("iPhone发布2020年", ["iphone", "发", "布", "2020", "年"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("العربية، لغة", ["العربية", "لغة"]),
        ("ภาษาไทย", ["ภ", "า", "ษ", "า", "ไ", "ท", "ย"]),
        ("ทั้ง a", ["ท", "ง", "a"]),
        ("a\u00a0b\u200bc\u3000d", ["a", "b", "c", "d"]),
        ("x😀y", ["x", "y"]),
        ("Ｔｏｋｙｏ", ["tokyo"]),
        ("bad\ud800half", ["bad", "half"]),
    ],
)
def test_words_in_several_scripts(text: str, expected: list[str]) -> None:
    assert words(text) == expected


def test_words_that_are_not_known_only_make_a_text_longer() -> None:
    vocabulary = {"a": 0, "b": 1}
    bags = bags_of(["x a x y", "x"], vocabulary, grow=False)
    assert vocabulary == {"a": 0, "b": 1}
    assert (bags.terms.tolist(), bags.counts.tolist(), bags.starts.tolist()) == ([0], [1], [0, 1, 1])
    assert bags.squared.tolist() == [6, 1]


def test_a_text_that_cannot_be_counted_exactly_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bag_of_words, "LIMIT", 100)
    with pytest.raises(DataError, match=r"text 2 repeats its words .*squared length 100, expected below 100"):
        bags_of(["a " * 9, "b", "c " * 10], {}, grow=True)
