"""Make everything again that is generated from committed result files: `make boards`.

    python -m tools.regenerate                       what README and docs/ show, leaderboards/index.html, claims.md,
                                                     ladder.md, catalogue
    python -m tools.regenerate keep STORE NAME       first keep a store as leaderboards/runs/NAME.jsonl, its sums beside
    python -m tools.regenerate curves STORE          keep the decoders' curves of a store and a few of its texts, and
                                                     write their article alone
    python -m tools.regenerate notebooks             docs/notebooks/*.ipynb alone, of the pages beside them
    python -m tools.regenerate families              docs/families.md alone, of tiny models of the installed library
    python -m tools.regenerate pictures              docs/pictures: the page (by Chromium) and a table on a terminal
    python -m tools.regenerate costs                 bench/cost/kept.json alone, of the small recipes
    python -m tools.regenerate catalogue             docs/catalogue and docs/api alone, of the code

Kept are the records and sums that a leaderboard is made of: no weights, no generated rows.
"""

from __future__ import annotations

import io
import json
import os
import re
import sys
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import replace
from functools import cache
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

from tests import decoding_samples
from tools import pictures

if TYPE_CHECKING:
    from bench.ladder.reading import StoredLadder
    from bench.leaderboards.quality_diversity.section import Section
    from bench.leaderboards.table import Table
    from bench.store.store import Store

ROOT = Path(__file__).parents[1]
README, RUNS, PAGE = ROOT / "README.md", ROOT / "leaderboards" / "runs", ROOT / "leaderboards" / "index.html"
SHOWING = (README, ROOT / "docs" / "cache.md", ROOT / "docs" / "survival.md")
"""Pages that show what commands print or what was measured."""
MEASURED = ROOT / "tools" / "chaos" / "measured.json"
CLAIMS = ROOT / "leaderboards" / "claims.md"
SAMPLE = RUNS / "first-screen.jsonl"
"""What `make run` makes of built-in rows, with one seed: it says nothing of methods, and is not on the page."""
KEPT_K = "topk=3+"
"""How methods write in the kept runs of open-ended tasks."""
EVIDENCE_STORE = "leaderboards/runs/grid.jsonl"
LADDERS = {"text": RUNS / "ladder.jsonl", "gigaword": RUNS / "ladder-gigaword.jsonl"}
"""The board of each task's ladder, where one is kept; its page is `leaderboards/` and the board's name."""
SAMPLE_TEXTS = PAGE.with_suffix(".samples.json")
"""A few texts of kept rows by table, as `tools.kept_samples` keeps them."""
CURVES = ROOT / "docs" / "decoding_against_training.jsonl"
ARTICLE = CURVES.with_suffix(".md")
CURVE_TASK = "text"
"""The task that the article speaks of."""
DECODING = f"bench tradeoff --task {CURVE_TASK} --results docs/decoding_against_training.jsonl"
FRONTS = CURVES.with_suffix(".svg")
SAMPLES = CURVES.with_suffix(".samples.json")
EVIDENCE = f"bench claims --results {EVIDENCE_STORE} --curves docs/{CURVES.name} --markdown"
BLOCK = re.compile(r"<!-- output: (bench .*?) -->\n(.*?)<!-- end -->", re.DOTALL)
SURVIVES = re.compile(r"<!-- chaos -->\n.*?<!-- end -->", re.DOTALL)
GPU = re.compile(r"<!-- gpu -->\n.*?<!-- end -->", re.DOTALL)
CURVE_METRICS = ("diversity", "sample_perplexity")
"""Metrics that the curves of decoders are made of."""
COLUMNS = "150"


def curve_sections(results: Path) -> Sequence[Section]:
    """Return what `DECODING` shows of a store: the sections of one task."""
    from bench.leaderboards.quality_diversity.section import sections
    from bench.leaderboards.table import tables
    from bench.store.store import Store

    return sections(tables(Store(results), [CURVE_TASK], "all")[0])


