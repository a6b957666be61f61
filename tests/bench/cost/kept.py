"""The traces of the package's own small recipes, which `bench/cost/kept.json` keeps (`tools.regenerate costs`)."""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any
from unittest import mock

FILE = Path(__file__).parents[3] / "bench" / "cost" / "kept.json"


def content() -> str:
    """Return the file: a line for each trace, by key."""
    from bench.cells.plan import make_plan
    from bench.config.arguments import RunArguments
    from bench.cost.trace import Tracer
    from bench.cost.training_rows import longest
    from bench.models.core.objective import Objective

    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        hidden = {"BENCH_CACHE": folder, "BENCH_DATA": "", "HF_HUB_OFFLINE": "1"}
        with mock.patch.dict(os.environ, hidden):
            cells = make_plan(RunArguments(("all",), ("all",), results=folder)).cells
            cells = [cell for cell in cells if issubclass(cell.method.kind, Objective)]
            for kind in ("cpu", "cuda"):
                tracer = Tracer(kind)
                for cell in sorted(cells, key=lambda cell: json.dumps(cell.config.as_dict()["backbone_options"])):
                    lengths, rows = longest(cell), cell.config.trainer.batch_size
                    key = tracer.key(cell, lengths, rows)
                    if key not in found:
                        found[key] = asdict(tracer.make(cell, lengths, rows))
    lines = [f" {json.dumps(key)}: {json.dumps(found[key], sort_keys=True)}" for key in sorted(found)]
    return "{\n" + ",\n".join(lines) + "\n}\n"
