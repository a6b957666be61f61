"""Torchmetrics classes of several families as one of several processes, each with its own rows."""

import json
import os
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import torch.distributed

from bench.metrics import CLASSES
from bench.metrics.torch import metric_class
from tests.e2e.children import enter
from tests.metrics.family_cases import CASES
from tests.metrics.family_rows import put_stand_ins


def as_rank(rank: int, world: int, port: int, share: slice, environment: Mapping[str, str], out: str) -> None:
    """Be one of several processes with a share of the rows, and write what each class computes of all of them."""
    enter(environment, f"{out}.log.{rank}")
    put_stand_ins(pytest.MonkeyPatch())
    address = f"tcp://127.0.0.1:{port}"
    wait = timedelta(seconds=120)
    torch.distributed.init_process_group("gloo", address, timeout=wait, rank=rank, world_size=world)
    Path(f"{out}.{rank}").write_text(json.dumps(computed(share)))
    torch.distributed.destroy_process_group()


def computed(share: slice) -> dict[str, Any]:
    """What the class of every family computes, fed with a share of the rows; one without a row is never fed."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    torch.set_num_threads(1)
    found = {}
    for family, case in CASES.items():
        name = next(name for name, made_of in CLASSES.items() if made_of[0] == family)
        metric = metric_class(name)(columns=["*"])
        if case.rows[share]:
            metric.update(case.rows[share], case.gold, inputs="stored")
        found[family] = {column: value.item() for column, value in metric.compute().items()}
    return found
