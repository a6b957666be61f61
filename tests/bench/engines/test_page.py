"""docs/cluster.md: every command of it is run, in order, but those that it calls untested."""

from __future__ import annotations

import re
import shlex
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest

from tests.bench.engines.conftest import Cluster
from tests.conftest import Ended, call
from tests.e2e import children
from tests.shipped import ROOT

PAGE = (ROOT / "docs" / "cluster.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


def commands() -> list[str]:
    """The commands that are run."""
    return [line for kind, block in BLOCKS for line in block.splitlines() if kind != "untested"]


def in_child(words: list[str], folder: Path) -> Ended:
    """Run `bench` in a child, whose workers fork theirs: here a server would have to import first."""
    log = folder / "log"
    environment = {"BENCH_CACHE": str(folder / "no-cache"), "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    child: BaseProcess = children.start(children.run_bench, words, environment, str(log), children.ForkedJobs())
    try:
        assert children.ended(child, 120), children.read(log)
    finally:
        children.kill(child)
    return Ended(child.exitcode or 0, "", children.read(log))


@pytest.mark.slow
def test_every_command_of_the_page_works(cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The workers on Slurm are stand-ins, so what they make is not in the store."""
    monkeypatch.chdir(tmp_path)
    trained = {}
    for command in commands():
        words = shlex.split(command)
        assert words[0] == "bench", command
        if "--jobs" in words or words[1] == "work":
            ended = in_child(words[1:], tmp_path)
        else:
            ended = call(*words[1:])
        assert ended.code == 0, f"{command}\n{ended.err}"
        trained[command] = len(list(tmp_path.glob("results/*/*/*/trained.json")))
        if "--dry-run" in words:
            assert ended.out.startswith("#!/bin/bash\n")
            assert "#SBATCH --mem=4G\n" in ended.out
            assert not cluster.submitted
    assert list(trained.values()) == [1, 2, 2, 3, 3, 3, 3]
    assert len(cluster.submitted) == 1


def test_what_nobody_has_run_says_so() -> None:
    untested = [block for kind, block in BLOCKS if kind == "untested"]
    assert len(untested) == 1
    for engine in ("ssh", "hq submit", "kubectl"):
        assert engine in untested[0]
        assert not [line for line in commands() if engine in line]
