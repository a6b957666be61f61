"""leaderboards/render/README.md is true: its table is the list, its commands are commands, its format runs."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from bench.cli import parser
from bench.leaderboards.render import FORMATS
from bench.leaderboards.table import tables
from bench.store.store import Store
from tests.bench.own import Own
from tests.conftest import Ended
from tests.shipped import ROOT

PAGE = (ROOT / "leaderboards" / "render" / "README.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"```python\n# (\w+)\.py\n(.*?)```", PAGE, re.DOTALL))
KEPT = ROOT / "leaderboards" / "runs" / "first-screen.jsonl"


def test_the_table_is_the_list() -> None:
    lines = ["| format | what | file |", "|---|---|---|"]
    lines += [f"| `{name}` | {entry.summary} | `leaderboard{entry.ending}` |" for name, entry in FORMATS.items()]
    found = re.search(r"<!-- formats -->\n(.*?)<!-- end -->", PAGE, re.DOTALL)
    assert found
    assert found[1].splitlines() == lines


@pytest.mark.parametrize("command", re.findall(r"^bench .*$", PAGE, re.MULTILINE))
def test_its_commands_are_commands(command: str) -> None:
    parser().parse_args(shlex.split(command)[1:])


def test_its_format_runs_over_a_kept_board(own: Own, bench: Callable[..., Ended], tmp_path: Path) -> None:
    for name, text in FILES.items():
        own.write(name, text)
    asked = f"{own.folder}/winners.py:winners"
    ended = bench("report", "--results", str(KEPT), "--format", asked)
    assert ended.code == 0, ended.err
    titles = {table.title for table in tables(Store(KEPT))[0]}
    assert ended.out
    assert all(line.partition(": ")[0] in titles for line in ended.out.splitlines())
    assert bench("report", "--results", str(KEPT), "--format", asked, "--output", str(tmp_path)).code == 0
    assert (tmp_path / "leaderboard.txt").read_text() == ended.out
