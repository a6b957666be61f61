"""Exemplars: who is nearest, who is excluded, what a kill or damage leaves, the leak alarm, the swapped control."""

from __future__ import annotations

import gzip
import os
import random
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partialmethod
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench.base.files import signature
from bench.errors import DataError, StoreError, UsageError
from bench.tasks.exemplars import dense, search
from bench.tasks.exemplars import files as exemplar_files
from bench.tasks.exemplars import retrieve as exemplars
from bench.tasks.exemplars.bag_of_words import words
from bench.tasks.exemplars.retrieve import Exemplars, gold_share, leak, retrieve, swapped
from tests.bench.forks import full_disk, in_child

DATA = Path(os.environ.get("BENCH_DATA") or "no data") / "gigaword"


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
    train: tuple[Sequence[str], Sequence[str]],
    rows: tuple[Sequence[str], Sequence[str]],
    own: bool,
    equal_sources: bool = False,
    equal_targets: bool = True,
) -> tuple[list[int], list[float]]:
    """Retrieval as its docstring says it, by fractions, one pair of texts after the other."""
    bags = [Counter(words(text)) for text in train[0]]
    indices, cosines = [], []
    for row, (source, target) in enumerate(zip(*rows, strict=True)):
        bag, best, answer = Counter(words(source)), Fraction(-1), -1
        for i, other in enumerate(bags):
            excluded = (
                (own and i == row)
                or (not equal_sources and plain(train[0][i]) == plain(source))
                or (not equal_targets and plain(train[1][i]) == plain(target))
            )
            dot = sum(count * other[word] for word, count in bag.items())
            score = Fraction(dot**2, max(1, sum(c * c for c in other.values()) * sum(c * c for c in bag.values())))
            if not excluded and score > best:
                best, answer = score, i
        indices.append(answer)
        cosines.append(float(best) ** 0.5)
    return indices, cosines


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (2, 3))])
@pytest.mark.parametrize("equal_sources", [False, True])
@pytest.mark.parametrize("equal_targets", [False, True])
@pytest.mark.parametrize("own", [False, True])
def test_it_is_what_an_obvious_search_finds(seed: int, equal_sources: bool, equal_targets: bool, own: bool) -> None:
    train = corpus(seed, 150)
    rows = train if own else corpus(seed + 100, 60)
    options = {"own": own, "equal_sources": equal_sources, "equal_targets": equal_targets}
    indices, cosines = obvious(train, rows, **options)
    assert 0.0 in cosines
    for threads in (1, 2):
        found = retrieve(*train, rows[0], targets=None if own else rows[1], threads=threads, **options)
        assert found.indices.tolist() == indices
        assert found.cosines == pytest.approx(cosines, abs=1e-15)


@pytest.fixture
def on_a_device(monkeypatch: pytest.MonkeyPatch) -> None:
    """Search as on a GPU, with tensors of the CPU, few columns and small tiles."""
    monkeypatch.setattr(search, "PAIRS", 0)
    monkeypatch.setattr(search, "DENSE_BATCH", 7)
    monkeypatch.setattr(dense, "device_for", lambda longest, documents: "cpu")
    monkeypatch.setattr(dense, "TILE", 16)


@pytest.mark.usefixtures("on_a_device")
@pytest.mark.parametrize("words", [0, 3, 100])
@pytest.mark.parametrize("equal_targets", [False, True])
@pytest.mark.parametrize("own", [False, True])
def test_a_device_finds_the_same(monkeypatch: pytest.MonkeyPatch, words: int, equal_targets: bool, own: bool) -> None:
    made = dense.DenseSearch.__init__
    monkeypatch.setattr(dense.DenseSearch, "__init__", partialmethod(made, words=words))
    train = corpus(5, 150)
    rows = train if own else corpus(105, 60)
    indices, cosines = obvious(train, rows, own, equal_targets=equal_targets)
    found = retrieve(*train, rows[0], targets=None if own else rows[1], own=own, equal_targets=equal_targets)
    assert found.indices.tolist() == indices
    assert found.cosines == pytest.approx(cosines, abs=1e-15)


def test_a_device_is_not_asked_for_what_it_cannot_say_exactly() -> None:
    assert dense.device_for(dense.LONGEST + 1, 1) is None


