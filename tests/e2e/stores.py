"""What the end-to-end tests compare: the canonical content of a store, that is all of it but provenance."""

import gzip
import json
from pathlib import Path

from bench.base.keys import canonical
from bench.cells.build import build
from bench.cells.cell import Cell
from bench.cells.plan import make_plan
from bench.cli import parser
from bench.config.arguments import collect
from bench.models.core.objective import Objective
from bench.store.checkpoints import load_checkpoint, load_verified
from bench.store.store import TOKENIZER, cells_below
from bench.tasks.encode.codec import Codec

TASKS, METHODS = "ambiguous_template,logicnlg", "mle,trime,histalign"
SETTINGS = (
    "trainer.steps=3", "trainer.batch_size=4", "trainer.max_target=6", "trainer.max_source=40",
    "backbone.width=16", "backbone.heads=2", "backbone.layers=1", "backbone.vocabulary=300",
    "evaluation.batch_size=3", "evaluation.spectrum_rows=3",
)  # fmt: skip


def arguments(
    results: Path, *more: str, task: str = TASKS, method: str = METHODS, limit: int = 8, sets: tuple[str, ...] = ()
) -> list[str]:
    """Return the command line of a tiny run."""
    return ["run", "--task", task, "--method", method, "--preset", "small", "--limit", str(limit), "--threads", "1",
            "--quiet", "--json", "--results", str(results), *more, "--set", *SETTINGS, *sets]  # fmt: skip


def sleepers(results: Path, *more: str) -> list[str]:
    """Return the command line of two cells; the first one sleeps in its second step where `SLEEPS` says so."""
    return arguments(results, *more, task="ambiguous_template", method="tests.e2e.methods:Sleeps,mle")


def planned(arguments: list[str]) -> list[Cell]:
    """Return the cells of a command line."""
    return make_plan(collect(parser().parse_args(arguments))).cells


def loaded(arguments: list[str]) -> tuple[Cell, Objective, Codec]:
    """Return the only cell of a command line with its trained objective."""
    (cell,) = planned(arguments)
    objective, codec = build(cell)
    trained = cell.folder.trained()
    assert trained is not None
    load_checkpoint(objective, load_verified(cell.folder, trained), cell.folder.path)
    return cell, objective, codec


def contents(results: Path) -> dict[str, bytes]:
    """Return the canonical content of every file of a store by its name; temporary files are files too."""
    files = (path for path in sorted(results.rglob("*")) if path.is_file())
    return {str(path.relative_to(results)): content_of(path) for path in files}


def texts(cell: Path) -> dict[str, str]:
    """Return the generated texts of a cell's folder by row; it has one decoding."""
    (folder,) = cells_below(cell)
    return {row["id"]: row["text"] for stored in folder.all_rows() for row in stored.rows if "text" in row}


def content_of(path: Path) -> bytes:
    """Return a file without its provenance."""
    data = path.read_bytes()
    if path.name.endswith(".jsonl.gz"):
        *lines, closing = gzip.decompress(data).splitlines()
        return b"\n".join([*lines, canonical({"sha256": json.loads(closing)["sha256"]})])
    if path.suffix == ".json" and path.name != TOKENIZER:
        record = json.loads(data)
        del record["provenance"]
        return canonical(record)
    return data
