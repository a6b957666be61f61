"""`bench reproduce adadec/figure3`: a trained cell writes for the printed sources, in the form of Gigaword's rows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench.exemplar_probe import in_form
from tests.conftest import call, forget_data

TINY = ("--preset", "small", "--quiet", "--limit", "16", "--set", "trainer.steps=2", "backbone.width=16",
        "trainer.batch_size=4", "evaluation.rows=8")  # fmt: skip


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict]:
    """A store with the cell of the probe, and what was printed."""
    root = tmp_path_factory.mktemp("probe")
    with pytest.MonkeyPatch.context() as patch:
        forget_data(patch, root / "no-cache")
        ended = call("reproduce", "adadec/figure3", *TINY, "--json", "--results", str(root / "results"))
    assert ended.code == 0, ended.err
    return root / "results", json.loads(ended.out)["probes"][0]


def test_a_cell_writes_for_every_exemplar(made: tuple[Path, dict]) -> None:
    _, probe = made
    texts = [exemplar["ours"] for source in probe["sources"] for exemplar in source["exemplars"]]
    assert [list(text) for text in texts] == [["adadec, seed 0"]] * 6
    assert set(probe["measures"]) == {"printed", "the exemplar itself", "adadec, seed 0"}
    assert probe["reasons"] == {}


def test_the_same_cell_writes_the_same_again_without_training(bench, made: tuple[Path, dict]) -> None:
    results, probe = made
    again = bench("reproduce", "adadec/figure3", *TINY, "--no-run", "--json", "--results", str(results))
    assert json.loads(again.out)["probes"] == [probe]


def test_without_a_cell_it_says_so(bench, tmp_path: Path) -> None:
    ended = bench("reproduce", "adadec/figure3", *TINY, "--no-run", "--json", "--results", str(tmp_path / "none"))
    (probe,) = json.loads(ended.out)["probes"]
    assert probe["reasons"] == {"adadec, seed 0": "not run"}
    assert set(probe["measures"]) == {"printed", "the exemplar itself"}
    dry = bench("reproduce", "adadec/figure3", *TINY, "--dry-run", "--results", str(tmp_path / "none"))
    assert dry.out.startswith("adadec/figure3 · gigaword · adadec · ")
    assert dry.out.endswith(": missing\n")


def test_texts_are_written_as_the_rows_are() -> None:
    assert in_form("gigaword", "U.S. sales grow by 2.5 percent.") == "u.s. sales grow by #.# percent ."
    assert in_form("xsum", "As it is.") == "As it is."
