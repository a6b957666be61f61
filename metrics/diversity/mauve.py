"""MAUVE of stored texts against their true continuations (Pillutla et al. 2021), by the package mauve-text.

A text is the last hidden state of GPT-2 large at its last token. The package would compute these too, anew for every
model; here they are kept on disk by a hash of the texts and of what reads them, so that true continuations are read
once. The package's own defaults do the rest. Empty texts are left out, as the package does too; their number has a
column here. MAUVE depends on how many texts there are and how long they are: compare equal numbers only.

It also depends on where k-means starts (85.2, 84.5 and 77.3 from three seeds at 300 texts). So the value is the mean of
five clusterings, and their standard deviation stands beside it; until version 2 it was the one of seed 25.
"""

from __future__ import annotations

import hashlib
import json
import os
import statistics
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.base.files import write_atomic
from bench.errors import StoreError
from bench.metrics.faithfulness.embedder import Embedder, NoVerifier, embed, load
from bench.metrics.score import Gold, Row, Score, explained, ordered

__all__ = ["Features", "clusterings", "features_of", "load_reader", "mauve", "mauve_scores"]

READERS = ("openai-community/gpt2-large", "gpt2-large")
VARIABLE = "BENCH_MAUVE"
SETTINGS = {"buckets": "n/10", "pca": 0.9, "redo": 5, "iterations": 500, "scaling": 5, "seeds": "25-29", "points": 25}
"""Defaults of mauve-text 0.4, handed over by name all the same; its seed is 25."""
SEEDS = range(25, 30)
FEWEST = 2
VERSION = "version:3"


@dataclass(frozen=True)
class Features:
    """Texts as a language model reads them.

    Args:
        values: `[texts, d]` in float32, in the order of the texts that are not empty.
        cut: how many texts were longer than the model reads.
        empty: how many texts were left out.
    """

    values: NDArray[np.float32]
    cut: int
    empty: int


def mauve(references: NDArray[np.float32], texts: NDArray[np.float32]) -> float | None:
    """Return the mean of `clusterings`, None where there are none; arguments and errors as there."""
    values = clusterings(references, texts)
    if not values:
        return None
    return statistics.fmean(values)


def clusterings(
    references: NDArray[np.float32], texts: NDArray[np.float32], seeds: Sequence[int] = SEEDS
) -> list[float]:
    """Return MAUVE in percent of features `[n, d]` and `[m, d]`, once for each seed of k-means.

    Nothing is returned below two of either.

    Raises:
        NoVerifier: mauve-text is not installed.
    """
    compute_mauve = _package()
    if min(len(references), len(texts)) < FEWEST:
        return []
    return [_clustered(compute_mauve, references, texts, seed) for seed in seeds]


def _package() -> Callable[..., Any]:
    """Return the function of mauve-text."""
    try:
        from mauve import compute_mauve
    except ImportError as error:
        raise NoVerifier("needs mauve-text: pip install 'objective-bench[mauve]'") from error
    function: Callable[..., Any] = compute_mauve
    return function


def _clustered(
    compute_mauve: Callable[..., Any], references: NDArray[np.float32], texts: NDArray[np.float32], seed: int
) -> float:
    computed = compute_mauve(
        p_features=references,
        q_features=texts,
        num_buckets="auto",
        kmeans_explained_var=SETTINGS["pca"],
        kmeans_num_redo=SETTINGS["redo"],
        kmeans_max_iter=SETTINGS["iterations"],
        mauve_scaling_factor=SETTINGS["scaling"],
        seed=seed,
        divergence_curve_discretization_size=SETTINGS["points"],
    )
    return 100.0 * float(computed.mauve)


def load_reader(checkpoint: str | None = None) -> Embedder:
    """Load the language model that reads texts: the one asked for, or GPT-2 large under either of its hub names.

    Raises:
        NoVerifier: it is not on this machine or lacks weights.
    """
    names: tuple[str, ...] = READERS
    if checkpoint is not None:
        names = (checkpoint,)
    for name in names:
        try:
            return load(name, pooling="last")
        except NoVerifier as why:
            last = why
    raise last


