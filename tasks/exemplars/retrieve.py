"""Exemplars: for each row the training target whose source is nearest to the row's own (AdaDec, section 3.2)."""

import hashlib
import io
import zipfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from bench.base.files import write_atomic
from bench.base.keys import key_of, sha256
from bench.base.machine import cores
from bench.base.seeds import seed_of
from bench.errors import DataError
from bench.tasks.exemplars.bag_of_words import bags_of

VERSION = 1  # of the retrieval; raise it when a row's exemplar changes

Integers = npt.NDArray[np.int64]
Progress = Callable[[int, int], None]


def retrieve(
    train_sources: Sequence[str],
    train_targets: Sequence[str],
    sources: Sequence[str] | None = None,
    *,
    equal_targets: bool = True,
    cache: Path | None = None,
    progress: Progress | None = None,
    threads: int = 0,
) -> Integers:
    """Find the training row whose source is nearest to each row's by bag-of-words cosine.

    Exact: of equal cosines the lowest training row wins, and cosines are compared as fractions of integers. A row that
    shares no word with any training row it may have gets the lowest of these. The words of a bag are
    those of `bag_of_words.words`.

    The paper excludes only the row itself. Here a training row whose source equals the row's is excluded too: stories
    are published twice, and a row's exemplar would then be its own target. Texts are equal when they differ in white
    space only.

    Time grows with rows times training rows (tools/benchmarks/full_size.py), memory with the number of words.

    Args:
        train_sources: sources of the training rows.
        train_targets: their targets.
        sources: sources of the rows that want an exemplar; None for the training rows themselves.
        equal_targets: allow training rows whose target equals the row's own; False is for the training rows only.
        cache: folder that keeps results by the hash of all that decides them.
        progress: called with the rows done and the rows in all.
        threads: at most as many; 0 for all cores. Without effect on the result.

    Returns:
        The number of the training row whose target is the exemplar of each row, int64 [rows].

    Raises:
        DataError: there are no training rows, a row may have none of them, or a text has too many equal words to be
            counted exactly.
        StoreError: the cache cannot be written.

    >>> train = ["rain in oslo", "snow in oslo", "rain in oslo", "sun in rome"]
    >>> retrieve(train, ["wet", "white", "wet again", "hot"]).tolist()
    [1, 0, 1, 0]
    """
    if not train_sources:
        raise DataError("expected training rows to take exemplars from, got none; give the task a training split")
    rows = train_sources if sources is None else sources
    content = [VERSION, sources is None, equal_targets, *map(_sha256, (train_sources, train_targets, rows))]
    file = cache / f"exemplars-{key_of(content)}.npz" if cache else None
    if file and (known := _read(file)) is not None:
        if progress:
            progress(len(rows), len(rows))
        return known
    groups = [_numbers(train_sources, sources)]
    if not equal_targets:
        groups.append(_numbers(train_targets, None))
    found = _search(train_sources, sources, groups, progress, threads or cores())
    if file:
        write_atomic(file, lambda opened: np.savez(opened, indices=found), replace=True)
    return found


def _search(
    train_sources: Sequence[str],
    sources: Sequence[str] | None,
    numbers: Sequence[tuple[Integers, Integers]],
    progress: Progress | None,
    threads: int,
) -> Integers:
    """Search for all rows; a training row is excluded where one of its numbers is that of the row."""
    from bench.tasks.exemplars.search import search  # compiles: some seconds that only a search should cost

    vocabulary: dict[str, int] = {}
    train = rows = bags_of(train_sources, vocabulary, grow=True)
    if sources is not None:
        rows = bags_of(sources, vocabulary, grow=False)
    groups, row_groups = (np.stack(group) for group in zip(*numbers, strict=True))  # [k, training rows], [k, rows]
    best = search(train, rows, len(vocabulary), groups, row_groups, threads, progress)
    for row in np.flatnonzero(best.documents < 0):
        allowed = (groups != row_groups[:, row, None]).all(0)
        if not allowed.any():
            reason = "each is the row itself or has its source or its target"
            raise DataError(f"row {row} has no exemplar among {len(train_sources)} training rows: {reason}")
        best.documents[row] = allowed.argmax()
    return best.documents


