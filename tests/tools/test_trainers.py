"""tools/trainers.py: the table of docs/anywhere.md is what the trainers do."""

from __future__ import annotations

import importlib.util

import pytest

from bench.models import METHODS
from tests.drawn import in_turn
from tools.trainers import TRAINERS, cell, stored, table

pytest.importorskip("accelerate")
NAMES = [name for name, entry in METHODS.items() if not entry.baseline]


def test_the_page_has_every_method_and_no_difference() -> None:
    cells = stored()
    assert set(cells) == set(NAMES)
    assert table(cells).count("\n") < len(NAMES)
    for method, row in cells.items():
        assert list(row) == list(TRAINERS)
        assert set(row.values()) in ({"= / ="}, {"refused"}), method


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize(("trainer", "method"), in_turn(list(TRAINERS), NAMES))
def test_a_cell_is_true(trainer: str, method: str) -> None:
    if trainer.startswith("TRL") and not importlib.util.find_spec("trl"):
        pytest.skip("needs TRL, of the extra integrations")
    assert cell(method, trainer) == stored()[method][trainer]
