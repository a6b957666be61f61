"""Reading and splitting the Google analogies, from small files by hand and from the real ones where they are."""

import gc
import json
import os
from collections import Counter
from pathlib import Path

import pytest

from bench.errors import DataError, MissingError, UsageError
from bench.tasks.files.analogies import CATEGORIES, SPLITS, parse, read, read_lists, split_list, word_pairs

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


def write_split(folder, seed=42):
    (folder / "split_0.5").mkdir()
    for category, analogies in read_lists(folder).items():
        kind = "people" if category == "family" else "location"
        for split, part in split_list(analogies, category, seed).items():
            name = {"train": "train", "valid": "one_overlap", "test": "no_overlap"}[split]
            lines = [" ".join(words) + "\n" for _, words in part]
            (folder / "split_0.5" / f"{kind}_{category}_{name}").write_text("".join(lines))


# Reading the list


def test_parse_reads_sections_in_file_order(folder):
    sections = parse(folder / "questions-words.txt")
    assert [(name, len(found)) for name, found in sections.items()] == [
        ("capital-common-countries", 2), ("capital-world", 4), ("city-in-state", 3), ("family", 3), ("gram1", 1),
    ]  # fmt: skip
    assert sections["family"][0] == ("king", "queen", "man", "woman")


@pytest.mark.parametrize(
    "content",
    [
        SMALL.replace("\n", "\r\n").encode(),
        b"\xef\xbb\xbf" + SMALL.encode(),
        b"//Copyright of the original release\n\n" + SMALL.encode(),
        SMALL.replace(" ", "\t").replace(":\t", ": ").encode(),
        SMALL.rstrip("\n").encode(),
    ],
    ids=["windows", "mark", "copyright", "tabs", "no last newline"],
)
def test_harmless_differences_change_nothing(folder, content):
    expected = parse(folder / "questions-words.txt")
    (folder / "questions-words.txt").write_bytes(content)
    assert parse(folder / "questions-words.txt") == expected


@pytest.mark.parametrize(
    ("content", "line", "message"),
    [
        (b": a\nx X y Y\nx X y\n", 3, "expected four words, found 3: 'x X y'"),
        (b": a\nx X y Y Z\n", 2, "expected four words, found 5"),
        (b"x X y Y\n", 1, "expected a section head"),
        (b": a\nx X y Y\n: a\n", 3, "expected the name of a new section"),
        (b":\nx X y Y\n", 1, "expected the name of a new section"),
        (b": a\nx X y Y\nSal\xe9 M y Y\n", 3, "expected UTF-8, found invalid continuation byte at byte 3"),
        (b": a\nx X y\0 Y\n", 2, "found a NUL byte"),
        (": a\nx X y Y\n".encode("utf-16-le"), 1, "found a NUL byte"),
    ],
)
def test_a_malformed_line_is_named(tmp_path, content, line, message):
    path = tmp_path / "questions-words.txt"
    path.write_bytes(content)
    with pytest.raises(DataError) as caught:
        parse(path)
    assert str(caught.value).startswith(f"{path}:{line}: ")
    assert message in str(caught.value)


def test_words_beyond_ascii_are_read(tmp_path):
    (tmp_path / "list").write_text(": städte\nKöln NRW Łódź Polen\n", encoding="utf-8")
    assert parse(tmp_path / "list") == {"städte": [("Köln", "NRW", "Łódź", "Polen")]}


def test_missing_files_say_where_they_come_from(folder):
    (folder / "templates.json").rename(folder / "elsewhere.json")
    with pytest.raises(MissingError, match=r"templates\.json .*HistAlign's recipe"):
        read(folder, "train")
    (folder / "elsewhere.json").rename(folder / "templates.json")
    (folder / "questions-words.txt").unlink()
    with pytest.raises(MissingError, match=r"questions-words\.txt .*word2vec"):
        read(folder, "train")


