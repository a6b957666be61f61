"""Keys of all that is planned and kept, as a file: before and after a refactoring they are the same.

    python -m tools.unmoved write KEYS.json        # before
    python -m tools.unmoved compare KEYS.json      # after: prints what moved, and ends with 1

It plans `--task all --method all` in each preset, on the built-in samples and, where BENCH_DATA is set, on those rows;
and three plug-ins: an objective, a task and a backbone. It notes the keys of trainings and of evaluations.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

PRESETS = ("small", "paper")
PLUG_IN = """
import torch
from bench.models.core.objective import Objective
from bench.tasks.pairs import Pairs


class Focal(Objective):
    name = "focal"
    paper = "Lin et al. 2017"

    def __init__(self, backbone, *, gamma: float = 2.0):
        super().__init__(backbone)
        self.gamma = gamma

    def row_loss(self, log_probs, rows, targets):
        nll = -log_probs.gather(1, targets[:, None]).squeeze(1)
        return (1 - torch.exp(-nll)) ** self.gamma * nll


class OwnPairs(Pairs):
    name = "own_pairs"


def narrow(name, texts, seed, *, width: int = 32):
    raise NotImplementedError
"""


def planned(**settings: Any) -> dict[str, dict[str, Any]]:
    """Return, for each run that is planned, the keys of its training and of its evaluations."""
    from bench.cells.plan import make_plan
    from bench.config.arguments import RunArguments

    plan = make_plan(RunArguments(**settings), costs_only=True)
    found: dict[str, dict[str, Any]] = {}
    for cell in plan.cells:
        found[cell.label] = {"trained": cell.key, "evaluations": sorted(cell.evaluations)}
    for skip in plan.skips:
        found[f"skipped {skip.task} {skip.method} {skip.backbone}"] = {"reason": skip.reason}
    return found


def keys() -> dict[str, Any]:
    """Return all keys."""
    from bench.tasks import TASKS, find_task

    found: dict[str, Any] = {}
    data = os.environ.pop("BENCH_DATA", "")
    for preset in PRESETS:
        tasks = tuple(name for name in TASKS if preset in find_task(name).value.recipes)
        found[preset] = planned(tasks=tasks, methods=("all",), preset=preset)
        if data:
            found[f"{preset} on data"] = planned(tasks=tasks, methods=("all",), preset=preset, data_dir=data)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "plugins.py"
        path.write_text(PLUG_IN)
        for name, settings in {
            "own objective": {"tasks": ("pairs",), "methods": (f"{path}:Focal",)},
            "own task": {"tasks": (f"{path}:OwnPairs",), "methods": ("mle",)},
            "own backbone": {"tasks": ("pairs",), "methods": ("mle",), "backbone": f"{path}:narrow"},
        }.items():
            try:
                found[name] = list(planned(**settings).values())
            except Exception as error:  # a change of what is refused is a change too
                found[name] = f"{type(error).__name__}: {str(error).replace(folder, '')}"
    return found


def main(what: str, path: str) -> int:
    """Write keys, or compare them; return the exit code."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    os.environ.setdefault("BENCH_CACHE", tempfile.mkdtemp())
    here = json.loads(json.dumps(keys()))
    if what == "write":
        Path(path).write_text(json.dumps(here, indent=1, sort_keys=True))
        return 0
    there = json.loads(Path(path).read_text())
    moved = 0
    for group in here:
        a, b = there.get(group), here.get(group)
        if isinstance(a, dict) and isinstance(b, dict):
            for label in sorted(set(a) | set(b)):
                if a.get(label) != b.get(label):
                    moved += 1
                    print(f"{group}: {label}: {a.get(label)} -> {b.get(label)}")
        elif a != b:
            moved += 1
            print(f"{group}: {a} -> {b}")
    print(f"{moved} of {sum(len(group) for group in here.values())} moved")
    return int(moved > 0)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
