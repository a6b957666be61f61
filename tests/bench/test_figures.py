"""`bench reproduce` of figures: cells are made in order, start from each other, and are made once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench.store.store import CellFolder
from tests.conftest import call, forget_data

TINY = ("--preset", "small", "--quiet", "--limit", "16", "--set", "trainer.steps=2", "backbone.width=16",
        "trainer.batch_size=4", "evaluation.rows=8")  # fmt: skip
STAND_IN = "f2softmax/table8-stand-in"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with the stand-in for Table 8, of tiny cells."""
    root = tmp_path_factory.mktemp("figures")
    with pytest.MonkeyPatch.context() as patch:
        forget_data(patch, root / "no-cache")
        ended = call("reproduce", STAND_IN, *TINY, "--results", str(root / "results"))
    assert (ended.code, "Traceback" in ended.err) == (0, False), ended.err
    return root / "results"


def records(made: Path, task: str) -> list[dict]:
    return [CellFolder(file.parent).trained() for file in sorted(made.glob(f"{task}/*/*/trained.json"))]


def shown(bench, made: Path, *more: str) -> dict:
    ended = bench("reproduce", STAND_IN, *TINY, "--no-run", "--json", "--results", str(made), *more)
    assert ended.code == 0, ended.err
    (figure,) = json.loads(ended.out)["figures"]
    return figure


def test_the_stand_in_starts_from_a_pretrained_model_and_says_what_it_is(bench, made: Path) -> None:
    figure = shown(bench, made)
    assert [point["reason"] for point in figure["points"]] == [""] * 6
    assert all(set(point["ours"]) == {"PPL", "PPL of a byte", "MSJ", "SB", "Uniq"} for point in figure["points"])
    assert any(note.startswith("A stand-in: neither the model of news") for note in figure["notes"])
    donors = {}
    for record in records(made, "nsmc"):
        donors[record["model"]["checkpoint_sha256"]] = record["config"]["method"]
    assert sorted(donors.values()) == ["f2softmax", "mle"]
    lyrics = [record["config"] for record in records(made, "lyrics")]
    assert len(lyrics) == 4
    assert {config["trainer"]["init_from"] for config in lyrics} == {"", *donors}


def test_nothing_is_made_twice(bench, made: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in made.rglob("*.json")}
    assert bench("reproduce", STAND_IN, *TINY, "--results", str(made)).code == 0
    assert {path: path.stat().st_mtime_ns for path in made.rglob("*.json")} == before


def test_what_starts_from_a_cell_that_is_not_there_says_so(bench, tmp_path: Path) -> None:
    figure = shown(bench, tmp_path / "none")
    reasons = {point["series"]: point["reason"] for point in figure["points"]}
    assert reasons["From scratch"] == "not run"
    assert reasons["Transferred from plain"] == "starts from 'pretrained plain', which is not trained"
    assert not (tmp_path / "none").exists()


def test_a_dry_run_names_every_cell(bench, made: Path, tmp_path: Path) -> None:
    ended = bench("reproduce", "f2softmax/figure3", *TINY, "--dry-run", "--results", str(tmp_path / "none"))
    assert ended.code == 0
    assert ended.out.count("f2softmax/figure3 · equal ") == 10
    assert ended.out.count(": missing") == 12
    ended = bench("reproduce", STAND_IN, *TINY, "--dry-run", "--results", str(made))
    assert ended.out.count(": stored") == 6


def test_figures_are_listed_and_have_a_group_of_their_own(bench, tmp_path: Path) -> None:
    listed = {table["address"] for table in json.loads(bench("reproduce", "--json").out)}
    assert {"f2softmax/figure2", "f2softmax/figure3", STAND_IN} <= listed
    ended = bench("reproduce", "f2softmax/figure3", STAND_IN, "--no-run", "--svg", str(tmp_path / "a.svg"))
    assert ended.code == 2
    assert "--svg is for one figure, not 2" in ended.err
    ended = bench("reproduce", "f2softmax/figure3", "f2softmax/table1", "--no-run")
    assert "no figure 'f2softmax/table1'" in ended.err