def test_a_list_that_is_not_there_is_named(folder):
    (folder / "questions-words.txt").write_text(SMALL.replace(": city-in-state\n", ""))
    with pytest.raises(DataError, match="no analogies under city-in-state"):
        read(folder, "train")


@pytest.mark.parametrize(("split", "variant"), [("dev", "paper"), ("train", "released")])
def test_unknown_names_list_the_known(folder, split, variant):
    with pytest.raises(UsageError, match="variants paper, clean, folder and splits train, valid, test"):
        read(folder, split, variant)


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


def test_a_split_depends_on_seed_and_name_and_not_on_the_order_of_lines():
    analogies = [(f"a{i}", f"b{i}", f"a{j}", f"b{j}") for i in range(9) for j in range(9) if i != j]

    def words(listed, name="letters", seed=3):
        return {split: {found for _, found in part} for split, part in split_list(listed, name, seed).items()}

    assert words(analogies) == words(analogies[::-1])
    assert words(analogies) != words(analogies, seed=4)
    assert words(analogies) != words(analogies, name="other")


def test_three_locations_are_the_three_lists_in_turn(folder):
    lists = read_lists(folder)
    assert tuple(lists) == CATEGORIES["paper"]
    together = [a for name in ("capital-common-countries", "capital-world", "city-in-state") for a in lists[name]]
    assert lists["three_locations"] == together
    assert tuple(read_lists(folder, "clean")) == ("family", "three_locations")


# Rows


@pytest.mark.parametrize("seed", range(4))
def test_the_paper_variant_has_as_many_rows_whatever_the_seed(folder, seed):
    rows = rows_of_all(folder, "paper", seed)
    places, people = 2 * 9, 2  # every analogy of places twice; "he she king queen" has a pronoun in both diagonals
    assert sum(map(len, rows.values())) == places * 2 * 8 + people * 8
    assert len({row.id for part in rows.values() for row in part}) == sum(map(len, rows.values()))


@pytest.mark.parametrize("seed", range(8))
def test_the_clean_variant_has_every_prompt_once(folder, seed):
    clean = [row for part in rows_of_all(folder, "clean", seed).values() for row in part]
    assert Counter(Counter(row.source for row in clean).values()).keys() == {2}  # once for each target
    assert len({(row.source, row.target) for row in clean}) == len(clean)
    paper = {row.source for part in rows_of_all(folder, "paper", seed).values() for row in part}
    assert {row.source for row in clean} == paper  # nothing but repetitions is gone


@pytest.mark.parametrize("seed", range(8))
def test_the_clean_variant_keeps_train_whole_and_gives_test_the_rest(folder, seed):
    clean, paper = rows_of_all(folder, "clean", seed), rows_of_all(folder, "paper", seed)
    sources = {
        split: {row.source for row in paper[split] if row.fields["category"] in CATEGORIES["clean"]} for split in SPLITS
    }
    assert {row.source for row in clean["train"]} == sources["train"]
    assert {row.source for row in clean["test"]} == sources["test"] - sources["train"]
    assert {row.source for row in clean["valid"]} == sources["valid"] - sources["train"] - sources["test"]


def test_the_folder_variant_reads_what_is_there(folder):
    write_split(folder)
    assert rows_of_all(folder, "folder") == rows_of_all(folder, "paper", 42)
    kept = folder / "split_0.5" / "location_three_locations_one_overlap"
    lines = kept.read_text().splitlines()
    kept.write_text("\n".join(lines[1:]))
    assert len(read(folder, "valid", "folder")) == len(read(folder, "valid", "paper", 42)) - 16


def test_the_folder_variant_refuses_what_is_not_listed(folder):
    write_split(folder)
    path = folder / "split_0.5" / "people_family_train"
    path.write_text("king queen man woman\nking queen man woman\n")
    with pytest.raises(DataError, match=r"people_family_train:2: expected an analogy of family as often as"):
        read(folder, "train", "folder")
    path.unlink()
    with pytest.raises(MissingError, match=r"people_family_train .*split_0\.5/ holds a split"):
        read(folder, "train", "folder")


