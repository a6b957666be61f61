"""Inputs: what `update` of a torchmetrics class takes, turned into the rows and gold that a scorer reads.

Each family names one of these in its entry. The functions return rows without ids and, for each row, what it is
compared with. Texts are a string or a list of strings; a list of token ids may be a tensor.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

__all__ = ["INPUTS", "Inputs"]

RowDicts = list[dict[str, Any]]
Both = tuple[RowDicts, RowDicts]


def references(preds: str | Sequence[str], target: Any) -> Both:
    """Texts, and for each of them a reference or a list of references."""
    texts, targets = _paired(preds, target)
    gold: RowDicts = []
    for given in targets:
        of_text = _as_list(given)
        gold.append({"references": of_text, "target": of_text[0]})
    return [{"text": text} for text in texts], gold


def sources(preds: str | Sequence[str], target: Any) -> Both:
    """Texts, and for each of them the article or prompt that it was made from."""
    texts, targets = _paired(preds, target)
    return [{"text": text} for text in texts], [{"source": source} for source in targets]


def fields(preds: str | Sequence[str], target: Any) -> Both:
    """Texts, and for each of them a mapping with the fields that the family's entry names under `gold`."""
    if isinstance(target, Mapping):
        target = [target]
    texts, targets = _paired(preds, target)
    return [{"text": text} for text in texts], [dict(given) for given in targets]


def continuations(preds: Any, target: Any = None) -> Both:
    """Token ids `[n][length]` or strings, whose words are then what white space parts; and their true continuations.

    The target may be left out where no column compares with it.
    """
    texts = _as_list(preds)
    rows = [_named(text, "text", "token_ids") for text in texts]
    if target is not None:
        targets = list(target)
        if isinstance(preds, str):
            targets = _as_list(target)
        _check(len(texts), len(targets))
        for row, true in zip(rows, targets, strict=True):
            row.update(_named(true, "reference", "reference_ids"))
    return rows, [{} for _ in rows]


def likelihoods(
    preds: Tensor,
    target: Tensor,
    ignore_index: int | None = None,
    n_words: Sequence[int] | None = None,
    n_bytes: Sequence[int] | None = None,
) -> Both:
    """Logits `[B, T, V]` and targets `[B, T]`, each row a text.

    Args:
        preds: logits; log-probabilities do as well.
        target: token ids.
        ignore_index: targets that count for nothing.
        n_words: `[B]` words of each text, for the perplexity per word.
        n_bytes: `[B]` bytes of each text, for the perplexity per byte.
    """
    if preds.ndim != 3 or preds.shape[:2] != target.shape:
        shapes = f"{tuple(preds.shape)} and {tuple(target.shape)}"
        raise ValueError(f"expected preds [B, T, V] and target [B, T], got {shapes}")
    rows: RowDicts = []
    for place in range(len(preds)):
        kept = torch.ones_like(target[place], dtype=torch.bool)
        if ignore_index is not None:
            kept = target[place] != ignore_index
        logits = preds[place][kept].detach().double()  # [n, V]
        losses = torch.nn.functional.cross_entropy(logits, target[place][kept], reduction="none")
        rows.append({"nll_sum": math.fsum(losses.tolist()), "n_tokens": len(losses)})
    for name, counts in (("n_words", n_words), ("n_bytes", n_bytes)):
        if counts is None:
            counts = [0] * len(rows)
        _check(len(rows), len(counts))
        for row, count in zip(rows, counts, strict=True):
            row[name] = int(count)
    return rows, [{} for _ in rows]


def cached_tokens(hits: Sequence[int], cached: Sequence[int], tokens: Sequence[int]) -> Both:
    """For each text: tokens that the most similar memory entry holds, that some entry holds, and all target tokens."""
    rows: RowDicts = []
    for n_hits, n_cached, n_tokens in zip(hits, cached, tokens, strict=True):
        rows.append({"n_cache_hits": int(n_hits), "n_cached": int(n_cached), "n_tokens": int(n_tokens)})
    return rows, [{} for _ in rows]


def rankings(preds: Mapping[str, Any], target: Sequence[Sequence[Sequence[int]]]) -> Both:
    """Rankings of prompts and the two words each wants.

    Args:
        preds: `head`, `full` and `cache`, each `[n, depth]` token ids, best first; negative ids fill up a short one.
        target: for each prompt and each of its two words, the ids it may begin with.
    """
    rows: RowDicts = [{"wanted": list(map(_ids, words))} for words in target]
    for mode, ranked in preds.items():
        _check(len(rows), len(ranked))
        for row, ids in zip(rows, ranked, strict=True):
            row[mode] = [token for token in _ids(ids) if token >= 0]
    return rows, [{} for _ in rows]


