"""Plug-ins of each kind run with built-in parts, are found by every command, and their source is in the keys."""

import importlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import bench
from bench.cells.plan import make_plan
from bench.cells.record import cell_of, job_of
from bench.errors import BenchError
from tests.bench.plugin_files import (
    BUILT_IN,
    FILES,
    METRIC,
    RUN,
    TASK,
    arguments,
    board,
    forget,
    key,
    write,
    write_all,
)
from tests.conftest import call, forget_data


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the files, and the results of one run in it."""
    folder = tmp_path_factory.mktemp("own")
    write_all(folder)
    with pytest.MonkeyPatch.context() as patch:
        forget_data(patch, folder / "no-cache")
        patch.setattr(sys, "path", list(sys.path))
        patch.setattr(sys, "dont_write_bytecode", True)
        patch.chdir(folder)
        ended = call(*RUN)
    assert ended.code == 0, ended.err
    (folder / "shown.txt").write_text(ended.out)
    forget()
    yield folder
    forget()


@pytest.fixture
def here(folder, monkeypatch, sample_data):
    """The folder, with its files importable for the time of a test."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.chdir(folder)
    yield folder
    write_all(folder)


@pytest.fixture
def elsewhere(folder, tmp_path, monkeypatch, sample_data):
    """A copy of the results, where nothing of the files is known."""
    forget()
    monkeypatch.setattr(sys, "path", list(sys.path))
    shutil.copytree(folder / "results", tmp_path / "results")
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    assert not set(FILES) & set(sys.modules)


def test_they_are_in_the_table_and_on_the_page(folder):
    shown, page = (folder / "shown.txt").read_text(), (folder / "results" / "leaderboard.html").read_text()
    for name in ("towns", BUILT_IN, "soft", "tiny", "shouts", "top_a=0.2"):
        assert name in shown, name
        assert name in page, name
    assert "<blockquote><h4>Prompt</h4><p>the town of test land" in page


def rows_of(table):
    """The greedy rows of a table, by method."""
    return {row["method"]: row for row in table["methods"] if row["decoding"] == "greedy"}


def test_they_stand_in_the_json_without_their_source(elsewhere):
    tables = {table["task"]: table for table in board()["tables"]}
    assert set(tables) == {"towns", BUILT_IN}
    columns = [column["name"] for column in tables["towns"]["columns"] if column["shown"]]
    assert columns == ["ppl/token", "chrf", "shouts"]
    for table in tables.values():
        rows = rows_of(table)
        assert set(rows) == {"mle", "soft"}
        assert all(row["backbone"] == "tiny" and row["n_seeds"] == 2 for row in rows.values())
        pair = {name: row["values"]["shouts"] for name, row in rows.items()}
        assert all(value["signature"].startswith("shouts|version:1|source:") for value in pair.values())
        assert {value["p_items"] is not None for value in pair.values()} == {True, False}  # the paired test against mle


def test_an_edited_metric_has_two_columns_until_its_scores_are_made_again(here, tmp_path, monkeypatch):
    """Numbers of two sources never stand in one column."""
    monkeypatch.syspath_prepend(here)
    results = tmp_path / "results"
    shutil.copytree(here / "results", results)
    write(here, "shouts", METRIC.replace('count("!")', 'count("!") + 1'))
    assert call("score", str(results), "--metrics", "shouts.py:shouts").code == 0
    columns = shouts_of(results)
    assert [name.partition(":")[0] for name in columns] == ["shouts [source", "shouts [source"]
    first, second = columns.values()
    assert {round(abs(first[row] - second[row]), 9) for row in first.keys() | second.keys()} == {1.0}
    for path in results.rglob("scores-*"):
        path.unlink()
    forget("shouts")
    assert call("score", str(results), "--metrics", "shouts.py:shouts").code == 0
    assert list(shouts_of(results)) == ["shouts"]


def shouts_of(results):
    """The columns of the metric in the table of towns, with the mean of each row."""
    (table,) = board("--task", "towns", "--results", str(results))["tables"]
    columns = [column["name"] for column in table["columns"] if column["name"].startswith("shouts")]
    return {
        name: {row["id"]: row["values"][name]["mean"] for row in table["methods"] if name in row["values"]}
        for name in columns
    }


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (("report", "--task", "towns", "--format", "markdown"), "| mle (greedy) | tiny |"),
        (("store", "status", "--task", "towns"), "towns · soft · tiny · seed 1"),
        (("samples", "--task", "towns", "--method", "mle,soft"), "the task 'towns' is not here"),
        (("report", "--format", "html"), "wrote results/leaderboard.html"),
    ],
)
def test_their_names_are_enough_for_what_is_stored(elsewhere, command, says):
    ended = call(*command)
    assert (ended.code, says in ended.out) == (0, True), ended


def test_a_name_near_a_stored_one_is_told(elsewhere):
    assert "no task 'town'; did you mean 'towns'?" in call("store", "status", "--task", "town").err
    assert "no method 'sofd'; did you mean 'soft'?" in call("samples", "--method", "sofd").err


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (("samples", "--task", "towns.py:Towns", "--method", "soft.py:Soft"), "the town of test land"),
        (("list", "--data", "towns.py:Towns"), "train sample"),
        (("store", "verify", "results"), "0 differences"),
        (("score", "results", "--metrics", "shouts.py:shouts"), "0 scores made, 16 stored already"),
    ],
)
def test_they_are_found_where_their_files_are(here, command, says):
    sys.path.append(str(here))  # as the program does
    ended = call(*command)
    assert (ended.code, says in ended.out) == (0, True), ended


