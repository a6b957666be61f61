"""Real worker processes with real faults, in short; `python -m tools.chaos.leases` is the long form."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.chaos.leases import SHORT, ChaosRun, Scenario

SHORTENED = [
    Scenario("kill and stop", kills=1, stops=1, is_odd=True, refuse=0.03),
    Scenario("disk full", kills=1, full_s=0.5),
]


@pytest.mark.parametrize(
    "scenario", [SHORTENED[0], pytest.param(SHORTENED[1], marks=pytest.mark.slow)], ids=lambda scenario: scenario.name
)
def test_faults(tmp_path: Path, scenario: Scenario) -> None:
    found = ChaosRun(tmp_path, 0, workers=4, cells=12, scenario=scenario, timing=SHORT).run()
    assert found.is_good, found
    assert found.done + found.given_up >= 12 - 3 * found.given_up