def test_ties_go_to_the_lowest_row_and_only_white_space_makes_no_difference() -> None:
    train = ["x y", "y x", "X Y.", "y  x", "z"]
    found = retrieve(train, list("ABCDE"), train, own=True)
    assert found.indices.tolist() == [1, 0, 0, 0, 0]  # of row 3, row 1 is an equal source
    assert found.cosines.tolist() == [1, 1, 1, 1, 0]
    assert retrieve(train, list("ABCDE"), ["y x", "q", ""], own=False).indices.tolist() == [0, 0, 0]


def test_the_lowest_row_that_is_not_excluded_is_found_where_no_word_is_shared() -> None:
    """Every way in which two exclusions can take the first rows away."""
    draw = random.Random(0)
    for _ in range(60):
        train = ([draw.choice(["", ".", "!", "?"]) for _ in range(9)], [draw.choice("ABC") for _ in range(9)])
        rows = (["", ".", "!", "?", ":"], list("ABCAB"))
        indices, _ = obvious(train, rows, own=False, equal_targets=False)
        if -1 not in indices:
            found = retrieve(*train, rows[0], targets=rows[1], own=False, equal_targets=False)
            assert found.indices.tolist() == indices


def test_a_row_for_which_nothing_is_left_is_an_error() -> None:
    with pytest.raises(DataError, match="row 1 has no exemplar among 2 training rows"):
        retrieve(["a", " a"], ["A", "B"], ["b", "a"], own=False)
    with pytest.raises(DataError, match="row 0 has no exemplar among 1 "):
        retrieve(["a"], ["A"], ["a"], own=True, equal_sources=True)


def test_targets_of_evaluation_rows_are_not_looked_at() -> None:
    train, rows = corpus(0, 50), corpus(1, 20)
    first, second = (retrieve(*train, rows[0], own=False, targets=targets) for targets in (rows[1], None))
    assert first.indices.tolist() == second.indices.tolist()
    assert first.fingerprint == second.fingerprint


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"train_sources": [], "train_targets": []}, "training rows to take exemplars from"),
        ({"train_targets": ["A"]}, "a target for each of 2 training sources, got 1"),
        ({"own": True}, "their sources differ; give own=False"),
        ({"own": True, "sources": ["a", "b", "c"]}, "their sources differ"),
        ({"equal_targets": False}, "by the rows' targets, but there are none"),
        ({"equal_targets": False, "targets": ["A", "B"]}, "a target for each of 1 rows, got 2"),
        ({"threads": -1}, "threads >= 0"),
    ],
)
def test_what_does_not_fit_is_said_in_one_line(change: dict[str, object], said: str) -> None:
    call = {"train_sources": ["a", "b"], "train_targets": ["A", "B"], "sources": ["c"], "own": False, **change}
    with pytest.raises((UsageError, DataError), match=said) as caught:
        retrieve(**call)
    assert "\n" not in str(caught.value)


# Kept results -------------------------------------------------------------------------------------------------------

TRAIN = corpus(7, 200)


def kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def ctrl_c() -> None:
    raise KeyboardInterrupt


def ask(
    cache: Path | None, stop_after: int = 10**9, stop: Callable[[], None] = ctrl_c, **options: Any
) -> tuple[Exemplars, list[int]]:
    """Retrieve for the training rows; the progress that was made, and a stop when it comes to `stop_after`."""
    seen: list[int] = []

    def progress(done: int, total: int) -> None:
        assert total == len(TRAIN[0])
        seen.append(done)
        if done >= stop_after:
            stop()

    return retrieve(*TRAIN, TRAIN[0], own=True, cache=cache, progress=progress, **options), seen


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "BATCH", 8)
    monkeypatch.setattr(exemplar_files, "ROWS", 32)


@pytest.fixture(scope="module")
def expected() -> Exemplars:
    return ask(None)[0]


def same(first: Exemplars, second: Exemplars) -> bool:
    arrays = (first.indices, second.indices), (first.cosines, second.cosines)
    return first.fingerprint == second.fingerprint and all(np.array_equal(a, b) for a, b in arrays)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("killed", [False, True])
