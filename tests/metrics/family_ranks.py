"""Classes of several families as one of several processes, each with its own rows."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch.distributed

from tests.e2e.children import enter
from tests.metrics.family_cases import CASES
from tests.metrics.family_rows import compute_mauve

FAMILIES = ("factcc", "sp_acc", "entity_precision", "matrix_rank", "cache_hits", "copying", "rouge_limited", "mauve")
"""One of every kind of state: verdicts, sums of both kinds, gathered rows of numbers and of a model."""


def as_rank(rank: int, world: int, port: int, share: slice, environment: Mapping[str, str], out: str) -> None:
    """Be one of several processes with a share of the rows, and write what each class computes of all of them."""
    enter(environment, f"{out}.log.{rank}")
    sys.modules["mauve"] = SimpleNamespace(compute_mauve=compute_mauve)  # type: ignore[assignment]
    address = f"tcp://127.0.0.1:{port}"
    wait = timedelta(seconds=120)
    torch.distributed.init_process_group("gloo", address, timeout=wait, rank=rank, world_size=world)
    Path(f"{out}.{rank}").write_text(json.dumps(computed(share)))
    torch.distributed.destroy_process_group()


def computed(share: slice) -> dict[str, Any]:
    """What the classes of `FAMILIES` compute, fed with a share of the rows; one without a row is never fed."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    found = {}
    for family in FAMILIES:
        case = CASES[family]
        pieces: Sequence[Any] = list(case.pieces or case.rows)[share]
        metrics = case.make()
        if pieces:
            case.feed(metrics, pieces, case.gold)
        found[family] = case.read(metrics)
    return found
