"""leaderboards/one_gradient.py: a table that shows one method under several names says so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bench.leaderboards.one_gradient import one_gradient_lines
from bench.leaderboards.render.formats import render
from bench.leaderboards.table import tables
from bench.store.store import Store
from tests.leaderboards.handmade import leaderboards_of, scored, trained

DFT = {"form": "tailr", "gamma": 1.0, "floor": 0.0, "eta": 0.3, "k": 1.0, "q": 0.1}
POWER = {**DFT, "form": "power", "gamma": 0.8, "floor": 0.2}
SAID = "one gradient under 2 names, so one method: {} (p times that of -log p)"


def cell(root: Path, method: str, options: dict[str, Any], **changes: Any) -> None:
    """Store a cell with a score."""
    scored(trained(root, method, method_options=options, **changes), {"bleu-3": float(len(method))})


def lines(root: Path) -> list[str]:
    """What is said of gradients under the only table."""
    (table,), _ = tables(Store(root))
    return one_gradient_lines(table.rows)


@pytest.mark.parametrize("form", ["markdown", "terminal"])
def test_a_table_says_that_two_names_are_one_method(tmp_path: Path, form: str) -> None:
    cell(tmp_path, "mle", {})
    cell(tmp_path, "tailr", {**DFT, "gamma": 0.8, "floor": 0.2})
    cell(tmp_path, "tailr.power", POWER)
    assert lines(tmp_path) == []
    cell(tmp_path, "tailr.dft", DFT)
    assert lines(tmp_path) == [SAID.format("tailr.power, tailr.dft")]
    text = render(leaderboards_of(Store(tmp_path)), form).replace("\\", "")
    assert "one gradient under 2 names, so one method" in " ".join(text.split())


def test_settings_that_were_typed_count_as_names_do(tmp_path: Path) -> None:
    cell(tmp_path, "tailr.dft", DFT)
    cell(tmp_path, "tailr.mixce", {**DFT, "form": "mixce", "eta": 0.0})
    assert lines(tmp_path) == [SAID.format("tailr.mixce, tailr.dft")]


def test_rows_of_other_trainings_are_other_rows(tmp_path: Path) -> None:
    cell(tmp_path, "tailr.dft", DFT)
    cell(tmp_path, "tailr.power", POWER, trainer__lr=0.1)
    assert lines(tmp_path) == []
