"""Exemplars: the nearest rows, the excluded ones, the cache, the swapped control."""

import random
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench.errors import DataError
from bench.tasks.exemplars import retrieve as exemplars
from bench.tasks.exemplars.bag_of_words import words
from bench.tasks.exemplars.retrieve import retrieve, swapped

WORDS = ["a", *"bbcccdefghi", "한국어", "東", "x1"]


def corpus(seed: int, n: int) -> tuple[list[str], list[str]]:
    """Short texts of few words: equal ones, ones that differ in case, order or spaces only, and empty ones."""
    draw = random.Random(seed)
    sources: list[str] = []
    for _ in range(n):
        text = " ".join(draw.choice(WORDS) for _ in range(draw.randrange(7)))
        if sources and draw.random() < 0.3:
            text = draw.choice(sources)
            text = draw.choice([text, text.upper(), text.replace(" ", "  "), f"{text}!", " ".join(text.split()[::-1])])
        sources.append(text)
    return sources, [f"target {draw.randrange(n // 2)}" for _ in range(n)]


def plain(text: str) -> str:
    return " ".join(text.split())


def obvious(
    train: tuple[Sequence[str], Sequence[str]], rows: tuple[Sequence[str], Sequence[str]], equal_targets: bool = True
) -> tuple[list[int], list[float]]:
    """Retrieval as its docstring says it, by fractions, one pair of texts after the other."""
    bags = [Counter(words(text)) for text in train[0]]
    indices, cosines = [], []
    for source, target in zip(*rows, strict=True):
        bag, best, answer = Counter(words(source)), Fraction(-1), -1
        for i, other in enumerate(bags):
            excluded = plain(train[0][i]) == plain(source) or (
                not equal_targets and plain(train[1][i]) == plain(target)
            )
            dot = sum(count * other[word] for word, count in bag.items())
            score = Fraction(dot**2, max(1, sum(c * c for c in other.values()) * sum(c * c for c in bag.values())))
            if not excluded and score > best:
                best, answer = score, i
        indices.append(answer)
        cosines.append(float(best) ** 0.5)
    return indices, cosines


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("rows", ["train", "train with other targets", "test"])
def test_it_is_what_an_obvious_search_finds(seed: int, threads: int, rows: str) -> None:
    train, test, others = corpus(seed, 150), corpus(seed + 100, 60), rows != "train with other targets"
    indices, cosines = obvious(train, test if rows == "test" else train, others)
    assert 0.0 in cosines
    found = retrieve(*train, test[0] if rows == "test" else None, equal_targets=others, threads=threads)
    assert found.tolist() == indices


def test_ties_go_to_the_lowest_row_and_only_white_space_makes_no_difference() -> None:
    train = ["x y", "y x", "X Y.", "y  x", "z"]
    found = retrieve(train, list("ABCDE"))
    assert found.tolist() == [1, 0, 0, 0, 0]  # of row 3, row 1 is an equal source
    assert retrieve(train, list("ABCDE"), ["y x", "q", ""]).tolist() == [0, 0, 0]


def test_a_row_for_which_nothing_is_left_is_an_error() -> None:
    with pytest.raises(DataError, match="row 1 has no exemplar among 2 training rows"):
        retrieve(["a", " a"], ["A", "B"], ["b", "a"])
    with pytest.raises(DataError, match="row 0 has no exemplar among 1 "):
        retrieve(["a"], ["A"])
    with pytest.raises(DataError, match="training rows to take exemplars from"):
        retrieve([], [], ["a"])


# Kept results -------------------------------------------------------------------------------------------------------

TRAIN = corpus(7, 200)


def test_a_finished_search_is_not_made_again_and_a_stopped_one_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        retrieve(*TRAIN, cache=tmp_path / "made", progress=stop)
    assert list(tmp_path.iterdir()) == []
    seen: list[tuple[int, int]] = []
    first = retrieve(*TRAIN, cache=tmp_path / "made", progress=lambda *at: seen.append(at))
    assert seen == [(128, 200), (200, 200)]
    monkeypatch.setattr(exemplars, "_search", None)
    found = retrieve(*TRAIN, cache=tmp_path / "made", progress=lambda *at: seen.append(at))
    assert seen[2:] == [(200, 200)]
    assert np.array_equal(found, first)
    assert found.flags.writeable
    with pytest.raises(TypeError):
        retrieve(*TRAIN, cache=tmp_path / "made", equal_targets=False)


def test_damaged_files_are_made_again(tmp_path: Path) -> None:
    expected = retrieve(*TRAIN, cache=tmp_path)
    (path,) = tmp_path.iterdir()
    whole = path.read_bytes()
    damaged = [b"", b"null", whole[:-1], whole[:-20] + b"\1" + whole[-19:], whole[:200] + b"\1" + whole[201:]]
    for content in damaged:
        assert content != whole
        path.write_bytes(content)
        assert np.array_equal(retrieve(*TRAIN, cache=tmp_path), expected)


def test_every_text_and_option_names_another_file(tmp_path: Path) -> None:
    base: dict[str, Any] = {"train_sources": ["a", "d", "e"], "train_targets": ["A", "B", "Z"], "sources": ["d"]}
    calls: list[dict[str, Any]] = [
        {},
        {"train_sources": ["ab", "d", "e"]},
        {"train_sources": ["a", "bd", "e"]},  # the same letters in the same order
        {"train_targets": ["A", "C", "Z"]},
        {"sources": ["d "]},
        {"sources": None},
        {"sources": None, "equal_targets": False},
    ]
    for call in [*calls, {"threads": 2}]:
        retrieve(**{**base, **call}, cache=tmp_path)
    assert len(list(tmp_path.iterdir())) == len(calls)


# The control ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("n", "kinds"), [(1, 1), (2, 2), (9, 3), (50, 50), (50, 7), (51, 2), (400, 30)])
def test_swapped_gives_every_row_another_rows_exemplar(n: int, kinds: int, seed: int) -> None:
    draw = random.Random(f"{n} {kinds} {seed}")
    indices = np.array([draw.randrange(kinds) for _ in range(n)])
    ids = [f"row/{i}" for i in range(n)]
    answer = swapped(indices, ids)
    assert sorted(answer) == sorted(indices)
    most = max(Counter(indices.tolist()).values())
    assert (answer == indices).sum() == max(0, 2 * most - n)
    order = draw.sample(range(n), n)
    assert swapped(indices[order], [ids[i] for i in order]).tolist() == answer[order].tolist()
