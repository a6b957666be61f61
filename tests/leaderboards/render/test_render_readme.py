"""The format of leaderboards/render/README.md runs over a snapshot."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from bench.leaderboards.table import tables
from bench.store.store import Store
from tests.bench.own import Own
from tests.conftest import Ended
from tests.shipped import ROOT

PAGE = (ROOT / "leaderboards" / "render" / "README.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"```python\n# (\w+)\.py\n(.*?)```", PAGE, re.DOTALL))
KEPT = ROOT / "leaderboards" / "runs" / "first-screen"


def test_its_format_runs_over_a_snapshot(own: Own, bench: Callable[..., Ended], tmp_path: Path) -> None:
    for name, text in FILES.items():
        own.write(name, text)
    form = f"{own.folder}/winners.py:winners"
    ended = bench("report", "--results", str(KEPT), "--format", form)
    assert ended.code == 0, ended.err
    titles = {table.title for table in tables(Store(KEPT))[0]}
    assert ended.out
    assert all(line.partition(": ")[0] in titles for line in ended.out.splitlines())
    assert bench("report", "--results", str(KEPT), "--format", form, "--output", str(tmp_path)).code == 0
    assert (tmp_path / "leaderboard.txt").read_text() == ended.out
