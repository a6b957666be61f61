"""Boards from Python: the numbers of the report, filters that change none, frames, comparisons, plots and pages."""

import json
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

import bench
from bench.board.board import Board
from bench.errors import MissingError, UsageError
from bench.leaderboards.render.formats import LONG
from bench.store.export import add_run, write_snapshot
from bench.store.store import cells_below
from tests.leaderboards.handmade import scored, trained
from tests.shipped import ROOT

RUNS = ROOT / "leaderboards" / "runs"
KEPT = RUNS / "first-screen"
EXCERPT = ("logicnlg/mle", "logicnlg/histalign", "text/mle", "text/f2softmax", "gigaword/seq2seq", "gigaword/adadec")
"""Of the kept grid: p-values of all its rows take their seconds."""


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> Board:
    """A snapshot, and a few cells of the largest."""
    records, statistics = {}, {}
    for place in EXCERPT:
        for cell in cells_below(RUNS / "grid" / place):
            add_run(cell, cell.path.relative_to(RUNS / "grid").as_posix(), records, statistics)
    excerpt = tmp_path_factory.mktemp("kept") / "excerpt"
    write_snapshot(excerpt, records, statistics)
    return bench.load(KEPT, excerpt)


def test_the_public_names_are_there_and_light() -> None:
    for name in bench.__all__:
        assert getattr(bench, name) is not None, name
    heavy = ["torch", "numpy", "pandas", "matplotlib", "lightning", "transformers", "torchmetrics", "yaml", "rich"]
    code = f"import sys, bench; print([name for name in {heavy} if name in sys.modules], len(dir(bench)))"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed.startswith("[] ")
    with pytest.raises(AttributeError, match="module 'bench' has no attribute 'nothing'"):
        _ = bench.nothing


def test_a_frame_has_the_numbers_of_the_report(board: Board) -> None:
    long, wide = board.to_pandas(), board.to_pandas("wide")
    assert tuple(long.columns) == LONG
    assert len(wide) == len(board)
    for table in board.content["tables"]:
        for row in table["methods"]:
            of_row = long[long.cells.map(lambda cells, row=row: cells == row["cells"])]
            of_row = of_row[(of_row.decoding == row["decoding"]) & (of_row.method == row["method"])]
            means = {column: value["mean"] for column, value in row["values"].items()}
            assert dict(zip(of_row.metric, of_row["mean"].astype(object).where(of_row["mean"].notna(), None),
                            strict=True)) == means  # fmt: skip
            assert set(of_row.watermark) == {table["watermark"]}
    assert long[long.watermark == ""].empty  # nothing kept here may pass for a published number
    with pytest.raises(UsageError, match="no format 'tall' of frames"):
        board.to_pandas("tall")  # type: ignore[arg-type]


def test_a_filter_is_a_view(board: Board) -> None:
    kept = board.filter(task="logicnlg", method=["mle", "hist*"], metric="bleu-*")
    assert set(kept.methods) == {"mle", "histalign.mean"}
    assert {name.rpartition("-")[0] for name in kept.metrics} == {"bleu"}
    whole = board.to_pandas().set_index(["task", "rows", "method", "decoding", "metric"])
    for line in kept.to_pandas().itertuples():
        same = whole.loc[(line.task, line.rows, line.method, line.decoding, line.metric)]
        assert line.mean == same["mean"]
        assert (line.p == same["p"]) or (pd.isna(line.p) and pd.isna(same["p"]))
    assert board.filter(method="mle").filter(metric="bleu-3").methods == ["mle"]
    with pytest.raises(UsageError, match="the board has no method 'histalgn'; did you mean 'histalign.mean'"):
        board.filter(method="histalgn")
    with pytest.raises(UsageError, match="the board has no method 'face'"):
        board.filter(method="mle").filter(method="face")


def test_comparison_is_the_test_of_the_table(board: Board) -> None:
    frame = board.filter(task="logicnlg").compare("histalign.mean", "mle")
    line = frame[(frame.metric == "bleu-3") & (frame["rows"] == 1000)].iloc[0]
    [table] = [table for table in board.content["tables"] if (table["task"], table["rows"]) == ("logicnlg", 1000)]
    [row] = [row for row in table["methods"] if row["method"] == "histalign.mean"]
    value = row["values"]["bleu-3"]
    assert (line.difference, line.low, line.high) == (value["difference"], value["low"], value["high"])
    assert line["first"] == value["mean"]
    assert bool(line.only_the_objective) is False  # each was tuned, and has a learning rate of its own
    assert frame[frame["rows"] == 100].only_the_objective.all()
    assert line.n_seeds == 3
    everywhere = board.compare("histalign.mean", "mle").query("task == 'logicnlg'")
    pd.testing.assert_frame_equal(everywhere.reset_index(drop=True), frame)
    assert all((same := board.compare("mle", "mle")).first_settings != same.second_settings)
    with pytest.raises(UsageError, match="cannot compare 'histalign.mean' with 'mel'; did you mean 'mle'"):
        board.compare("histalign.mean", "mel")


def test_two_stores_are_one_board_and_seeds_meet(tmp_path: Path) -> None:
    for seed, folder in ((0, "a"), (1, "b")):
        scored(trained(tmp_path / folder, "mle", seed), {"bleu-3": 10.0 + seed})
    scored(trained(tmp_path / "b", "mle", 0), {"bleu-3": 10.0})  # the same cell once more
    joined = bench.load(tmp_path / "a", tmp_path / "b").to_pandas()
    [line] = joined.itertuples()
    assert (line.mean, line.n_seeds, len(line.cells)) == (10.5, 2, 2)
    with pytest.raises(MissingError, match="no scores in"):
        bench.load(tmp_path / "nowhere")


def test_what_is_shown_says_what_it_is_worth(board: Board) -> None:
    assert "not comparable with published numbers: train data: a proxy of the published" in repr(board)
    html = board._repr_html_()
    assert html.count("Not comparable with published numbers") == len(board.content["tables"])


def test_a_notebook_names_the_cells_that_failed(board: Board) -> None:
    failed = Board(board._store, board._leaderboards, failed={"xsum · mle": "<b>no</b> data"})
    shown = failed.filter(method="mle")._repr_html_()
    assert shown.endswith("<p>failed: xsum · mle: &lt;b&gt;no&lt;/b&gt; data</p>\n")
    assert "failed" not in board._repr_html_()


def test_the_page_of_a_filter(board: Board, tmp_path: Path) -> None:
    path = board.filter(task="gigaword").html(tmp_path / "page.html")
    text = path.read_text()
    assert "<h3>Gigaword" in text
    assert "<h3>LogicNLG" not in text
    assert json.dumps(board.content)  # JSON types only
