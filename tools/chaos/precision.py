"""Precision: bf16-mixed beside fp32, trained and evaluated, for every method and metric.

Run by `python -m tools.chaos.precision [METHOD ...]`.
"""

from __future__ import annotations

import io
import math
import sys
import tempfile
import warnings
from contextlib import redirect_stdout
from pathlib import Path

from bench.cli import main as bench
from bench.store.store import Store
from tools.chaos.resume import trained_methods

STEPS, ROWS = 60, 60
PRECISIONS = ("32-true", "bf16-mixed")
GOAL = 0.25
"""Largest relative difference of a perplexity: a training in bf16 is another training after some steps."""

Values = dict[str, dict[str, float]]
"""Values of a method's columns, by method."""


def scores(results: Path) -> Values:
    """Return what a store says of each method."""
    values: Values = {}
    for cell in Store(results).cells():
        record = cell.trained()
        if record is None:
            continue
        of_method = values.setdefault(record["config"]["method"], {})
        for content in cell.all_scores():
            of_method |= {v["name"]: v["value"] for v in content["values"] if v["value"] is not None}
    return values


def run(folder: Path, precision: str, methods: list[str]) -> Values:
    """Train and evaluate methods."""
    command = f"run --task logicnlg --preset small --limit {ROWS} --quiet --json --results {folder}"
    named = ["--method", ",".join(methods), "--set", f"trainer.precision={precision}"]
    with redirect_stdout(io.StringIO()):
        bench([*command.split(), *named, "--set", f"trainer.steps={STEPS}"])
    return scores(folder)


def main() -> int:
    """Print what differs by how much; return the exit code."""
    warnings.simplefilter("ignore")
    methods = sys.argv[1:] or trained_methods()
    with tempfile.TemporaryDirectory() as folder:
        exact, mixed = (run(Path(folder) / precision, precision, methods) for precision in PRECISIONS)
    columns = sorted({column for values in exact.values() for column in values})
    worst_ppl = 0.0
    for column in columns:
        worst, where = 0.0, ""
        for method, values in exact.items():
            if column not in values or column not in mixed.get(method, {}):
                continue
            difference = abs(mixed[method][column] - values[column])
            if not math.isfinite(difference):
                print(f"{method} · {column}: {values[column]} in fp32, {mixed[method][column]} in bf16-mixed")
                return 1
            if column.startswith("ppl"):
                difference /= values[column]
                worst_ppl = max(worst_ppl, difference)
            if difference >= worst:
                worst, where = difference, method
        kind = "relative" if column.startswith("ppl") else "points"
        print(f"{column}: at most {worst:.4f} {kind} ({where})")
    for method, values in sorted(exact.items()):
        print(f"{method}: ppl/token {values['ppl/token']:.2f} in fp32, {mixed[method]['ppl/token']:.2f} in bf16-mixed")
    print(f"bf16-mixed of {len(mixed)} methods · goal: ppl within {GOAL:.0%} · measured: {worst_ppl:.2%}")
    lacking = len(methods) - min(len(exact), len(mixed))
    if lacking:
        print(f"{lacking} of {len(methods)} methods have no numbers in one precision")
    return int(worst_ppl > GOAL or set(mixed) != set(exact) or lacking > 0)


if __name__ == "__main__":
    sys.exit(main())