# Pairs


def test_pairs_come_back_from_rows(folder):
    analogies = {}
    for part in rows_of_all(folder, "clean").values():
        for row in part:
            analogies.setdefault(row.fields["category"], []).append(row.fields["analogy"])
    assert {category: word_pairs(listed) for category, listed in analogies.items()} == {
        "family": [("boy", "girl"), ("king", "queen"), ("man", "woman")],  # he, she: no row
        "three_locations": [
            ("Austin", "Texas"), ("Dallas", "Texas"), ("Lima", "Peru"), ("Miami", "Florida"), ("Oslo", "Norway"),
            ("Riga", "Latvia"), ("Rome", "Italy"),
        ],
    }  # fmt: skip


# The real list


@pytest.fixture(scope="module")
def real():
    root = Path(os.environ.get("BENCH_DATA") or Path(__file__).parents[3].parent / "shared" / "data")
    if not (root / "ambiguous_template" / "questions-words.txt").is_file():
        pytest.skip("no ambiguous_template/questions-words.txt in BENCH_DATA or ../shared/data")
    return root / "ambiguous_template"


@pytest.fixture(scope="module")
def paper(real):
    gc.disable()  # it would walk a million live objects again and again: half of the time of these tests
    rows = rows_of_all(real, "paper", seed=42)
    gc.freeze()  # for good: `gc.unfreeze` would bring back what all collected tests are made of, too
    gc.enable()
    return rows


def recipe(real):
    path = real / "recipe_counts.json"
    if not path.is_file():
        pytest.skip("no recipe_counts.json in the data folder")
    counts = json.loads(path.read_text())
    names = {"train": "rows_train", "valid": "rows_one_overlap", "test": "rows_no_overlap"}
    return {split: {c: counts[c][name] for c in CATEGORIES["paper"]} for split, name in names.items()}


def by_category(rows):
    return {split: dict(Counter(row.fields["category"] for row in part)) for split, part in rows.items()}


def test_the_paper_variant_has_493248_rows(paper):
    assert sum(map(len, paper.values())) == 493_248


def test_seed_42_gives_the_counts_of_the_recipe(real, paper):
    assert by_category(paper) == recipe(real)


def test_what_a_split_gets_depends_on_the_seed(real):
    family, cities = (read_lists(real)[name] for name in ("family", "city-in-state"))
    sizes = {tuple(len(part) for part in split_list(cities, "city-in-state", seed).values()) for seed in range(5)}
    assert len(sizes) == 5
    assert {sum(found) for found in sizes} == {2_467}
    # 23 pairs, each analogy once: the seed decides which, not how many
    assert [len(part) for part in split_list(family, "family", 0).values()] == [110, 264, 132]


def test_the_folder_split_is_that_of_seed_42(real, paper):
    if not (real / "split_0.5").is_dir():
        pytest.skip("no split_0.5 in the data folder")
    assert read(real, "train", "folder") == paper["train"]
    assert {row.id for row in read(real, "test", "folder")} <= {row.id for row in paper["test"]}  # may lack some lines


def shared_with_train(rows, split):
    """Distinct diagonals of a split and how many are in train, in either order; then the same of prompts."""
    diagonals = {name: {frozenset(row.fields["words"]) for row in rows[name]} for name in ("train", split)}
    prompts = {name: {row.source for row in rows[name]} for name in ("train", split)}
    counts = []
    for known in (diagonals, prompts):
        counts += [len(known[split]), len(known[split] & known["train"])]
    return tuple(counts)


def test_the_leak_is_as_the_docstring_says(real, paper):
    assert shared_with_train(paper, "test") == (5_148, 1_506, 41_184, 12_048)
    clean = rows_of_all(real, "clean", seed=42)
    assert sum(map(len, clean.values())) == 182_000
    for split in ("test", "valid"):
        assert shared_with_train(clean, split)[1::2] == (0, 0)
