"""Ambiguous Template: reading and splitting the analogies, prompts in the recipe's order, the real list, the sample."""

import json
import os
from collections import Counter
from pathlib import Path

import pytest
import torch

from bench.errors import DataError
from bench.tasks.ambiguous_template import (
    CATEGORIES,
    SPLITS,
    AmbiguousTemplate,
    expand,
    read,
    read_lists,
    read_templates,
    sample,
    sample_pairs,
    split_list,
)
from bench.tasks.encode.codec import Codec

SMALL = """\
: capital-common-countries
Oslo Norway Lima Peru
Lima Peru Oslo Norway
: capital-world
Oslo Norway Lima Peru
Oslo Norway Rome Italy
Lima Peru Rome Italy
Rome Italy Riga Latvia
: city-in-state
Dallas Texas Austin Texas
Dallas Texas Miami Florida
Austin Texas Miami Florida
: family
king queen man woman
he she king queen
man woman boy girl
: gram1
calm calmly free freely
"""
TEMPLATES = {"people": ["the {} and the {} saw the"], "location": ["from {} or {} to", "{} and {} and"]}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "questions-words.txt").write_text(SMALL)
    (tmp_path / "templates.json").write_text(json.dumps(TEMPLATES))
    return tmp_path


def rows_of_all(folder, variant, seed=42):
    return {split: read(folder, split, variant, seed) for split in SPLITS}


FOUR = {
    "people": [f"p{n} {{}} and {{}} to the" for n in range(4)],
    "location": [f"l{n} {{}} and {{}} to" for n in range(4)],
}
CAPITALS = ("Athens", "Greece", "Baghdad", "Iraq")


# Rows


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


# Reading


def test_a_copyright_line_and_tabs_change_nothing(folder):
    expected = read_lists(folder)
    assert expected["family"][0] == ("king", "queen", "man", "woman")
    assert [len(found) for found in expected.values()] == [3, 2, 4, 3, 9]
    tabs = SMALL.replace(" ", "\t").replace(":\t", ": ")
    (folder / "questions-words.txt").write_text(f"//Copyright of the original release\n\n{tabs}")
    assert read_lists(folder) == expected


@pytest.mark.parametrize(
    ("content", "line", "message"),
    [
        (b": a\nx X y Y\nx X y\n", 3, "four words a line, found 'x X y'"),
        (b"x X y Y\n", 1, "expected ': name'"),
        (b": a\nx X y Y\n: a\n", 3, "the name of a new list, found ': a'"),
        (b":\nx X y Y\n", 1, "the name of a new list, found ':'"),
    ],
)
def test_a_malformed_line_is_named(tmp_path, content, line, message):
    path = tmp_path / "questions-words.txt"
    path.write_bytes(content)
    with pytest.raises(DataError, match=rf"questions-words\.txt, line {line}: .*{message}"):
        read_lists(tmp_path)


@pytest.mark.parametrize(
    "content",
    [
        "{",
        "[]",
        json.dumps({**FOUR, "people": ["a {} b"]}),
        json.dumps({**FOUR, "location": ["{} {} "]}),
        json.dumps({**FOUR, "location": [7]}),
    ],
)
def test_malformed_templates_are_named(tmp_path, content):
    (tmp_path / "templates.json").write_text(content)
    with pytest.raises(DataError, match=r"templates\.json: "):
        read_templates(tmp_path / "templates.json")


# Splitting


def test_a_split_is_decided_by_pairs():
    analogies = [(f"a{i}", f"b{i}", f"a{j}", f"b{j}") for i in range(9) for j in range(9) if i != j]
    parts = split_list(analogies, "letters", seed=3)
    known = {pair for _, (a, b, c, d) in parts["train"] for pair in ((a, b), (c, d))}
    assert len(known) == 4  # int(9 * 0.5)
    assert {split: len(part) for split, part in parts.items()} == {"train": 4 * 3, "valid": 2 * 4 * 5, "test": 5 * 4}
    for split, wanted in (("train", 2), ("valid", 1), ("test", 0)):
        assert {((a, b) in known) + ((c, d) in known) for _, (a, b, c, d) in parts[split]} == {wanted}
    together = sorted(numbered for part in parts.values() for numbered in part)
    assert together == list(enumerate(analogies))