def keep_curves(results: Path, target: Path) -> None:
    """Keep what the section of `bench tradeoff` is made of: of its cells the training, and scores under decoders.

    Sums are left out, since the section reads none.

    Args:
        results: a results folder.
        target: the file of records to write.
    """
    from bench.leaderboards.quality_diversity.decoders import SETTINGS, setting_of
    from bench.leaderboards.quality_diversity.section import cells_of
    from bench.store.kept_board import write_kept_board
    from bench.store.store import Store

    store = Store(results)
    keys = cells_of(curve_sections(results))
    records: dict[str, bytes] = {}
    for cell in store.cells():
        if cell.path.name not in keys:
            continue
        place = cell.path.relative_to(results).as_posix()
        records[f"{place}/trained.json"] = cell.files.read(cell.path / "trained.json")
        for name in cell.names("scores-*.json"):
            record = cell.files.read(cell.path / name)
            scores = json.loads(record)["content"]
            decoding = (scores["of"]["decoding"] or {}).get("name", "")
            if scores["family"] in CURVE_METRICS and setting_of(decoding) in SETTINGS:
                records[f"{place}/{name}"] = record
    write_kept_board(target, records, {})


def keep_samples(results: Path, target: Path) -> None:
    """Keep a few of the texts that the curves are of."""
    from bench.store.store import Store

    content = decoding_samples.samples_of(Store(results), curve_sections(results))
    target.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


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


def article() -> str:
    """Return the article on decoding against training, of the kept curves."""
    picture = f"![fronts of objectives and of maximum likelihood]({FRONTS.name})"
    wrote = "\n".join(decoding_samples.lines(SAMPLES))
    made = f"Made by `{DECODING}`; `make boards` makes it again."
    return f"{printed(DECODING)}\n\n{picture}\n\n{wrote}\n\n{made}\n"


def fronts() -> str:
    """Return the picture of the article."""
    from bench.board.front_drawing import draw_fronts

    return draw_fronts(curve_sections(CURVES)).svg


def write_article() -> None:
    """Write the article on decoding against training, and its picture."""
    ARTICLE.write_text(article(), encoding="utf-8")
    FRONTS.write_text(fronts(), encoding="utf-8")


def claims() -> str:
    """Return the replication report of the kept small runs."""
    return f"# What the papers claim\n\nMade by `{EVIDENCE}`; `make boards` makes it again.\n{shown(EVIDENCE)}"


def survivals() -> str:
    """Return the table of what `make chaos` has measured."""
    from bench.leaderboards.render.markdown_table import markdown_table

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
    """Return the page of kept runs on real rows: tables, curves, costs, claims, and what else is kept, but no texts."""
    from bench.leaderboards.leaderboards import with_statistics
    from bench.leaderboards.render.board import board
    from bench.leaderboards.render.html import page as written
    from bench.leaderboards.table import tables
    from bench.store.store import Store

    store_of = {}
    found = []
    for path in sorted(RUNS.glob("*.jsonl")):
        if path in (*LADDERS.values(), SAMPLE):
            continue
        store = Store(path)
        for table in map(without_sweeps, tables(store)[0]):
            store_of[id(table)] = store
            found.append(table)
    leaderboards = replace(with_statistics(found, cached=False), overall=()).for_readers()
    extras: dict[str, Any] = table_extras(leaderboards.tables, store_of)
    if SAMPLE_TEXTS.exists():
        extras |= json.loads(SAMPLE_TEXTS.read_text(encoding="utf-8"))
    if CURVES.exists():
        extras["decoding"] = decoding_content(curve_sections(CURVES))
    words: dict[str, str] = {}
    extras["ladder"] = []
    for task in LADDERS:
        ladder = kept_ladder(task)
        if ladder is not None:
            made, of_claims = ladder_content(task, ladder)
            extras["ladder"].append(made)
            words |= of_claims
    extras["claims"] = claims_content(words)
    return written(board(leaderboards, extras))


def without_sweeps(table: Table) -> Table:
    """Return a table without the rows of other k that only claims ask for: `leaderboards/claims.md` rests on them."""
    rows = [row for row in table.rows if "topk=" not in row.decoding or KEPT_K in row.decoding]
    return replace(table, rows=rows)


def table_extras(tables: Sequence[Table], store_of: Mapping[int, Store]) -> dict[str, Any]:
    """Return curves and costs of tables of several stores, by the names that the tables have together."""
    from bench.leaderboards.render.extras import extras_of
    from bench.leaderboards.table import table_ids

    extras: dict[str, Any] = {"curves": {}, "costs": {}}
    for name, table in zip(table_ids(tables), tables, strict=True):
        (alone,) = table_ids([table])
        found = extras_of(store_of[id(table)], [table])
        for part, by_table in extras.items():
            by_table[name] = found[part][alone]
    return extras


