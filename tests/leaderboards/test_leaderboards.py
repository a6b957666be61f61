"""What a run shows, and leaderboards of some tasks and methods."""

from types import SimpleNamespace

import pytest

from bench.cells.plan import Plan
from bench.commands.run import show
from bench.errors import MissingError, UsageError
from bench.leaderboards.render import FORMATS
from bench.leaderboards.render.board import board
from bench.leaderboards.render.formats import render
from bench.store.store import Store
from tests.leaderboards.handmade import leaderboards_of, ready, scored, trained


@pytest.fixture
def root(tmp_path):
    """Two tasks that both methods have, and a failed and a limited cell of one of them."""
    for seed in range(3):
        for method, bleu, rouge in (("mle", 30.0, 20.0), ("trime", 35.0, 22.0)):
            ready(tmp_path, method, seed, bleu=bleu + seed)
            scored(trained(tmp_path, method, seed, task="xsum"), {"rouge-l": rouge + seed, "hidden": rouge * seed})
    ready(tmp_path, "face", trainer__limit=5)
    return tmp_path


def ran(*tasks, limit=None):
    """A plan of a run of these tasks."""
    config = {name: SimpleNamespace(task=name, trainer=SimpleNamespace(limit=limit)) for name in tasks}
    return Plan("small", [SimpleNamespace(config=config[name], task=name) for name in tasks])


def test_a_run_shows_what_the_report_shows(root, capsys):
    show(ran("logicnlg", "xsum"), SimpleNamespace(results_folder=root))
    out = capsys.readouterr().out
    assert out.startswith(render(leaderboards_of(Store(root)), "terminal"))
    assert "page with tables and samples: " in out


def test_a_run_of_one_task_shows_its_table_and_its_notes_and_the_page_all(root, capsys):
    show(ran("xsum"), SimpleNamespace(results_folder=root))
    out = capsys.readouterr().out
    assert out.partition("page with")[0] == render(leaderboards_of(Store(root), tasks=["xsum"]), "terminal")
    assert "logicnlg" not in out
    page_text = (root / "leaderboard.html").read_text(encoding="utf-8")
    assert "logicnlg · test split" in page_text
    assert "1 run with --limit is left out" in page_text
    show(ran("logicnlg", limit=64), SimpleNamespace(results_folder=root))
    assert (root / "leaderboard.html").read_text(encoding="utf-8") == page_text, "the page of whole runs stays"


def test_notes_of_some_tasks_are_of_these_alone(root):
    leaderboards = leaderboards_of(Store(root))
    assert leaderboards.notes == ["1 run with --limit is left out"]
    assert leaderboards.of_tasks({"xsum"}).notes == []
    assert leaderboards.of_tasks({"logicnlg"}).notes == ["1 run with --limit is left out"]


# Some methods ------------------------------------------------------------------------------------------------------


def test_rows_of_some_methods_keep_what_tests_of_whole_tables_say(root):
    whole = leaderboards_of(Store(root))
    some = whole.filtered(methods=["tri*"])
    for one, of_all in zip(some.tables, whole.tables, strict=True):
        assert one.rows == [row for row in of_all.rows if row.method == "trime"]
    values = [value for table in board(some)["tables"] for row in table["methods"] for value in row["values"].values()]
    assert {value["against"] for value in values} == {""}
    assert None not in {value["difference"] for value in values}
    assert whole.notes[0] in some.notes
    assert "2 rows of other methods are not shown; the correction for several tests counts them" in some.notes
    for name in FORMATS:
        assert "mle" not in render(some, name).partition("differs")[0].partition("not shown")[0]


def test_a_metric_that_is_not_shown_has_its_tests_and_leaves_out_tables_without_it(root):
    (table,) = leaderboards_of(Store(root)).filtered(metrics=["hid*"]).tables
    assert [(table.task, row.values["hidden"].p is None) for row in table.rows] == [("xsum", False), ("xsum", True)]
    with pytest.raises(MissingError, match="no scores of gigaword in '.*'; there are runs of xsum$"):
        leaderboards_of(Store(root)).of_tasks(()).refuse_empty(root, ["gigaword"], ["xsum"])


def test_a_method_without_a_row_is_refused(root):
    with pytest.raises(UsageError, match="the board has no method 'trim'; did you mean 'trime'"):
        leaderboards_of(Store(root)).filtered(methods=["trim"])
    with pytest.raises(UsageError, match="no method is named; there are: "):
        leaderboards_of(Store(root)).filtered(methods=[])
