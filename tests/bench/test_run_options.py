"""Options of `bench run`: what their help says, what goes together, and what is refused instead."""

from pathlib import Path

import pytest

from tests.conftest import Bench
from tests.e2e import stores

KEPT = "--keep-checkpoints does not go with"


@pytest.fixture
def words(tmp_path: Path) -> list[str]:
    """The command line of a run of one cell."""
    return stores.arguments(tmp_path / "results", task="ambiguous_template", method="mle")


# What is refused ----------------------------------------------------------------------------------------------------


def test_checkpoints_stay_where_nobody_would_remove_them(bench: Bench, words: list[str], tmp_path: Path) -> None:
    instead = "leave it out, and delete model-*.safetensors of runs afterwards"
    keep = ("--keep-checkpoints", "none")
    ended = bench(*words, *keep, "--trials", "optim.lr=1e-4,1e-3")
    assert (ended.code, f"{KEPT} --trials" in ended.err, instead in ended.err) == (2, True, True)
    assert list(tmp_path.iterdir()) == []
