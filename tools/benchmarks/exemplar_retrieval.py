"""Time and memory of exemplar retrieval, beside sparse_dot_topn where that is installed.

    python tools/benchmarks/exemplar_retrieval.py [--documents 20000] [--queries 2000] [--threads 1] [--repeats 5]

Texts are made up: words of a Zipf law over 100,000 types, about 31 a text, so 28 different ones. Search time is that of
all queries, with that of our index and over ready matrices of the peer; the searches run in turn in one process, after
a first run that compiles, and the median of the repeats counts. Processor time is what a busy machine leaves
comparable. Nothing is excluded here. The peer is asked for one neighbour and for two, which is what it takes to drop a
row itself; equal sources would take more. "Differs" is the greatest difference between the best cosines, and the share
of queries for which the two name different documents, as ties allow.

Memory: `retrieve`, texts in and exemplars out, for a quarter, half and all of the documents with themselves as queries,
each in a forked child before anything else was timed; printed is how far ru_maxrss rose above its value at the fork.

With BENCH_DATA set, the headlines in its folder gigaword/ follow: whole calls of `retrieve`, and how many exemplars are
the gold target.
"""

from __future__ import annotations

import argparse
import gzip
import os
import statistics
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from bench.tasks.exemplars.bag_of_words import Bags, bags_of
from bench.tasks.exemplars.retrieve import gold_share, leak, retrieve
from bench.tasks.exemplars.search import search
from tools.memory import peak_megabytes

TYPES = 100_000
Best = tuple[Any, Any]  # document and cosine of each query


def make_texts(n: int, seed: int) -> list[str]:
    """Texts of words drawn independently; rank r has probability proportional to 1 / r."""
    generator = np.random.default_rng(seed)
    weights = 1 / np.arange(1, TYPES + 1)
    lengths = np.clip(generator.normal(31.4, 8, n).round(), 5, 70).astype(int)
    drawn = np.split(generator.choice(TYPES, lengths.sum(), p=weights / weights.sum()), np.cumsum(lengths)[:-1])
    return [" ".join(f"w{word}" for word in text) for text in drawn]


def searcher(documents: Bags, queries: Bags, terms: int, threads: int) -> Callable[[], Best]:
    """Our search, with the time that its index takes."""
    groups = np.zeros((0, 1), np.int64)

    def find() -> Best:
        best = search(documents, queries, terms, groups, groups.repeat(len(queries.squared), axis=1), threads)
        return best.documents, best.dots / np.sqrt(queries.squared * documents.squared[best.documents])

    return find


def peers(documents: Bags, queries: Bags, terms: int, threads: int) -> dict[str, Callable[[], Best]]:
    """The searches of sparse_dot_topn over ready matrices of unit rows; none where it is not installed."""
    try:
        from scipy import sparse
        from sparse_dot_topn import sp_matmul_topn
    except ImportError:
        return {}

    def matrix(bags: Bags) -> Any:
        values = bags.counts / np.sqrt(bags.squared).repeat(np.diff(bags.starts))
        return sparse.csr_matrix((values, bags.terms, bags.starts), shape=(len(bags.squared), terms))

    left, right = matrix(queries), matrix(documents).T.tocsr()

    def search(n: int) -> Best:
        found = sp_matmul_topn(left, right, top_n=n, sort=True, n_threads=threads)
        return found.indices[found.indptr[:-1]], found.data[found.indptr[:-1]]

    return {f"sparse_dot_topn, {n} best": partial(search, n) for n in (1, 2)}


def seconds(forms: dict[str, Callable[[], Best]], repeats: int) -> dict[str, tuple[float, float]]:
    """Median wall and processor time of each form; one run of each, in turn, per repeat."""
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in forms}
    for _ in range(repeats):
        for name, form in forms.items():
            start, used = time.perf_counter(), time.process_time()
            form()
            times[name].append((time.perf_counter() - start, time.process_time() - used))
    return {name: tuple(map(statistics.median, zip(*pairs, strict=True))) for name, pairs in times.items()}


def made_up(documents: int, queries: int, threads: int, repeats: int) -> None:
    """Print memory and time on made-up texts."""
    texts, asked = make_texts(documents, 0), make_texts(queries, 1)
    warm_up = [text.replace("w", "") for text in texts[:500]]
    retrieve(warm_up, warm_up)
    for part in (4, 2, 1):
        some = texts[: documents // part]
        risen = peak_megabytes(partial(retrieve, some, some, threads=threads))
        each = 1e6 * risen / len(some)
        print(f"retrieve, {len(some):>9,} texts for themselves: {risen:8.1f} MB, {each:6.0f} B a text")

    start = time.perf_counter()
    vocabulary: dict[str, int] = {}
    bags, rows = bags_of(texts, vocabulary, grow=True), bags_of(asked, vocabulary, grow=False)
    counted = time.perf_counter() - start
    forms = {"bench": searcher(bags, rows, len(vocabulary), threads), **peers(bags, rows, len(vocabulary), threads)}
    answers = {name: form() for name, form in forms.items()}
    times = seconds(forms, repeats)
    different = len(bags.terms) / documents
    print(f"{documents:,} documents of {different:.1f} different words, counted in {counted:.2f} s with the queries")
    head = f"{queries:,} queries, threads={threads}"
    print(f"{head:28}{'wall s':>10}{'slower':>10}{'processor s':>14}{'slower':>10}")
    for name, (wall, used) in times.items():
        slower = wall / times["bench"][0], used / times["bench"][1]
        print(f"{name:28}{wall:10.3f}{slower[0]:9.1f}x{used:14.3f}{slower[1]:9.1f}x")
    if len(forms) == 1:
        print("peer not installed: sparse_dot_topn")
        return
    (best, cosines), (others, scores), _ = answers.values()
    print(f"differs: best cosine {np.abs(cosines - scores).max():.1e}, document {(best != others).mean():.2%}")


def headlines(folder: Path, threads: int) -> None:
    """Print time and leak on the 10,000 + 1,951 headlines of Gigaword."""

    def lines(path: Path) -> list[str]:
        data = path.read_bytes()
        return (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8").splitlines()

    train = [lines(folder / "train" / f"train.{part}.txt.gz") for part in ("article", "title")]
    test = [lines(folder / "giga" / name) for name in ("input.txt", "task1_ref0.txt")]
    cases: dict[str, tuple[list[list[str]], dict[str, bool]]] = {
        "train": (train, {}),
        "train, without equal targets": (train, {"equal_targets": False}),
        "test": (test, {}),
    }
    shares = []
    for name, (rows, options) in cases.items():
        start = time.perf_counter()
        found = retrieve(*train, None if rows is train else rows[0], threads=threads, **options)
        taken = time.perf_counter() - start
        shares.append(gold_share(found, train[1], rows[1]))
        print(f"gigaword {name:26} {taken:6.2f} s, exemplar is gold: "
              f"{shares[-1]:7.2%} = {round(shares[-1] * len(rows[0]))} of {len(rows[0])}")  # fmt: skip
    for name, share in zip(cases, shares[:-1], strict=False):
        print(f"{name}: {leak(share, shares[-1]) or 'no alarm'}")


def main() -> None:
    """Print all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("documents", 20_000), ("queries", 2_000), ("threads", 1), ("repeats", 5)):
        parser.add_argument(f"--{name}", type=int, default=default)
    args = parser.parse_args()
    made_up(args.documents, args.queries, args.threads, args.repeats)
    folder = Path(os.environ.get("BENCH_DATA") or "no data") / "gigaword"
    if folder.is_dir():
        headlines(folder, args.threads)


if __name__ == "__main__":
    main()