@pytest.mark.parametrize("form", ["html", "json", "terminal"])
def test_no_report_runs_their_code(here, form, tmp_path):
    sys.path.append(str(here))
    forget()
    assert call("report", "--task", "towns", "--format", form, "--output", str(tmp_path / "page")).code == 0
    assert call("store", "status", "--task", "towns").code == 0
    bench.load("results").filter(task="towns").html(tmp_path / "board.html")
    assert not set(FILES) & set(sys.modules)


def test_a_study_for_people_names_them(here, tmp_path):
    sys.path.append(str(here))
    command = ("human", "export", "results", "--task", "towns.py:Towns", "--method", "mle,soft", "--items", "2")
    ended = call(*command, "--decode", "greedy", "--output", str(tmp_path / "study"))
    assert ended.code == 0, ended.err
    assert "the town of test land" in (tmp_path / "study" / "items.csv").read_text()


def test_compare_shows_that_the_source_differs(here, tmp_path):
    write(here, "towns", TASK.replace("16)]", "16)]  # the same rows"))
    short = ("--preset", "small", "--quiet", "--set", "trainer.steps=2", "trainer.batch_size=4")
    ended = call(*RUN[:2], "towns.py:Towns", *RUN[5:7], "--method", "mle", *short, "--results", str(tmp_path / "other"))
    assert ended.code == 0, ended.err
    (new,) = (tmp_path / "other" / "towns" / "mle").glob("*")
    old = next(path for path in Path("results/towns/mle").glob("*") if json_of(path)["config"]["seed"] == 0)
    assert "own.task.source_sha256" in call("compare", str(old), str(new)).out


def json_of(cell):
    return json.loads((cell / "trained.json").read_text())["content"]


def test_a_changed_metric_is_another_score_of_the_same_cell(here):
    before = key()
    write(here, "shouts", METRIC + "\n# changed\n")
    assert key() == before
    ended = call("score", "results", "--metrics", f"{here}/shouts.py:shouts")
    assert "16 scores made, 0 stored already" in ended.out, ended.err


def test_a_metric_that_raises_costs_its_own_scores(here, monkeypatch):
    """It may raise anything: the other cells are looked at all the same."""

    def raising(rows, gold):
        raise KeyError("nothing")

    sys.path.append(str(here))
    monkeypatch.setattr(importlib.import_module("shouts"), "ordered", raising)
    write(here, "shouts", METRIC.replace('["text"]', '["nothing"]'))
    ended = call("score", "results", "--metrics", "shouts.py:shouts")
    assert (ended.code, ended.err.count("KeyError: 'nothing' (in shouts.py, line ")) == (1, 1)
    assert ", and 15 more: " in ended.err
    assert "16 files of predictions could not be scored" in ended.out


def test_how_it_was_asked_for_is_in_no_key_and_no_record(here, monkeypatch):
    before = key()
    monkeypatch.setattr(sys, "path", [*sys.path, str(here)])
    assert key(tasks=("towns:Towns",), backbone=f"{here}/tiny.py:tiny") == before
    for record in here.glob("results/*/*/*/*.json"):
        assert str(here) not in record.read_text()


@pytest.mark.slow
@pytest.mark.parametrize("how", [("--jobs", "2"), ("--devices", "2")])
def test_other_processes_find_them(folder, tmp_path, how):
    """Workers and ranks, each a process of its own; the program is started as a person would, without PYTHONPATH."""
    command = [sys.executable, "-P", "-m", "bench", *RUN, *how, "--json", "--results", str(tmp_path / "results")]
    environment = {**os.environ, "BENCH_CACHE": str(tmp_path / "no-cache"), "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["ok"]) == 8
    made = {path.parent.name for path in (tmp_path / "results").glob("*/*/*/trained.json")}
    assert made == {path.parent.name for path in folder.glob("results/*/*/*/trained.json")}


def test_a_board_has_them_all(elsewhere):
    frame = bench.load("results").filter(task="towns", method="soft").to_pandas()
    assert {"shouts", "ppl/token", "chrf"} <= {name.partition(" [")[0] for name in frame.metric}
    assert {"greedy", "top_a=0.2"} <= {name.partition(" [")[0] for name in frame.decoding}
    assert set(frame.backbone) == {"tiny"}


# Keys ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["towns", "tiny", "soft"])
def test_a_changed_source_is_another_cell(files, name):
    before = key()
    write(files, name, FILES[name] + "\n# changed\n")
    assert key() != before
    write(files, name, FILES[name])
    assert key() == before


def test_another_process_makes_the_same_cell(files, monkeypatch, tmp_path):
    (cell,) = make_plan(arguments()).cells
    job = job_of(cell, arguments())
    forget()
    monkeypatch.chdir(tmp_path)
    assert cell_of(job).key == cell.key
    write(files, "towns", TASK + "\n# changed since\n")
    with pytest.raises(BenchError, match="code or data have changed"):
        cell_of(job)
