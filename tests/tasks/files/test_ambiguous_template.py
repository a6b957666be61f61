"""Prompts from analogies: the recipe's order, its exceptions, and the built-in sample."""

import json
from collections import Counter

import pytest

from bench.errors import DataError, MissingError
from bench.tasks.ambiguous_template import sample, sample_pairs, sample_templates
from bench.tasks.files.ambiguous_template import expand, kind_of, read_templates

FOUR = {
    "people": [f"p{n} {{}} and {{}} to the" for n in range(4)],
    "location": [f"l{n} {{}} and {{}} to" for n in range(4)],
}
TEMPLATES, WORD_PAIRS = sample_templates(), sample_pairs()
CAPITALS = ("Athens", "Greece", "Baghdad", "Iraq")


def test_32_rows_in_the_order_of_the_recipe():
    rows = list(expand("capital-world", [(17, CAPITALS)], FOUR))
    expected = []
    for number in range(4):
        for place, x, y in ((0, "Athens", "Iraq"), (1, "Greece", "Baghdad")):
            stem = f"capital-world/17/{number}/{place}"
            expected += [
                (f"{stem}xyx", f"l{number} {x} and {y} to", x),
                (f"{stem}xyy", f"l{number} {x} and {y} to", y),
                (f"{stem}yxx", f"l{number} {y} and {x} to", x),
                (f"{stem}yxy", f"l{number} {y} and {x} to", y),
            ]
    assert [(row.id, row.source, row.target) for row in rows] == expected
    assert len(expected) == 32


def test_rows_carry_both_words_and_the_two_outside():
    for row in expand("capital-world", [(17, CAPITALS)], FOUR):
        assert row.references == row.fields["words"]
        assert row.target in row.references
        assert {*row.fields["words"], *row.fields["other"]} == set(CAPITALS)
        assert row.fields["category"] == "capital-world"
        assert row.fields["analogy"] == CAPITALS
        assert row.id[:-1] == row.fields["prompt_id"]
        assert all(word in row.source for word in row.references)
        assert not any(word in row.source for word in row.fields["other"])


def test_the_opposite_diagonal_is_in_the_order_of_the_analogy():
    first, second = (row.fields for row in list(expand("x", [(0, CAPITALS)], FOUR))[:8:4])
    assert (first["words"], first["other"]) == (("Athens", "Iraq"), ("Greece", "Baghdad"))
    assert (second["words"], second["other"]) == (("Greece", "Baghdad"), ("Athens", "Iraq"))


def test_two_rows_in_turn_share_a_prompt():
    rows = list(expand("family", [(0, ("king", "queen", "man", "woman"))], FOUR))
    for x, y in zip(rows[::2], rows[1::2], strict=True):
        assert (x.source, x.fields["prompt_id"]) == (y.source, y.fields["prompt_id"])
        assert (x.target, y.target) == x.references
    assert len({row.fields["prompt_id"] for row in rows}) == 16


@pytest.mark.parametrize(
    ("analogy", "rows"),
    [
        (("he", "she", "king", "queen"), 0),
        (("his", "her", "king", "queen"), 0),
        (("king", "queen", "he", "she"), 0),
        (("he", "woman", "king", "queen"), 16),  # (he, queen) goes, (woman, king) stays
        (("hero", "sheriff", "herald", "history"), 32),
    ],
)
def test_diagonals_with_pronouns_are_left_out(analogy, rows):
    assert len(list(expand("family", [(0, analogy)], FOUR))) == rows


def test_a_diagonal_that_is_used_up_is_left_out():
    seen: set[frozenset[str]] = set()
    mirrored = (*CAPITALS[2:], *CAPITALS[:2])
    rows = list(expand("x", [(0, CAPITALS), (1, mirrored), (2, ("Athens", "Greece", "Lima", "Iraq"))], FOUR, seen))
    assert Counter(row.id.split("/")[1] for row in rows) == {
        "0": 32,
        "2": 16,
    }  # (Athens, Iraq) again, (Greece, Lima) new
    assert seen == {frozenset(p) for p in (("Athens", "Iraq"), ("Greece", "Baghdad"), ("Greece", "Lima"))}
    assert len(list(expand("x", [(0, CAPITALS), (1, mirrored)], FOUR))) == 64


def test_categories_choose_their_templates():
    assert [kind_of(name) for name in ("family", "people", "three_locations", "regions")] == [
        "people", "people", "location", "location",
    ]  # fmt: skip


# templates.json


def test_read_templates_returns_the_sentences(tmp_path):
    (tmp_path / "templates.json").write_bytes(b"\xef\xbb\xbf" + json.dumps({**FOUR, "noun": ["unused"]}).encode())
    assert read_templates(tmp_path / "templates.json") == FOUR


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "expected JSON in UTF-8"),
        ("[]", "expected a list of sentences under 'people', found None"),
        (json.dumps({"people": FOUR["people"]}), "under 'location'"),
        (json.dumps({**FOUR, "people": []}), r"under 'people', found \[\]"),
        (json.dumps({**FOUR, "people": ["a {} b"]}), "people sentence 1: expected text with two {}"),
        (json.dumps({**FOUR, "people": ["{} {}", "{} {} {}"]}), "people sentence 2"),
        (json.dumps({**FOUR, "location": ["{} {} "]}), "location sentence 1: .* no space at either end"),
        (json.dumps({**FOUR, "location": [7]}), "location sentence 1: .* found 7"),
        (json.dumps({**FOUR, "location": ["{} {}", "{} {}"]}), "location sentence 2: .* there already"),
    ],
)
def test_malformed_templates_are_named(tmp_path, content, message):
    (tmp_path / "templates.json").write_text(content)
    with pytest.raises(DataError, match=message):
        read_templates(tmp_path / "templates.json")


def test_templates_that_are_not_text_are_named(tmp_path):
    (tmp_path / "templates.json").write_bytes(b'{"people": ["\xff"]}')
    with pytest.raises(DataError, match=r"templates\.json: expected JSON in UTF-8"):
        read_templates(tmp_path / "templates.json")
    with pytest.raises(MissingError, match=r"nothing\.json cannot be read \(No such file"):
        read_templates(tmp_path / "nothing.json")


# The built-in sample


@pytest.fixture(scope="module")
def rows():
    return {split: sample(split) for split in ("train", "valid", "test")}


def test_the_sample_is_split_by_pairs_and_has_no_prompt_twice(rows):
    prompts = [prompt for part in rows.values() for prompt in {row.source for row in part}]
    assert len(set(prompts)) == len(prompts) == sum(map(len, rows.values())) // 2
    ids = [row.id for part in rows.values() for row in part]
    assert len(set(ids)) == len(ids)
    words = {split: {word for row in part for word in row.fields["analogy"]} for split, part in rows.items()}
    assert not words["train"] & words["test"]
    known = {pair for row in rows["train"] for pair in (row.fields["analogy"][:2], row.fields["analogy"][2:])}
    assert known <= {pair for pairs in WORD_PAIRS.values() for pair in pairs}
    assert len(known) == 12 + 19 + 12  # half of every list, and each of them is met in training