def test_three_locations_are_the_three_lists_in_turn(folder):
    lists = read_lists(folder)
    assert tuple(lists) == CATEGORIES["paper"]
    together = [a for name in ("capital-common-countries", "capital-world", "city-in-state") for a in lists[name]]
    assert lists["three_locations"] == together
    assert tuple(read_lists(folder, "clean")) == ("family", "three_locations")


@pytest.mark.parametrize("seed", range(4))
def test_the_clean_variant_has_every_prompt_once_and_keeps_train_whole(folder, seed):
    clean, paper = rows_of_all(folder, "clean", seed), rows_of_all(folder, "paper", seed)
    every = [row for part in clean.values() for row in part]
    assert Counter(Counter(row.source for row in every).values()).keys() == {2}  # once for each target
    assert len({(row.source, row.target) for row in every}) == len(every)
    sources = {
        split: {row.source for row in paper[split] if row.fields["category"] in CATEGORIES["clean"]} for split in SPLITS
    }
    assert {row.source for row in clean["train"]} == sources["train"]
    assert {row.source for row in clean["test"]} == sources["test"] - sources["train"]
    assert {row.source for row in clean["valid"]} == sources["valid"] - sources["train"] - sources["test"]


# The real list


@pytest.fixture(scope="module")
def real():
    root = Path(os.environ.get("BENCH_DATA") or Path(__file__).parents[2].parent / "shared" / "data")
    if not (root / "ambiguous_template" / "questions-words.txt").is_file():
        pytest.skip("no ambiguous_template/questions-words.txt in BENCH_DATA or ../shared/data")
    return root / "ambiguous_template"


def shared_with_train(rows, split):
    """Distinct diagonals of a split and how many are in train, in either order; then the same of prompts."""
    diagonals = {name: {frozenset(row.fields["words"]) for row in rows[name]} for name in ("train", split)}
    prompts = {name: {row.source for row in rows[name]} for name in ("train", split)}
    counts = []
    for known in (diagonals, prompts):
        counts += [len(known[split]), len(known[split] & known["train"])]
    return tuple(counts)


def test_the_leak_is_as_the_docstring_says(real):
    assert shared_with_train(rows_of_all(real, "paper"), "test") == (5_148, 1_506, 41_184, 12_048)
    clean = rows_of_all(real, "clean")
    assert sum(map(len, clean.values())) == 182_000
    for split in ("test", "valid"):
        assert shared_with_train(clean, split)[1::2] == (0, 0)


# The built-in sample


def test_the_sample_is_split_by_pairs_and_has_no_prompt_twice():
    rows = {split: sample(split) for split in SPLITS}
    prompts = [prompt for part in rows.values() for prompt in {row.source for row in part}]
    assert len(set(prompts)) == len(prompts) == sum(map(len, rows.values())) // 2
    words = {split: {word for row in part for word in row.fields["analogy"]} for split, part in rows.items()}
    assert not words["train"] & words["test"]
    known = {pair for row in rows["train"] for pair in (row.fields["analogy"][:2], row.fields["analogy"][2:])}
    assert known <= {pair for pairs in sample_pairs().values() for pair in pairs}
    assert len(known) == 12 + 19 + 12  # half of every list, and each of them is met in training


# The task


def made():
    task = AmbiguousTemplate()
    return task, Codec(task.tokenizer(0), "decoder-only", 40, 8)


def test_the_loss_is_on_the_target_word_alone():
    task, codec = made()
    examples = task.split("train").examples[:8]
    batch = codec.train_batch(task.encode(examples, codec))
    for ids, labels, example in zip(batch["input_ids"], batch["labels"], examples, strict=True):
        carried = labels[labels != -100]
        assert codec.tokenizer.decode(carried) == example.target
        assert torch.equal(ids[labels != -100], carried)


def test_both_words_stand_in_the_prompt_as_known_tokens():
    task, codec = made()
    rows = task.encode(task.split("test").examples[:200], codec)
    for row in rows:
        assert codec.tokenizer.unk_token_id not in (*row.source, *row.target)
        assert set(row.target) <= set(row.source)