def test_a_stopped_search_goes_on_at_the_next_block(
    tmp_path: Path, expected: Exemplars, threads: int, killed: bool
) -> None:
    if killed:
        assert in_child(lambda: ask(tmp_path, stop_after=80, stop=kill, threads=threads)) is None
    else:
        with pytest.raises(KeyboardInterrupt):
            ask(tmp_path, stop_after=80, threads=threads)
    kept = sorted(path.name for path in tmp_path.iterdir())
    assert kept == [f"exemplars-{expected.fingerprint}-{start}.part" for start in (0, 32)]

    resumed, seen = ask(tmp_path, threads=threads)
    assert seen == [*range(72, 200, 8), 200]  # two blocks of 32 were there
    assert same(resumed, expected)
    assert [path.name for path in tmp_path.iterdir()] == [f"exemplars-{expected.fingerprint}.bin"]

    warm, seen = ask(tmp_path)
    assert seen == [200]
    assert same(warm, expected)


def test_a_finished_search_is_not_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, expected: Exemplars
) -> None:
    assert same(ask(tmp_path / "made" / "here")[0], expected)
    monkeypatch.setattr(exemplars, "_searcher", None)
    found = ask(tmp_path / "made" / "here")[0]
    assert same(found, expected)
    assert found.indices.flags.writeable
    with pytest.raises(TypeError):
        ask(tmp_path / "made" / "here", equal_targets=False)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("finished", [True, False])
def test_damaged_files_are_made_again(tmp_path: Path, expected: Exemplars, finished: bool) -> None:
    if finished:
        ask(tmp_path)
    else:
        with pytest.raises(KeyboardInterrupt):
            ask(tmp_path, stop_after=40)
    (path,) = tmp_path.iterdir()
    whole = path.read_bytes()
    head, _, body = whole.partition(b"\n")
    damaged = [b"", b"\n", b"null\n" + body, whole[:-1], whole + b"\0", whole[:-20] + b"\1" + whole[-19:], body,
               head.replace(b"own", b"own2") + b"\n" + body, b"\xff" * 99]  # fmt: skip
    for content in damaged:
        assert content != whole
        path.write_bytes(content)
        found, seen = ask(tmp_path)
        assert seen[0] == 8  # nothing was taken from the file
        assert same(found, expected)
        if finished:
            assert path.read_bytes() == whole
        else:
            (tmp_path / f"exemplars-{expected.fingerprint}.bin").unlink()


def test_a_number_of_no_training_row_is_not_believed(tmp_path: Path, expected: Exemplars) -> None:
    kept = exemplar_files.Kept(tmp_path, expected.fingerprint, expected.content, 200, 200)
    kept.write(np.full(200, 200), expected.cosines)
    assert kept.read() is None
    kept.write(expected.indices, expected.cosines)
    assert kept.read() is not None


def test_halves_of_dead_processes_go_and_others_stay(tmp_path: Path, expected: Exemplars) -> None:
    ask(tmp_path)
    (made,) = tmp_path.iterdir()
    host = signature().partition("-")[0]
    dead = tmp_path / f".{made.name}.{host}-999999999.tmp"
    alive = tmp_path / f".{made.name}.{host}-{os.getppid()}.tmp"
    other = tmp_path / "exemplars-0123456789abcdef-0.part"
    for path in (dead, alive, other):
        path.write_bytes(b"")
    ask(tmp_path)
    assert sorted(tmp_path.iterdir()) == sorted([made, alive, other])


def test_every_text_and_option_is_in_the_fingerprint() -> None:
    calls: list[dict[str, object]] = [
        {},
        {"train_sources": ["ab", "d", "e"]},
        {"train_sources": ["a", "bd", "e"]},  # the same letters in the same order
        {"train_targets": ["A", "C", "Z"]},
        {"sources": ["d "]},
        {"equal_sources": True},
        {"equal_targets": False, "targets": ["A"]},
        {"equal_targets": False, "targets": ["C"]},
    ]
    train = {"train_sources": ["a", "d", "e"], "train_targets": ["A", "B", "Z"]}
    base: dict[str, object] = {**train, "sources": ["d"], "own": False}
    assert len({retrieve(**{**base, **call}).fingerprint for call in calls}) == len(calls)
    assert retrieve(**base, threads=2).fingerprint == retrieve(**base).fingerprint


def test_a_full_disk_is_one_line(tmp_path: Path) -> None:
    answer = full_disk(100, lambda: ask(tmp_path)[0].fingerprint)
    assert answer["raised"] == StoreError.__name__
    assert answer["text"].startswith(f"cannot keep exemplars in '{tmp_path}' (")
    assert "\n" not in answer["text"]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("small_blocks")
