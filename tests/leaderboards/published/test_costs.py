"""leaderboards/published/costs.py: ratios of papers' hours, and of stored seconds on one machine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench.leaderboards.published.costs import cost_claims, cost_notes, measured_costs
from bench.leaderboards.published.papers import papers
from bench.store.store import CellFolder, Store
from tests.leaderboards.handmade import trained


def test_the_hours_of_histalign() -> None:
    (paper,) = [paper for paper in papers() if paper.short == "histalign"]
    claims = {(claim.task, claim.backbone, claim.method): claim.ratio for claim in cost_claims(paper.training)}
    assert claims["writingprompts", "gpt2", "histalign"] == pytest.approx(2.0)
    assert claims["writingprompts", "gpt2-large", "histalign"] == pytest.approx(11.5 / 6)
    assert claims["ambiguous_template", "gpt2", "trime"] == pytest.approx(1.5, rel=1e-5)
    assert claims["logicnlg", "bart-large", "histalign"] == 2.5
    assert claims["xsum", "bart-large", "histalign"] == 1.0
    of_histalign = [ratio for (_, _, method), ratio in claims.items() if method == "histalign"]
    assert (min(of_histalign), max(of_histalign)) == (1.0, 2.5)


def timed(root: Path, method: str, seed: int, seconds: float, host: str = "one") -> CellFolder:
    """Store a cell that took some seconds on a machine."""
    cell = trained(root, method, seed, trainer__batch_size=4, trainer__precision="32-true",
                   trainer__max_source=9, trainer__max_target=9)  # fmt: skip
    path = cell.path / "trained.json"
    record = json.loads(path.read_text())
    record["content"]["train"] = {"steps": 10, "curve": []}
    from bench.base.keys import canonical, sha256

    record["sha256"] = sha256(canonical(record["content"]))
    record["provenance"] = {"wall_s": seconds, "host": host, "world": 1, "environment": {"threads": 1}}
    path.write_text(json.dumps(record))
    return cell


def test_ratios_are_of_the_same_seed_and_machine(tmp_path: Path) -> None:
    timed(tmp_path, "mle", 0, 10.0)
    timed(tmp_path, "histalign", 0, 20.0)
    timed(tmp_path, "mle", 1, 10.0)
    timed(tmp_path, "histalign", 1, 80.0)
    timed(tmp_path, "mle", 2, 10.0)
    timed(tmp_path, "histalign", 2, 9000.0, host="another")
    (cost,) = measured_costs(Store(tmp_path))
    assert (cost.task, cost.method, cost.backbone, cost.pairs) == ("logicnlg", "histalign", "small-encdec", 2)
    assert cost.ratio == pytest.approx(4.0)
    (paper,) = [paper for paper in papers() if paper.short == "histalign"]
    claims = [claim for claim in cost_claims(paper.training) if (claim.task, claim.method) == ("logicnlg", "histalign")]
    assert cost_notes(claims, [cost]) == [
        "training time, HistAlign A.4: histalign 2.50 times mle on bart-large (5 h for 2 h); here 4.00 times on "
        "small-encdec (n=2, 2.00 to 8.00)"
    ]
    assert cost_notes(claims, [])[0].endswith("not measured here")
