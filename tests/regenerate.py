"""Make everything again that is generated from committed result files: `make boards`.

    python -m tests.regenerate                       README's shown output, leaderboards/index.html and claims.md
    python -m tests.regenerate keep STORE NAME       first keep the records of a store as leaderboards/runs/NAME

A record is what a leaderboard is made of: no weights, no generated rows.
"""

from __future__ import annotations

import io
import os
import re
import shutil
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
README, RUNS, PAGE = ROOT / "README.md", ROOT / "leaderboards" / "runs", ROOT / "leaderboards" / "index.html"
CLAIMS = ROOT / "leaderboards" / "claims.md"
SAMPLE = "first-screen"
"""What `make run` makes of built-in rows: the last on the page."""
EVIDENCE = "bench claims --results leaderboards/runs/small --markdown"
BLOCK = re.compile(r"<!-- output: (bench .*?) -->\n(.*?)<!-- end -->", re.DOTALL)
KEPT = ("trained.json", "config.yaml", "scores-", "grid-", "items-")
COLUMNS = "150"
PLACE = re.compile(r"^(.*: )/(?:.*/)?([^/\n]+)$", re.MULTILINE)
"""A line of a configuration that names an absolute path, and its last part."""


def keep(store: Path, name: str) -> None:
    """Copy the records of a store, in place of those kept before."""
    shutil.rmtree(RUNS / name, ignore_errors=True)
    for path in sorted(store.rglob("*")):
        if path.is_file() and path.name.startswith(KEPT):
            target = RUNS / name / path.relative_to(store)
            target.parent.mkdir(parents=True, exist_ok=True)
            if path.name == "config.yaml":  # where somebody's texts lie is nobody's business
                target.write_text(PLACE.sub(r"\1\2", path.read_text(encoding="utf-8")), encoding="utf-8")
            else:
                shutil.copyfile(path, target)


def shown(command: str) -> str:
    """Return what a command prints, as it stands in README.md."""
    from bench.cli import main

    out = io.StringIO()
    with redirect_stdout(out):
        assert main(command.split()[1:]) == 0, command
    text = "\n".join(line.rstrip() for line in out.getvalue().splitlines()).strip()
    return f"\n{text}\n\n" if "markdown" in command else f"```\n{text}\n```\n"


def claims() -> str:
    """Return the replication report of the kept small runs."""
    return f"Made by `{EVIDENCE}`; `make boards` makes it again.\n{shown(EVIDENCE)}"


def readme(text: str) -> str:
    """Return README.md with the output of every command it shows."""
    return BLOCK.sub(lambda found: f"<!-- output: {found[1]} -->\n{shown(found[1])}<!-- end -->", text)


def page() -> str:
    """Return the page of all kept runs: tables and training curves; the texts are not kept."""
    from bench.leaderboards.render.board import board
    from bench.leaderboards.render.extras import extras_of
    from bench.leaderboards.render.html import page as written
    from bench.leaderboards.statistics.analysis import analysed, as_statistics
    from bench.leaderboards.table import tables
    from bench.store.store import Store

    found, curves = [], {}
    folders = sorted(path for path in RUNS.iterdir() if path.is_dir())
    for folder in sorted(folders, key=lambda path: path.name == SAMPLE):
        some, _ = tables(Store(folder))
        curves |= extras_of(Store(folder), some)["curves"]
        found += some
    statistics = as_statistics(found, analysed(found, cached=False))
    return written(board(found, [], {"curves": curves}, statistics))


def opened(text: str) -> tuple[str, dict[str, Any]]:
    """Return a page without its board, and the board: how small a library deflates it is its own matter."""
    from bench.leaderboards.render.html import unpacked

    (inner,) = re.findall(r'id="board">([^<]*)<', text)
    return text.replace(inner, ""), unpacked(inner)


def main() -> None:
    """Do what the command line says."""
    os.environ["COLUMNS"] = COLUMNS
    os.chdir(ROOT)
    if sys.argv[1:2] == ["keep"]:
        keep(Path(sys.argv[2]), sys.argv[3])
    README.write_text(readme(README.read_text(encoding="utf-8")), encoding="utf-8")
    PAGE.write_text(page(), encoding="utf-8")
    CLAIMS.write_text(claims(), encoding="utf-8")


if __name__ == "__main__":
    main()
