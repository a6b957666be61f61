"""Make everything again that is generated from committed result files: `make boards`.

    python -m tools.regenerate                       what README and docs/ show, leaderboards/index.html, claims.md,
                                                     docs/pictures/board.svg
    python -m tools.regenerate export STORE NAME     first export a store as the snapshot leaderboards/runs/NAME
    python -m tools.regenerate families              docs/families.md alone, of tiny models of the installed library

Kept are the records and sums that a leaderboard is made of: no weights, no generated rows.
"""

from __future__ import annotations

import io
import json
import os
import re
import sys
from contextlib import redirect_stdout
from dataclasses import replace
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bench.leaderboards.table import Table

ROOT = Path(__file__).parents[1]
README, RUNS, PAGE = ROOT / "README.md", ROOT / "leaderboards" / "runs", ROOT / "leaderboards" / "index.html"
SHOWN = ("findings", "fine_tuning", "fine_tuning_generation", "cluster", "hardware")
SHOWING = (README, *(ROOT / "docs" / f"{name}.md" for name in SHOWN))
"""Pages that show what commands print or what was measured."""
MEASURED = ROOT / "tools" / "chaos" / "measured.json"
CLAIMS = ROOT / "leaderboards" / "claims.md"
SAMPLE = RUNS / "first-screen"
"""What `make run` makes of built-in rows, with one seed: it says nothing of methods, and is not on the page."""
KEPT_K = "topk=3+"
"""How methods write in the kept runs of open-ended tasks."""
EVIDENCE_STORES = ("leaderboards/runs/grid", "leaderboards/runs/mid")
SIZES = (RUNS / "ladder", RUNS / "ladder-gigaword")
"""Models of several sizes: docs/findings.md has their tables, and the page has a chart of each."""
NOT_ON_THE_PAGE = (SAMPLE, *SIZES)
"""Without a table on the page: a sample of one seed, and those of `SIZES`."""
SAMPLE_TEXTS = PAGE.with_suffix(".samples.json")
"""A few texts of kept rows by table, as `tools.kept_samples` keeps them."""
EVIDENCE = f"bench claims {' '.join(f'--results {store}' for store in EVIDENCE_STORES)}"
BLOCK = re.compile(r"<!-- output: (bench .*?) -->\n(.*?)<!-- end -->", re.DOTALL)
SURVIVES = re.compile(r"<!-- chaos -->\n.*?<!-- end -->", re.DOTALL)
GPU = re.compile(r"<!-- gpu -->\n.*?<!-- end -->", re.DOTALL)
COLUMNS = "150"


def snapshots() -> list[Path]:
    """Return the kept snapshots, by name."""
    from bench.store.snapshot import is_snapshot

    return sorted(filter(is_snapshot, RUNS.iterdir()))


def shown(command: str) -> str:
    """Return what a command prints, as it stands on a page."""
    text = printed(command)
    return f"\n{text}\n\n" if "markdown" in command else f"```\n{text}\n```\n"


def printed(command: str) -> str:
    """Return what a command prints, without white space at the ends of its lines."""
    from bench.cli import main

    out = io.StringIO()
    with redirect_stdout(out):
        assert main(command.split()[1:]) == 0, command
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()).strip()


def claims() -> str:
    """Return the replication report of the kept small runs."""
    made = (
        f"`make boards` generates this page by `{EVIDENCE}`. Claims on Ambiguous Template use only `runs/mid`, with a"
    )
    return f"# What the papers claim\n\n{made} pretrained model.\n\n{printed(EVIDENCE)}\n\n"


def survivals() -> str:
    """Return the table of what `make chaos` has measured."""
    from bench.leaderboards.render.text_table import markdown_table

    rows = []
    for name, part in json.loads(MEASURED.read_text(encoding="utf-8")).items():
        if name == "precision":  # a difference of numbers, not a fault
            continue
        rows += [[line["what"], line["goal"], line["measured"]] for line in part["lines"]]
    return "\n" + "\n".join(markdown_table(["what happens", "goal", "measured"], rows)) + "\n\n"


def on_a_gpu() -> str:
    """Return what was seen on a GPU."""
    from tools.gpu.seen import kept, line, table

    record = kept()
    return f"\n{fill(line(record), 118)}\n\n{table(record)}"


def with_output(text: str) -> str:
    """Return a page with the output of every command it shows, and what was measured of faults and on a GPU."""
    text = SURVIVES.sub(lambda _: f"<!-- chaos -->\n{survivals()}<!-- end -->", text)
    text = GPU.sub(lambda _: f"<!-- gpu -->\n{on_a_gpu()}<!-- end -->", text)
    return BLOCK.sub(lambda found: f"<!-- output: {found[1]} -->\n{shown(found[1])}<!-- end -->", text)


def page() -> str:
    """Return the page of kept runs on real rows: tables, claims, samples and charts."""
    from bench.leaderboards.leaderboards import with_statistics
    from bench.leaderboards.render.board import board
    from bench.leaderboards.render.html import page as written
    from bench.leaderboards.table import tables
    from bench.store.store import Store

    found = []
    for path in snapshots():
        if path not in NOT_ON_THE_PAGE:
            found += map(without_sweeps, tables(Store(path))[0])
    extras: dict[str, Any] = {"claims": claims_content()}
    if SAMPLE_TEXTS.exists():
        extras |= json.loads(SAMPLE_TEXTS.read_text(encoding="utf-8"))
    of_sizes = [board(with_statistics(tables(Store(path))[0])) for path in SIZES]
    sizes = [table for each in of_sizes for table in each["tables"]]
    return written(board(with_statistics(found), extras), sizes)


def without_sweeps(table: Table) -> Table:
    """Return a table without the rows of other k that only claims ask for: `leaderboards/claims.md` rests on them."""
    rows = [row for row in table.rows if "topk=" not in row.decoding or KEPT_K in row.decoding]
    return replace(table, rows=rows)


def claims_content() -> list[dict[str, Any]]:
    """Return the verdicts of `EVIDENCE` for the page."""
    from bench.commands.claims import evaluated
    from bench.leaderboards.claim.report import content
    from bench.store.store import Store

    return content(evaluated(Store(*(ROOT / store for store in EVIDENCE_STORES))))


def main() -> None:
    """Do what the command line says."""
    os.environ["COLUMNS"] = COLUMNS
    os.chdir(ROOT)
    if sys.argv[1:2] == ["families"]:
        from tests.models.backbones import families

        families.PAGE.write_text(families.page(), encoding="utf-8")
        return
    if sys.argv[1:2] == ["export"]:
        from bench.store.export import export

        export(Path(sys.argv[2]), RUNS / sys.argv[3])
    from tools import pictures
    from tools.svg import svg_of

    for path in SHOWING:
        path.write_text(with_output(path.read_text(encoding="utf-8")), encoding="utf-8")
    (pictures.FOLDER / "board.svg").write_text(svg_of(pictures.board_picture()), encoding="utf-8")
    PAGE.write_text(page(), encoding="utf-8")
    CLAIMS.write_text(claims(), encoding="utf-8")


if __name__ == "__main__":
    main()
