"""The table of docs/anywhere.md: every method takes the step of `bench run` in every trainer, or is refused."""

import importlib.util
from pathlib import Path

import pytest

from bench.errors import UsageError
from bench.models import METHODS
from bench.models.backbones.causal import Causal
from tests.bench.integrations.trainers import TRAINERS, in_the_suite, llama, suite
from tests.drawn import in_turn

pytest.importorskip("accelerate")
NAMES = [name for name, entry in METHODS.items() if not entry.baseline]
PAGE = Path(__file__).parents[3] / "docs" / "anywhere.md"
TOLERANCE = 1e-6


def stored() -> dict[str, dict[str, str]]:
    """Return the cells of the page by method and trainer."""
    text = PAGE.read_text(encoding="utf-8").partition("<!-- trainers -->\n")[2].partition("<!-- end -->\n")[0]
    lines = [[part.strip() for part in line.strip("|").split("|")] for line in text.splitlines()]
    cells = {}
    for methods, *row in lines[2:]:
        cells |= {name.strip("` "): dict(zip(lines[0][1:], row, strict=True)) for name in methods.split(",")}
    return cells


def cell(method: str, trainer: str, folder: Path) -> str:
    """Return the largest differences of loss and gradient from the suite's step; `=` where they are rounding."""
    try:
        loss, weights = TRAINERS[trainer](method, folder)
    except UsageError:
        return "refused"
    expected, after = suite(method, folder)
    apart = abs(loss - expected), max(float((weights[name] - one).abs().max()) for name, one in after.items())
    return " / ".join("=" if one <= TOLERANCE else f"{one:.0e}" for one in apart)


def test_the_page_has_every_method_and_no_difference() -> None:
    cells = stored()
    assert set(cells) == set(NAMES)
    for method, row in cells.items():
        assert list(row) == list(TRAINERS)
        assert set(row.values()) in ({"= / ="}, {"refused"}), method
    for name in ("histalign", "face", "simctg", "loss_truncation"):  # which the page names for accumulation
        assert not in_the_suite(f"{name}.released", Causal(llama(), None)).batch_invariant


@pytest.mark.filterwarnings("ignore")  # of the trainers, about their own defaults
@pytest.mark.parametrize(("trainer", "method"), in_turn(list(TRAINERS), NAMES))
def test_a_cell_is_true(trainer: str, method: str, tmp_path) -> None:
    if trainer.startswith("TRL") and not importlib.util.find_spec("trl"):
        pytest.skip("needs TRL, of the extra integrations")
    assert cell(method, trainer, tmp_path) == stored()[method][trainer]