def test_two_processes_at_once_write_the_same(tmp_path: Path, expected: Exemplars) -> None:
    children = []
    for _ in range(3):
        child = os.fork()
        if child == 0:
            try:
                os._exit(0 if same(ask(tmp_path)[0], expected) else 1)
            finally:
                os._exit(2)
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0, 0, 0]
    assert same(ask(tmp_path)[0], expected)
    assert [path.name for path in tmp_path.iterdir()] == [f"exemplars-{expected.fingerprint}.bin"]


def test_importing_tasks_does_not_import_the_compiler() -> None:
    code = "import sys, bench.tasks.exemplars.retrieve; sys.exit('numba' in sys.modules or 'torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


# Leaks and the control ----------------------------------------------------------------------------------------------


def made(indices: list[int]) -> Exemplars:
    return Exemplars(np.array(indices, np.int64), np.zeros(len(indices)), "", {})


def test_the_share_of_gold_targets() -> None:
    assert gold_share(made([1, 0, 2, 2]), ["a", "b", "c  d"], ["b", "b", "c d ", "x"]) == 0.5
    assert np.isnan(gold_share(made([]), ["a"], []))
    with pytest.raises(UsageError, match="a target for each of 2 exemplars, got 1"):
        gold_share(made([0, 0]), ["a"], ["a"])


@pytest.mark.parametrize(
    ("train", "test", "alarm"),
    [(0.25, 0.0, True), (0.25, 0.08, True), (0.25, 0.1, False), (0.021, 0.0, True), (0.019, 0.0, False),
     (0.9, 0.5, False), (0.0, 0.3, False), (0.0, 0.0, False), (0.3, float("nan"), False)],
)  # fmt: skip
def test_the_alarm(train: float, test: float, alarm: bool) -> None:
    said = leak(train, test)
    assert (said is not None) is alarm
    if said:
        assert f"{100 * train:.1f} %" in said
        assert f"{100 * test:.1f} %" in said
        assert "equal_targets=False" in said
        assert "\n" not in said


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("n", "kinds"), [(1, 1), (2, 2), (9, 3), (50, 50), (50, 7), (51, 2), (400, 30)])
def test_swapped_gives_every_row_another_rows_exemplar(n: int, kinds: int, seed: int) -> None:
    draw = random.Random(f"{n} {kinds} {seed}")
    indices = np.array([draw.randrange(kinds) for _ in range(n)])
    ids = [f"row/{i}" for i in range(n)]
    answer = swapped(indices, ids, seed)
    assert sorted(answer) == sorted(indices)
    most = max(Counter(indices.tolist()).values())
    assert (answer == indices).sum() == max(0, 2 * most - n)
    order = draw.sample(range(n), n)
    assert swapped(indices[order], [ids[i] for i in order], seed).tolist() == answer[order].tolist()


def test_swapped_has_a_seed_and_wants_ids() -> None:
    indices, ids = np.arange(100), [str(i) for i in range(100)]
    assert (swapped(indices, ids, 0) != swapped(indices, ids, 1)).mean() > 0.9
    assert swapped(np.zeros(0, np.int64), []).tolist() == []
    with pytest.raises(UsageError, match="an id for each of 100 exemplars, got 99"):
        swapped(indices, ids[1:])


@pytest.mark.skipif(not DATA.is_dir(), reason="no Gigaword: set BENCH_DATA to the folder that holds gigaword/")
def test_real_headlines_leak_and_the_alarm_says_so() -> None:
    def lines(path: Path) -> list[str]:
        with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as file:
            return file.read().splitlines()

    train = [lines(DATA / "train" / f"train.{part}.txt.gz") for part in ("article", "title")]
    test = [lines(DATA / "giga" / name) for name in ("input.txt", "task1_ref0.txt")]
    shares = [
        gold_share(retrieve(*train, train[0], own=True, **options), train[1], train[1])
        for options in ({"equal_sources": True}, {}, {"equal_targets": False})
    ]
    assert shares == pytest.approx([0.2532, 0.1412, 0.0], abs=0.002)
    there = gold_share(retrieve(*train, test[0], own=False), train[1], test[1])
    assert there < 0.002
    assert [leak(share, there) is not None for share in shares] == [True, True, False]