def group_counts(preds: Sequence[Sequence[int]]) -> Both:
    """For each text, how many of its tokens are in each frequency group."""
    rows = [{"groups": _ids(counts)} for counts in preds]
    return rows, [{} for _ in rows]


def log_probs(preds: Tensor) -> Both:
    """Rows of a matrix of log-probabilities `[n, V]`; the rank is that of all rows together."""
    if preds.ndim != 2:
        raise ValueError(f"expected log-probabilities [n, V], got the shape {tuple(preds.shape)}")
    matrix = np.ascontiguousarray(preds.detach().cpu().double().numpy())
    rows = [{"log_probs": base64.b64encode(row.tobytes()).decode()} for row in matrix]
    return rows, [{} for _ in rows]


def one_spectrum(rows: RowDicts) -> RowDicts:
    """Return the stored row of a matrix whose rows were gathered."""
    from bench.metrics.likelihood.matrix_rank import singular_values

    if "log_probs" not in rows[0]:
        return rows
    matrix = np.stack([np.frombuffer(base64.b64decode(row["log_probs"])) for row in rows])
    values = singular_values(torch.from_numpy(matrix))
    return [
        {"id": "singular_values", "shape": list(matrix.shape), "values": values.tolist(), "rows": len(rows)},
    ]


def numbered_words(rows: RowDicts) -> RowDicts:
    """Return rows whose token ids are numbers: words are numbered in the order of the alphabet, alike on every rank."""
    names = ("token_ids", "reference_ids")
    words: set[str] = set()
    for row in rows:
        for name in names:
            words.update(token for token in row.get(name, ()) if isinstance(token, str))
    number = {word: place for place, word in enumerate(sorted(words))}
    if not number:
        return rows
    numbered = []
    for row in rows:
        ids = {}
        for name in names:
            if name in row:
                ids[name] = [number[token] for token in row[name]]
        numbered.append({**row, **ids})
    return numbered


def _as_they_are(rows: RowDicts) -> RowDicts:
    return rows


def _paired(preds: Any, target: Any) -> tuple[list[str], list[Any]]:
    """Return texts and a target for each; one text may stand without its list."""
    if isinstance(preds, str):
        if isinstance(target, (str, Mapping)) or len(target) != 1 or isinstance(target[0], str):
            target = [target]
        return [preds], list(target)
    if isinstance(target, str):
        raise ValueError(f"expected a target for each of {len(preds)} texts, got one text")
    _check(len(preds), len(target))
    return list(preds), list(target)


def _check(texts: int, targets: int) -> None:
    if texts != targets:
        raise ValueError(f"expected one target for each of {texts} texts, got {targets}")


def _named(text: Any, as_text: str, as_ids: str) -> dict[str, Any]:
    """Return a text by its words, or token ids with their numbers as words."""
    if isinstance(text, str):
        return {as_text: text, as_ids: text.split()}
    ids = _ids(text)
    return {as_text: " ".join(map(str, ids)), as_ids: ids}


def _ids(ids: Any) -> list[int]:
    if isinstance(ids, Tensor):
        ids = ids.tolist()
    return [int(token) for token in ids]


def _as_list(texts: Any) -> list[Any]:
    """Return several texts, or one text alone, as a list."""
    if isinstance(texts, str):
        return [texts]
    return list(texts)


@dataclass(frozen=True)
class Inputs:
    """How `update`'s arguments become rows.

    Args:
        rows: makes rows and what each is compared with.
        gathered: what is done to the rows of all updates and ranks before they are scored.
    """

    rows: Callable[..., Both]
    gathered: Callable[[RowDicts], RowDicts] = _as_they_are


INPUTS: dict[str, Inputs] = {
    "references": Inputs(references),
    "sources": Inputs(sources),
    "fields": Inputs(fields),
    "continuations": Inputs(continuations, numbered_words),
    "group_counts": Inputs(group_counts),
    "likelihoods": Inputs(likelihoods),
    "cached_tokens": Inputs(cached_tokens),
    "rankings": Inputs(rankings),
    "log_probs": Inputs(log_probs, one_spectrum),
}
