"""Stored cells made by hand: what a run would have left, without a run."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.base.keys import key_of
from bench.leaderboards.leaderboards import Leaderboards, with_statistics
from bench.leaderboards.table import tables
from bench.metrics.sums import Sums
from bench.store.store import CellFolder, Store

PROVENANCE = {"host": "somewhere"}
NO_DIRECTION = ("rank/",)
LOWER_IS_BETTER = ("ppl/", "kld", "sample-ppl", "self-bleu", "seq-rep")


def leaderboards_of(store: Store, **options: Any) -> Leaderboards:
    """Everything a store can show."""
    return with_statistics(*tables(store, **options))


def manifest(split: str, status: str, text: str = "") -> dict[str, Any]:
    """A manifest of a split; another text is another content."""
    sha256 = key_of([split, text]) * 4
    return {"split": split, "status": status, "rows": 10, "bytes": 100, "sha256": sha256, "skipped": 0}


def config(method: str, seed: int, **changes: Any) -> dict[str, Any]:
    """A cell's configuration; `trainer__lr=1` changes a section's option."""
    found: dict[str, Any] = {
        "task": "logicnlg", "method": method, "backbone": "small-encdec", "seed": seed, "preset": "small",
        "trainer": {"steps": 10, "lr": 0.001, "limit": None},
        "evaluation": {"split": "test", "rows": None, "batch_size": 50, "spectrum_rows": 500},
        "decodings": ["greedy"], "task_options": {"style": "compact"}, "method_options": {},
        "backbone_options": {"width": 128},
    }  # fmt: skip
    for name, value in changes.items():
        section, _, option = name.partition("__")
        if option:
            found[section] = {**found[section], option: value}
        else:
            found[section] = value
    return found


def trained(
    root: Path, method: str = "mle", seed: int = 0, *, status: str = "ok", data: Mapping[str, Any] | None = None,
    code: Mapping[str, Any] | None = None, start: Mapping[str, Any] | None = None, extra: str = "",
    remarks: Sequence[str] = (), with_model: bool = True, title: str = "", memory: float | None = None, **changes: Any,
) -> CellFolder:  # fmt: skip
    """Store what was trained; `extra` makes another key of the same configuration, `memory` its weight of a memory."""
    found = config(method, seed, **changes)
    code = code or {"class": method, "version": 1}
    key = key_of([found, code, start, extra])
    cell = Store(root).cell(found["task"], method, key)
    splits = data or {"train": manifest("train", "official"), "test": manifest("test", "official")}
    content = {"key": key, "config": found, "status": status, "method": code, "data": splits, "start": start,
               "model": {"checkpoint_sha256": "0" * 64}}  # fmt: skip
    if not with_model:
        del content["model"]
    if title:
        content["title"] = title
    if memory is not None:
        content["train"] = {"after_training": {"weight": memory}}
    if remarks:
        content["remarks"] = list(remarks)
    cell.write_trained(content, PROVENANCE)
    return cell


def signature(name: str) -> str:
    """The signature of a metric in these stores."""
    return f"{name.partition('/')[0]}|version:1"


def scored(
    cell: CellFolder, values: Mapping[str, float | None], *, kind: str = "generation", decoding: str | None = "greedy",
    ids: Sequence[str] = ("a", "b", "c"), whole: bool = True, split: str = "test", batch_size: int = 50,
    signatures: Mapping[str, str] | None = None, sha256: str | None = None, of_rows: str | None = None,
    shown_as: str = "", human: Mapping[str, float] | None = None, items: Mapping[str, Sums] | None = None,
    sampling_seed: int | None = None, texts: Mapping[str, str] | None = None, truncated: int = 0,
) -> CellFolder:  # fmt: skip
    """Store scores of one rows file.

    `human` are the values of what people wrote, `items` what columns are made of, and `texts` the predictions by id.
    """
    record = cell.trained()
    assert record is not None
    of = {
        "trained": record["key"], "kind": kind, "split": split, "batch_size": batch_size, "whole_split": whole,
        "ids": {"n": len(ids), "sha256": key_of(list(ids))}, "of_rows": of_rows or key_of(list(ids)),
        "decoding": {"name": decoding} if decoding else None, "shown_as": shown_as,
        "status": record["data"].get(split, {"status": "official"})["status"],
        "max_new_tokens": 64, "truncated": truncated,
        "split_sha256": sha256 or record["data"].get(split, manifest(split, "official"))["sha256"],
    }  # fmt: skip
    if sampling_seed is not None:
        of["sampling_seed"] = sampling_seed
    given = signatures or {}
    found = [
        {"name": name, "value": value, "unit": "", "n": len(ids), "signature": given.get(name, signature(name)),
         "higher_is_better": None if name.startswith(NO_DIRECTION) else not name.startswith(LOWER_IS_BETTER)}
        for name, value in values.items()
    ]  # fmt: skip
    content = {"family": "x", "of": of, "values": found}
    if human:
        content["human"] = [{**one, "value": human[one["name"]]} for one in found if one["name"] in human]
    if items:
        content["items"] = cell.write_sums(items)
    if texts:
        content["rows"] = key_of([of, dict(texts)])
        cell.write_rows(content["rows"], of, [{"id": name, "text": text} for name, text in texts.items()], PROVENANCE)
    cell.write_record(f"scores-{key_of([of, found])}.json", content, PROVENANCE)
    return cell


def ready(
    root: Path, method: str = "mle", seed: int = 0, *, bleu: float = 30.0, ppl: float = 20.0, **changes: Any
) -> None:
    """Store a whole LogicNLG cell: a generation and a likelihood."""
    cell = scored(trained(root, method, seed, **changes), {"bleu-1": bleu, "bleu-3": bleu / 2})
    scored(cell, {"ppl/word": ppl}, kind="likelihood", decoding=None)
