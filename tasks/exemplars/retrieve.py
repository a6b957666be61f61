"""Exemplars: for each row the training target whose source is nearest to the row's own (AdaDec, section 3.2)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from bench.base.cores import cores
from bench.base.keys import key_of
from bench.base.seeds import seed_of
from bench.errors import DataError, UsageError
from bench.tasks.exemplars.bag_of_words import bags_of
from bench.tasks.exemplars.files import Kept
from bench.tasks.exemplars.groups import groups_of, plain

if TYPE_CHECKING:
    from bench.tasks.exemplars.search import Search

__all__ = ["VERSION", "Exemplars", "gold_share", "leak", "retrieve", "swapped"]

VERSION = 1  # of the retrieval; raise it when a row's exemplar changes

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Progress = Callable[[int, int], None]


@dataclass(frozen=True, eq=False)
class Exemplars:
    """The exemplars of the rows of a split.

    Args:
        indices: number of the training row whose target is the exemplar, int64 [rows].
        cosines: of the two sources' bags of words, float64 [rows]; 0 where they share no word.
        fingerprint: hash of what decides the two.
        content: what decides them: version, options, hashes of all texts.
    """

    indices: Integers
    cosines: Floats
    fingerprint: str
    content: Mapping[str, Any]


def retrieve(
    train_sources: Sequence[str],
    train_targets: Sequence[str],
    sources: Sequence[str],
    *,
    own: bool,
    equal_sources: bool = False,
    equal_targets: bool = True,
    targets: Sequence[str] | None = None,
    cache: Path | None = None,
    progress: Progress | None = None,
    threads: int = 0,
) -> Exemplars:
    """Find the training row whose source is nearest to each row's by bag-of-words cosine.

    Exact: of equal cosines the lowest training row wins, and cosines are compared as fractions of integers. A row that
    shares no word with any training row it may have gets the lowest of these, with cosine 0. Texts are equal when they
    differ in white space only. The words of a bag are those of `bag_of_words.words`.

    Time grows with rows times training rows (tools/benchmarks/full_size.py), memory with the number of words. Millions
    of rows may be killed and go on where they were. A GPU is used where there is one and rows are many.

    Args:
        train_sources: sources of the training rows.
        train_targets: their targets.
        sources: sources of the rows that want an exemplar; the same sequence again for the training rows.
        own: the rows are the training rows, in their order; none may be its own exemplar.
        equal_sources: also allow training rows whose source equals the row's own; a row's own target is then likely to
            be its exemplar, as stories are published twice. The paper excludes only the row itself.
        equal_targets: allow training rows whose target equals the row's own. False looks at gold targets, so it is for
            training rows; give it for others only where they need no honest evaluation.
        targets: of the rows; only used, and needed, where `own` and `equal_targets` are both False.
        cache: folder that keeps results by the hash of all that decides them, finished or not.
        progress: called with the rows done and the rows in all.
        threads: at most as many; 0 for all cores. Without effect on the result.

    Raises:
        UsageError: the sequences do not fit each other.
        DataError: a row may have no training row at all, or a text has too many equal words to be counted exactly.
        StoreError: the cache cannot be written.

    >>> train = ["rain in oslo", "snow in oslo", "rain in oslo", "sun in rome"]
    >>> retrieve(train, ["wet", "white", "wet again", "hot"], train, own=True).indices.tolist()
    [1, 0, 1, 0]
    """
    if own:
        targets = train_targets
    _check(train_sources, train_targets, sources, targets, own, equal_targets, threads)
    both_targets = None
    if targets is not None and not equal_targets:
        both_targets = train_targets, targets
    options = {"own": own, "equal_sources": equal_sources, "equal_targets": equal_targets}
    content = _content(options, train_sources, train_targets, sources, both_targets)
    kept = Kept(cache, key_of(content), content, len(sources), len(train_sources))
    result = kept.read()
    if result is None:
        groups, row_groups = groups_of(train_sources, sources, own, equal_sources, both_targets)
        search = _searcher(train_sources, sources, own, groups, row_groups)
        result = _all(search, kept, progress, threads or cores())
    elif progress:
        progress(len(sources), len(sources))
    return Exemplars(*result, kept.key, content)


def gold_share(exemplars: Exemplars, train_targets: Sequence[str], targets: Sequence[str]) -> float:
    """Return the share of rows whose exemplar is, white space aside, their own target; NaN for no rows."""
    if len(targets) != len(exemplars.indices):
        raise UsageError(f"expected a target for each of {len(exemplars.indices)} exemplars, got {len(targets)}")
    if not targets:
        return float("nan")
    pairs = zip(exemplars.indices.tolist(), targets, strict=True)
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


def swapped(indices: Integers, ids: Sequence[str], seed: int = 0) -> Integers:
    """Give every row another row's exemplar: the control that shows whether a model uses its own.

    The rows' exemplars are permuted. No row gets the training row it had, unless more than half of all rows have the
    same one; then as few as possible do. Depends on the rows' ids, not on their order.

    Args:
        indices: `Exemplars.indices` [rows].
        ids: of the rows, all different.
        seed: of the permutation.

    >>> swapped(np.array([7, 7, 8, 9]), ["a", "b", "c", "d"]).tolist()
    [9, 8, 7, 7]
    """
    if len(ids) != len(indices):
        raise UsageError(f"expected an id for each of {len(indices)} exemplars, got {len(ids)}")
    draws = np.array([seed_of(seed, "swapped", name) for name in ids], np.int64)
    _, kind, often = np.unique(indices, return_inverse=True, return_counts=True)
    first = np.full(len(often), np.iinfo(np.int64).max)
    np.minimum.at(first, kind, draws)
    order = np.lexsort((draws, kind, first[kind]))  # rows with one exemplar stand together, in drawn order
    permuted = np.empty_like(indices)  # [rows]
    permuted[order] = indices[np.roll(order, -often.max(initial=0))]
    return permuted


# One search ---------------------------------------------------------------------------------------------------------


def _searcher(
    train_sources: Sequence[str], sources: Sequence[str], own: bool, groups: Integers, row_groups: Integers
) -> Search:
    from bench.tasks.exemplars.search import Search  # compiles: some seconds that only a search should cost

    vocabulary: dict[str, int] = {}
    bags = bags_of(train_sources, vocabulary, grow=True)
    rows = bags
    if not own:
        rows = bags_of(sources, vocabulary, grow=False)
    return Search(bags, rows, len(vocabulary), groups, row_groups)


def _all(search: Search, kept: Kept, progress: Progress | None, threads: int) -> tuple[Integers, Floats]:
    """Search for all rows that are not in the cache, in blocks that go there when they are done."""
    indices, cosines, begun = kept.read_blocks()
    search.begin(begun, indices, cosines)
    with ThreadPoolExecutor(threads) as pool:
        try:
            for block in kept.blocks_from(begun):
                for start in range(block.start, block.stop, search.batch):
                    stop = min(start + search.batch, block.stop)
                    search.go_on(stop, pool, threads)
                    if progress and stop < block.stop:
                        progress(stop, kept.rows)
                kept.write_block(block, indices, cosines)
                if progress:
                    progress(block.stop, kept.rows)
        finally:
            pool.shutdown(cancel_futures=True)
    kept.write(indices, cosines)
    return indices, cosines


# Texts --------------------------------------------------------------------------------------------------------------


def _check(
    train_sources: Sequence[str],
    train_targets: Sequence[str],
    sources: Sequence[str],
    targets: Sequence[str] | None,
    own: bool,
    equal_targets: bool,
    threads: int,
) -> None:
    if not train_sources:
        raise DataError("expected training rows to take exemplars from, got none; give the task a training split")
    if len(train_sources) != len(train_targets):
        raise UsageError(
            f"expected a target for each of {len(train_sources)} training sources, got {len(train_targets)}"
        )
    if own and (len(sources) != len(train_sources) or any(map(str.__ne__, sources, train_sources))):
        raise UsageError("own=True says that the rows are the training rows, but their sources differ; give own=False")
    if not equal_targets and targets is None:
        raise UsageError("equal_targets=False excludes by the rows' targets, but there are none; give targets")
    if not equal_targets and targets is not None and len(targets) != len(sources):
        raise UsageError(f"expected a target for each of {len(sources)} rows, got {len(targets)}")
    if threads < 0:
        raise UsageError(f"expected threads >= 0 (0 for all cores), got {threads}")


def _content(
    options: Mapping[str, bool],
    train_sources: Sequence[str],
    train_targets: Sequence[str],
    sources: Sequence[str],
    both_targets: tuple[Sequence[str], Sequence[str]] | None,
) -> dict[str, Any]:
    """Return what decides the exemplars; the targets of the rows are part of it only where they are looked at."""
    hashed = None
    if both_targets is not None:
        hashed = _sha256(both_targets[1])
    return {
        "version": VERSION,
        "options": dict(options),
        "train_sources": _sha256(train_sources),
        "train_targets": _sha256(train_targets),
        "sources": _sha256(sources),
        "targets": hashed,
    }


def _sha256(texts: Iterable[str]) -> str:
    digest = hashlib.sha256()
    for text in texts:
        data = text.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()
