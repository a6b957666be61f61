"""Work: what is done inside one process for one cell. One process does all of it; several share it."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch

from bench.build import build, target_counts
from bench.errors import BenchError, StoreError
from bench.evaluate import evaluate, merge
from bench.files import write_atomic
from bench.keys import canonical, key_of, sha256
from bench.models.objective import Objective
from bench.plan import Cell, evaluation_content
from bench.provenance import provenance
from bench.store import CellFolder
from bench.tasks.codec import Codec
from bench.training import load_checkpoint, save_checkpoint, train

OnStep = Callable[[int, int, dict[str, float]], None]


def work(
    cell: Cell,
    rows_keys: Collection[str],
    *,
    rank: int = 0,
    world: int = 1,
    accumulate: int = 1,
    strategy: str | None = None,
    scratch: Path | None = None,
    on_step: OnStep | None = None,
    on_stage: Callable[[str], None] = lambda stage: None,
) -> None:
    """Train a cell unless it is trained, then make the rows it misses.

    Args:
        cell: what.
        rows_keys: evaluations whose rows are missing.
        rank: this process; rank 0 stores what was trained.
        world: processes. One stores its rows itself; several leave their shares in `scratch` for `collect`.
        on_step: told about training steps.
        on_stage: told what comes next.
    """
    started = time.monotonic()
    objective, codec = build(cell)
    content = cell.folder.trained()
    if content is None:
        on_stage("training")
        found = train(objective, cell.task, codec, cell.config.trainer, cell.config.seed,
                      world=world, accumulate=accumulate, strategy=strategy, on_step=on_step)  # fmt: skip
        if rank == 0:
            store_trained(cell, objective, codec, found, world, started)
        content = stored_by_first(cell.folder)
    if content["status"] != "ok":
        return
    load_verified(objective, cell.folder, content)
    objective.to(device_of(rank))
    needs_counts = any(w.decoding and w.decoding.distribution == "decoupled" for w in cell.evaluations.values())
    if needs_counts:
        objective.token_counts = target_counts(cell, codec, objective.backbone.vocabulary_size)
    for key in rows_keys:
        make_rows(cell, key, objective, codec, rank, world, scratch, on_stage)


def stored_by_first(folder: CellFolder) -> dict[str, Any]:
    """Return what is stored of the training, waiting for the first rank to store it.

    Every rank evaluates what is stored, which another run may have trained at the same time.
    """
    while (content := folder.trained()) is None:
        time.sleep(0.05)
    return content


def device_of(rank: int) -> torch.device:
    """Return the device of a process."""
    return torch.device("cuda", rank % torch.cuda.device_count()) if torch.cuda.is_available() else torch.device("cpu")


def make_rows(
    cell: Cell, key: str, objective: Objective, codec: Codec, rank: int, world: int, scratch: Path | None,
    on_stage: Callable[[str], None],
) -> None:  # fmt: skip
    """Evaluate this rank's share; store it, or leave it in `scratch`."""
    started = time.monotonic()
    what = cell.evaluations[key]
    on_stage(what.kind + (f" {what.decoding.name}" if what.decoding else ""))
    part = list(evaluate(objective, cell.task, codec, what, rank, world))
    if scratch is None:
        store_rows(cell, key, [part], started)
        return
    data = b"".join(canonical(row) + b"\n" for row in part)
    write_atomic(scratch / f"{key}.{rank}", data, replace=True)


def store_rows(cell: Cell, key: str, parts: list[list[dict[str, Any]]], started: float) -> None:
    """Check that the parts are exactly the wanted rows and store them."""
    what = cell.evaluations[key]
    ids = ("singular_values",) if what.kind == "spectrum" else what.ids
    rows = merge(parts, ids, f"{cell.label}, {what.kind}")
    split = cell.task.split(what.split)
    content = {
        "trained": cell.key,
        **evaluation_content(what),
        "status": split.status,
        "split_sha256": cell.task.manifest(what.split).sha256,
        "whole_split": len(what.ids) == len(split.examples) or what.kind == "spectrum",
        "truncated": sum(row.get("truncated", 0) > 0 for row in rows),
    }
    cell.folder.write_rows(key, content, rows, provenance(started))


