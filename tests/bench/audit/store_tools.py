"""Tools of somebody who cheats: a store whose files are changed and fit each other again.

A place is a folder with `data/` (a data folder of one's own, gigaword's files in it), `code/` (modules that can be
imported) and `results/`, the store. Everything here takes the store; the rest lies beside it.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.audit.finding import Finding
from bench.base.keys import canonical, sha256
from bench.store.store import CellFolder, Store
from tests.conftest import call

Content = dict[str, Any]
ROWS = {"train": 24, "valid": 8, "test": 12}
FILES = {
    "train": ("train.article.txt", "train.title.txt"),
    "valid": ("valid.article.filter.txt", "valid.title.filter.txt"),
    "test": ("input.txt", "task1_ref0.txt"),
}
SETTINGS = ("trainer.steps=3", "backbone.width=16", "trainer.batch_size=8", "evaluation.batch_size=6")


def data_of(store: Path) -> Path:
    """The data folder beside a store."""
    return store.parent / "data"


def write_data(data: Path) -> None:
    """Write a few of the built-in rows of gigaword as its files."""
    from bench.tasks.files.gigaword import sample_pairs

    folder = data / "gigaword"
    folder.mkdir(parents=True)
    for split, names in FILES.items():
        rows = sample_pairs(split)[: ROWS[split]]
        for name, texts in zip(names, ([r.source for r in rows], [r.target for r in rows]), strict=True):
            (folder / name).write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")


def edit_lines(store: Path, split: str, change: Callable[[list[str], list[str]], None]) -> None:
    """Change the sources and targets of a split, two lists of lines."""
    paths = [data_of(store) / "gigaword" / name for name in FILES[split]]
    sources, targets = ([*path.read_text(encoding="utf-8").splitlines()] for path in paths)
    change(sources, targets)
    for path, lines in zip(paths, (sources, targets), strict=True):
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def run(store: Path, *more: str, method: str = "mle", seeds: str = "0,1", sets: tuple[str, ...] = ()) -> None:
    """Train, evaluate and score tiny cells of gigaword."""
    ended = call("run", "--task", "gigaword", "--backbone", "small-encdec", "--method", method, "--seeds", seeds,
                 "--quiet", "--yes", "--data-dir", str(data_of(store)), "--results", str(store),
                 "--set", *SETTINGS, *sets, *more)  # fmt: skip
    assert ended.code == 0, ended.err


def run_anew(store: Path, *more: str, **how: Any) -> None:
    """Leave what is stored and run again, on data or code that has been changed."""
    import shutil

    shutil.rmtree(store)
    run(store, *more, **how)


def cell(store: Path, seed: int = 0) -> CellFolder:
    """The cell of a seed that was evaluated on the test split."""
    for folder in Store(store).cells():
        record = folder.trained()
        if record is not None and record["config"]["seed"] == seed:
            return folder
    raise AssertionError(f"no cell of seed {seed}")


def edit_record(path: Path, change: Callable[[Content], None]) -> None:
    """Change the content of a JSON record, and its hash with it."""
    record = json.loads(path.read_text(encoding="utf-8"))
    change(record["content"])
    record["sha256"] = sha256(canonical(record["content"]))
    path.write_text(json.dumps(record, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def rows_path(folder: CellFolder, kind: str) -> Path:
    """The file of a cell's rows of a kind."""
    for rows in folder.all_rows():
        if rows.content["kind"] == kind:
            return folder.rows_path(rows.key)
    raise AssertionError(f"no {kind} rows in {folder.path}")


def edit_rows(path: Path, change: Callable[[Content, list[Content]], None], key: str = "") -> Path:
    """Change the header's content and the rows of a rows file, and its hash with them; `key` gives it another key."""
    lines = [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]
    header, rows, closing = lines[0], lines[1:-1], lines[-1]
    change(header["content"], rows)
    target = path
    if key:
        header["key"] = key
        target = path.with_name(f"rows-{key}.jsonl.gz")
        path.unlink()
    body = [canonical(header), *(canonical(row) for row in rows)]
    closing["sha256"] = sha256(line + b"\n" for line in body)
    target.write_bytes(gzip.compress(b"".join(line + b"\n" for line in [*body, canonical(closing)])))
    return target


def score_again(store: Path, folder: CellFolder) -> None:
    """Make the scores of a cell from its rows, whatever they are now."""
    for name in (*folder.names("scores-*.json"), *folder.names("items-*")):
        (folder.path / name).unlink()
    ended = call("score", str(folder.path), "--data-dir", str(data_of(store)))
    assert ended.code == 0, ended.err


def audited(store: Path) -> list[Finding]:
    """What the audit of a store finds."""
    from bench.audit.audit import audit
    from bench.audit.replay import Effort
    from bench.cells.score import Tasks

    return list(audit([store], Tasks(data_of(store)), Effort()))