def features_of(reader: Embedder, texts: Sequence[str], folder: Path) -> Features:
    """Return the features of texts, from the folder if they are there, else made and kept there."""
    from safetensors import SafetensorError
    from safetensors.numpy import load as read
    from safetensors.numpy import save

    kept = [text for text in texts if text]
    key = hashlib.sha256(json.dumps([reader.signature, kept]).encode()).hexdigest()
    path, empty = folder / f"{key}.safetensors", len(texts) - len(kept)
    try:
        stored = read(path.read_bytes())
        return Features(stored["values"], int(stored["cut"][0]), empty)
    except (OSError, KeyError, SafetensorError):  # not there, or not whole
        values, cut = embed(reader, kept)
    made = Features(values.numpy(), cut, empty)
    with suppress(StoreError):  # a full disk or a read-only home: then they are computed again
        write_atomic(path, save({"values": made.values, "cut": np.array([cut])}), replace=True)
    return made


def mauve_scores(
    rows: Sequence[Row], gold: Gold, loader: Callable[[str | None], Embedder] = load_reader
) -> list[Score]:
    """Score generated texts by MAUVE against the true continuations of the same prompts.

    Beside it stand the standard deviation of its five clusterings, how many of these texts are empty, and so left out,
    and how many of both sides were cut.

    Args:
        rows: `{"id", "text", "reference"}`; the value is None where rows have no `reference`.
        gold: for its ids only.
        loader: loads the language model; None and the reason where it cannot.

    Raises:
        ValueError: other ids than the gold's, or a reference in some rows only.
    """
    rows = ordered(rows, gold)
    without = [row["id"] for row in rows if "reference" not in row]
    if len(without) == len(rows):
        return _nothing(len(rows), "rows without a reference")
    if without:
        raise ValueError(
            f"expected a reference in all {len(rows)} rows or in none, {len(without)} lack it: {without[:3]}"
        )
    try:
        _package()  # before the large model is loaded
        reader = loader(os.environ.get(VARIABLE) or None)
    except NoVerifier as why:
        return _nothing(len(rows), str(why))
    folder = Path(os.environ.get("BENCH_CACHE", Path.home() / ".cache" / "objective-bench")) / "features"
    true = features_of(reader, [row["reference"] for row in rows], folder)
    made = features_of(reader, [row["text"] for row in rows], folder)
    signed = f"{_signature()}|{reader.signature}|{VERSION}"
    value = spread = None
    if values := clusterings(true.values, made.values):
        value, spread = statistics.fmean(values), statistics.stdev(values)
    too_few = f"fewer than {FEWEST} texts that are not empty"
    return [
        explained(Score("mauve", value, "percent", True, len(made.values), signed), too_few),
        explained(Score("mauve/sd", spread, "percent", None, len(made.values), signed), too_few),
        Score("mauve/empty", float(made.empty), "count", None, len(rows), signed),
        Score("mauve/truncated", float(true.cut + made.cut), "count", None, len(rows), signed),
    ]


def _nothing(n: int, why: str) -> list[Score]:
    columns = [
        Score("mauve", None, "percent", True, n, f"mauve|{VERSION}"),
        Score("mauve/sd", None, "percent", None, n, f"mauve|{VERSION}"),
        Score("mauve/empty", None, "count", None, n, f"mauve|{VERSION}"),
        Score("mauve/truncated", None, "count", None, n, f"mauve|{VERSION}"),
    ]
    return [explained(column, why) for column in columns]


def _signature() -> str:
    """Name the package and its options."""
    options = "|".join(f"{name}:{value}" for name, value in SETTINGS.items())
    return f"mauve|mauve-text:{version('mauve-text')}|{options}|empty:left out|scale:percent"