def _numbers(train: Sequence[str], rows: Sequence[str] | None) -> tuple[Integers, Integers]:
    """Return a number for each training text and each row's, the same for equal texts, [training rows] and [rows]."""
    texts = [*train, *(rows or ())]
    digests = [hashlib.blake2b(_bytes(plain(text)), digest_size=16).digest() for text in texts]
    _, numbers = np.unique(np.array(digests, "S16"), return_inverse=True)
    return numbers[: len(train)], numbers if rows is None else numbers[len(train) :]


def plain(text: str) -> str:
    """Return a text without differences in white space."""
    return " ".join(text.split())


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _sha256(texts: Iterable[str]) -> str:
    return sha256(part for data in map(_bytes, texts) for part in (len(data).to_bytes(8, "little"), data))


def _read(file: Path) -> Integers | None:
    """Return what a file has; None where there is none, or a damaged one: numpy's archives have check sums."""
    try:
        with np.load(io.BytesIO(file.read_bytes())) as kept:
            found: Integers = kept["indices"]
            return found
    except (OSError, ValueError, LookupError, EOFError, RuntimeError, zipfile.BadZipFile):
        return None


# Leaks and the control ----------------------------------------------------------------------------------------------


def gold_share(exemplars: Integers, train_targets: Sequence[str], targets: Sequence[str]) -> float:
    """Return the share of rows whose exemplar is, white space aside, their own target; NaN for no rows."""
    if not targets:
        return float("nan")
    pairs = zip(exemplars.tolist(), targets, strict=True)
    return sum(plain(train_targets[at]) == plain(target) for at, target in pairs) / len(targets)


def leak(train_share: float, test_share: float) -> str | None:
    """Return a warning when exemplars give the gold target away in training far more often than in test.

    Far more often: at least two points more and three times as often. A model then learns to copy its exemplar and
    finds nothing to copy in test; `train_share` and `test_share` are what `gold_share` says.

    >>> leak(0.25, 0.001)[:76]
    'exemplars leak: they are the gold target of 25.0 % of the training rows but '
    >>> leak(0.03, 0.02) is None
    True
    """
    if not (train_share - test_share >= 0.02 and train_share >= 3 * test_share):
        return None
    shares = f"{100 * train_share:.1f} % of the training rows but of {100 * test_share:.1f} % of the test rows"
    remedy = "exclude training rows with an equal target (equal_targets=False)"
    return f"exemplars leak: they are the gold target of {shares}, so a model learns to copy them; {remedy}"


def swapped(indices: Integers, ids: Sequence[str]) -> Integers:
    """Give every row another row's exemplar: the control that shows whether a model uses its own.

    The rows' exemplars are permuted. No row gets the training row it had, unless more than half of all rows have the
    same one; then as few as possible do. Depends on the rows' ids, not on their order.

    Args:
        indices: as `retrieve` returns them, [rows].
        ids: of the rows, all different.

    >>> swapped(np.array([7, 7, 8, 9]), ["a", "b", "c", "d"]).tolist()
    [9, 8, 7, 7]
    """
    draws = np.array([seed_of(0, "swapped", name) for name in ids], np.int64)  # the same for every run
    _, kind, often = np.unique(indices, return_inverse=True, return_counts=True)
    first = np.full(len(often), np.iinfo(np.int64).max)
    np.minimum.at(first, kind, draws)
    order = np.lexsort((draws, kind, first[kind]))  # rows with one exemplar stand together, in drawn order
    permuted = np.empty_like(indices)  # [rows]
    permuted[order] = indices[np.roll(order, -often.max(initial=0))]
    return permuted