def decoding_content(sections: Sequence[Section]) -> list[dict[str, Any]]:
    """Return what the page shows of decoding against training."""
    from bench.leaderboards.quality_diversity.page_content import page_content

    return page_content(sections)


@cache
def kept_ladder(task: str) -> StoredLadder | None:
    """Return the kept ladder of a task; nothing while none of its rungs is whole."""
    from bench.errors import MissingError
    from bench.ladder.reading import stored_ladder
    from bench.store.store import Store

    if not LADDERS[task].exists():
        return None
    try:
        return stored_ladder(Store(LADDERS[task]), task)
    except MissingError:
        return None


def ladder_content(task: str, stored: StoredLadder) -> tuple[dict[str, Any], dict[str, str]]:
    """Return what the page shows of a ladder, and what it says of each claim."""
    from bench.ladder.reading import stored_forecasts
    from bench.leaderboards.ladder.page_content import claim_words, page_content

    forecasts = stored_forecasts(LADDERS[task], task).forecasts
    return page_content(stored.findings, forecasts), claim_words(stored.findings)


def write_ladders(folder: Path) -> list[Path]:
    """Write the page of each kept ladder into a folder, and its picture beside it; return the pages."""
    pages = []
    for task, board in LADDERS.items():
        if kept_ladder(task) is not None:
            pages.append(folder / f"{board.stem}.md")
            store = board.relative_to(ROOT).as_posix()
            printed(f"bench ladder --task {task} --results {store} --report --output {pages[-1]}")
    return pages


def claims_content(with_size: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the verdicts of `EVIDENCE` for the page."""
    from bench.commands.claims import beside_decoders, judged
    from bench.leaderboards.claim.claim_files import names, read
    from bench.leaderboards.claim.page_content import page_content
    from bench.store.store import Store

    papers = judged([read(name) for name in names()], Store(ROOT / EVIDENCE_STORE), "small")
    return page_content(beside_decoders(papers, CURVES), with_size)


def opened(text: str) -> tuple[str, str, dict[str, Any]]:
    """Return a page without board and scripts, and these two: how small a library deflates them is its own matter."""
    from bench.leaderboards.render.page.data import inflated, unpacked

    board, code = re.findall(r'id="(?:board|code)">([^<]*)<', text)
    return text.replace(board, "").replace(code, ""), inflated(code), unpacked(board)


def main() -> None:
    """Do what the command line says."""
    from tools.catalogue.pages import write_pages

    os.environ["COLUMNS"] = COLUMNS
    os.chdir(ROOT)
    if sys.argv[1:2] == ["families"]:
        from tests.models.backbones import families

        families.PAGE.write_text(families.page(), encoding="utf-8")
        return
    if sys.argv[1:2] == ["catalogue"]:
        write_pages()
        return
    if sys.argv[1:2] == ["notebooks"]:
        from tools.site import notebooks

        notebooks.write_all()
        return
    if sys.argv[1:2] == ["costs"]:
        from tests.bench.cost import kept

        kept.FILE.write_text(kept.content(), encoding="utf-8")
        return
    if sys.argv[1:2] == ["pictures"]:
        pictures.write()
        return
    if sys.argv[1:2] == ["curves"]:
        keep_curves(Path(sys.argv[2]), CURVES)
        keep_samples(Path(sys.argv[2]), SAMPLES)
        write_article()
        return
    if sys.argv[1:2] == ["keep"]:
        from bench.store.keep import keep

        keep(Path(sys.argv[2]), RUNS / f"{sys.argv[3]}.jsonl")
    for path in SHOWING:
        path.write_text(with_output(path.read_text(encoding="utf-8")), encoding="utf-8")
    PAGE.write_text(page(), encoding="utf-8")
    CLAIMS.write_text(claims(), encoding="utf-8")
    pictures.TERMINAL.write_text(pictures.terminal_picture(), encoding="utf-8")
    write_ladders(PAGE.parent)
    if CURVES.exists():
        write_article()
    write_pages()  # verdicts are on the pages of methods


if __name__ == "__main__":
    main()
