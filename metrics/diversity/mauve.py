"""MAUVE of stored texts against their true continuations (Pillutla et al. 2021), by the package mauve-text.

The feature of a text is the last hidden state of GPT-2 large at its last token. `mauve[NAME]` or `BENCH_MAUVE` names
another model, whose numbers have columns of their own; a sentence encoder is pooled as its folder says. The package
would compute features too, anew for every model; here they are kept on disk under a hash of the texts and of the
language model, so that true continuations are read once. The package's own defaults do the rest. Empty texts are left
out, as in the package; their number has a column here. MAUVE depends on how many texts there are and how long they are:
compare equal numbers only.

It also depends on where k-means starts (85.2, 84.5 and 77.3 from three seeds at 300 texts). So the value is the mean of
five clusterings, and their standard deviation has a column; until version 2 the value was that of seed 25.
"""

import hashlib
import json
import os
import statistics
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.base.files import write_atomic
from bench.base.machine import cache_root
from bench.errors import StoreError
from bench.metrics.faithfulness.checkpoints import NotApplicable, find, label_of
from bench.metrics.faithfulness.embedder import Embedder, embed, load
from bench.metrics.score import Gold, Row, Score, Scorer, explained, field_of_all, ordered

READERS = ("openai-community/gpt2-large", "gpt2-large")
VARIABLE = "BENCH_MAUVE"
SETTINGS = {"buckets": "n/10", "pca": 0.9, "redo": 5, "iterations": 500, "scaling": 5, "seeds": "25-29", "points": 25}
"""Defaults of mauve-text 0.4, passed on by name all the same; its seed is 25."""
SEEDS = range(25, 30)
MIN_TEXTS = 2
VERSION = "version:3"


@dataclass(frozen=True)
class Features:
    """Features of texts.

    Args:
        values: `[texts, d]` in float32, in the order of the texts that are not empty.
        cut: number of texts that are longer than the model reads.
        empty: number of texts that were left out.
    """

    values: NDArray[np.float32]
    cut: int
    empty: int


def clusterings(
    references: NDArray[np.float32], texts: NDArray[np.float32], seeds: Sequence[int] = SEEDS
) -> list[float]:
    """Return MAUVE in percent of features `[n, d]` and `[m, d]` for each seed of k-means; none for fewer than two.

    Raises:
        NotApplicable: mauve-text is not installed.
    """
    if min(len(references), len(texts)) < MIN_TEXTS:
        return []
    compute_mauve, values = _package(), []
    for seed in seeds:
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
        values.append(100.0 * float(computed.mauve))
    return values


def _package() -> Callable[..., Any]:
    """Return the function of mauve-text."""
    try:
        from mauve import compute_mauve
    except ImportError as error:
        raise NotApplicable("needs mauve-text: pip install 'objective-bench[mauve]'") from error
    function: Callable[..., Any] = compute_mauve
    return function


def load_reader(checkpoint: str | None = None) -> Embedder:
    """Load the model that makes features: a given one, or GPT-2 large under either of its hub names.

    Raises:
        NotApplicable: it is not on this machine, or weights are missing.
    """
    names = READERS if checkpoint is None else (checkpoint,)
    for name in names[:-1]:
        with suppress(NotApplicable):
            return load(name, pooling="last")
    is_encoder = (find(names[-1]) / "1_Pooling").is_dir()
    return load(names[-1], pooling=None if is_encoder else "last")


def features_of(reader: Embedder, texts: Sequence[str], folder: Path) -> Features:
    """Return the features of texts, from the folder if they are there, else computed and stored there."""
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


def mauve_scores(rows: Sequence[Row], gold: Gold, model: str = "") -> list[Score]:
    """Score generated texts by MAUVE against the true continuations of the same prompts.

    Further columns are the standard deviation of its five clusterings, how many of the texts are empty, and so left
    out, and how many texts of both sides were cut.

    Args:
        rows: `{"id", "text", "reference"}`; the value is None where rows have no `reference`.
        gold: for its ids only.
        model: a folder, hub id or name for `bench models get`; by default the value of BENCH_MAUVE, else GPT-2 large.

    Raises:
        ValueError: the ids are not those of `gold`, or `reference` is in some rows only.
    """
    rows = ordered(rows, gold)
    references = field_of_all(rows, "reference")
    named = label_of(model) if model else ""
    model = model or os.environ.get(VARIABLE, "")
    label = named or label_of(model or READERS[0], READERS[0])
    if references is None or not rows:
        return _without_value(label, len(rows), "rows without a reference")
    try:
        _package()  # before the large model is loaded
        reader = load_reader(model or None)
    except NotApplicable as reason:
        return _without_value(label, len(rows), str(reason))
    folder = cache_root() / "features"
    true = features_of(reader, references, folder)
    made = features_of(reader, [row["text"] for row in rows], folder)
    options = "|".join(f"{name}:{value}" for name, value in SETTINGS.items())
    package = f"mauve-text:{version('mauve-text')}|{options}|empty:left out|scale:percent"
    value = spread = None
    if values := clusterings(true.values, made.values):
        value, spread = statistics.fmean(values), statistics.stdev(values)
    scores = _columns(
        label,
        (value, spread, float(made.empty), float(true.cut + made.cut)),
        (len(made.values), len(made.values), len(rows), len(rows)),
        f"mauve|{package}|{reader.signature}|{VERSION}",
    )
    return [explained(score, f"fewer than {MIN_TEXTS} texts that are not empty") for score in scores]


def mauve_by(model: str) -> Scorer:
    """Return the scorer by features of a named model."""
    return partial(mauve_scores, model=model)


def _without_value(label: str, n: int, reason: str) -> list[Score]:
    return [explained(score, reason) for score in _columns(label, (None,) * 4, (n,) * 4, f"mauve|{VERSION}")]


def _columns(label: str, values: Sequence[float | None], numbers: Sequence[int], signature: str) -> list[Score]:
    columns = (("", "percent", True), ("/sd", "percent", None), ("/empty", "count", None),
               ("/truncated", "count", None))  # fmt: skip
    return [
        Score(f"mauve{label}{name}", value, unit, direction, n, signature)
        for (name, unit, direction), value, n in zip(columns, values, numbers, strict=True)
    ]