def store_trained(
    cell: Cell, objective: Objective, codec: Codec, found: dict[str, Any], world: int, started: float
) -> None:
    """Put the checkpoint in its place, then the record that vouches for it."""
    folder = cell.folder
    data = save_checkpoint(objective)
    digest = sha256(data)
    write_atomic(folder.checkpoint(digest), data, replace=True)
    write_atomic(folder.path / "config.yaml", config_yaml(cell).encode(), replace=True)
    content = {
        "key": cell.key,
        "config": cell.config.as_dict(),
        "method": cell.method.code,
        "batch_invariant": objective.batch_invariant,
        "seed_scheme": "sha256-counter/1",
        "status": found["status"],
        "data": {name: cell.task.manifest(name).as_dict() for name in ("train", cell.config.evaluation.split)},
        "train": {name: value for name, value in found.items() if name != "status"},
        "model": {
            "parameters": sum(p.numel() for p in objective.parameters()),
            "trained_parameters": sum(p.numel() for p in objective.parameters() if p.requires_grad),
            "architecture": codec.architecture,
            "tokenizer_sha256": tokenizer_hash(codec.tokenizer),
            "checkpoint_sha256": digest,
        },
    }
    folder.write_trained(content, {**provenance(started), "world": world})


def config_yaml(cell: Cell) -> str:
    """Return the file that repeats a cell: `--config` reads it back to the same keys."""
    import yaml

    described = cell.config.as_dict()
    content = {
        "task": described["task"],
        "method": cell.method.asked,
        "seeds": [cell.config.seed],
        "preset": described["preset"],
        "backbone": described["backbone"],
        "decode": ",".join(described["decodings"]),
        "set": as_sets(described),
    }
    return yaml.safe_dump(content, sort_keys=False)


def as_sets(described: dict[str, Any]) -> dict[str, Any]:
    """Return a configuration as `section.name: value` lines that `--config` reads back."""
    sections = {"task": "task_options", "method": "method_options", "backbone": "backbone_options",
                "trainer": "trainer", "evaluation": "evaluation"}  # fmt: skip
    return {f"{section}.{name}": value for section, key in sections.items() for name, value in described[key].items()}


def tokenizer_hash(tokenizer: Any) -> str:
    """Return a hash of a tokenizer's whole content."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    return key_of(backend.to_str() if backend is not None else sorted(tokenizer.get_vocab().items()))


def load_verified(objective: Objective, folder: CellFolder, content: dict[str, Any]) -> None:
    """Load the checkpoint if its hash is the one that was stored.

    Raises:
        StoreError: when it is missing or damaged.
    """
    path = folder.checkpoint(content["model"]["checkpoint_sha256"])
    try:
        digest = sha256(path.read_bytes())
    except OSError as error:
        raise StoreError(f"checkpoint '{path}' cannot be read ({error}); remove '{folder.path}' and run "
                         f"the same command again to train it anew") from error  # fmt: skip
    if digest != content["model"]["checkpoint_sha256"]:
        raise StoreError(f"checkpoint '{path}' does not have the hash it was stored with; remove "
                         f"'{folder.path}' and run the same command again to train it anew")  # fmt: skip
    load_checkpoint(objective, path)


def collect(cell: Cell, rows_keys: Collection[str], scratch: Path, world: int, started: float) -> None:
    """Store the rows that several processes have left in `scratch`."""
    import json

    for key in rows_keys:
        parts = []
        for rank in range(world):
            path = scratch / f"{key}.{rank}"
            if not path.exists():
                raise BenchError(f"{cell.label}: process {rank} left no rows for {cell.evaluations[key].kind}")
            parts.append([json.loads(line) for line in path.read_bytes().splitlines()])
        store_rows(cell, key, parts, started)
        for rank in range(world):
            with suppress(OSError):
                (scratch / f"{key}.{rank}").unlink()
