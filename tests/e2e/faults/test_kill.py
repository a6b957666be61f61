"""kill -9 at any moment, then the same command again: the same store, byte for byte, apart from provenance."""

import os
import random
import re
import shutil
import time
from functools import partial
from pathlib import Path
from typing import ClassVar

import pytest

from bench.base.files import DAY_S, signature
from bench.cells.run import clean
from bench.store.store import CellFolder
from tests.e2e import children, stores
from tests.e2e.children import Run, Start


def test_kills_at_random_moments(start: Start, run: Run, matrix: Path, tmp_path: Path) -> None:
    """Two; `python -m tools.chaos.kills` makes a hundred, and more suites."""
    draw, died, results, expected = random.Random(0), 0, tmp_path / "results", stores.contents(matrix)
    while died < 2:
        child = start(stores.arguments(results))
        if children.ended(child, draw.expovariate(1 / 0.6)):
            assert child.exitcode == 0
            assert stores.contents(results) == expected
            shutil.rmtree(results)
        else:
            children.kill(child)
            died += 1
    assert run(stores.arguments(results)) == 0
    assert stores.contents(results) == expected


def cell(results: Path) -> list[str]:
    """The smallest run that writes every kind of file."""
    return stores.arguments(results, task="ambiguous_template", method="mle", limit=4)


@pytest.fixture(scope="module")
def one_cell(tmp_path_factory: pytest.TempPathFactory, environment: dict[str, str]) -> dict[str, bytes]:
    """Canonical content of the uninterrupted smallest run."""
    folder = tmp_path_factory.mktemp("one")
    child = children.start(children.run_bench, cell(folder / "results"), environment, str(folder / "log"))
    assert children.ended(child, 120)
    assert child.exitcode == 0, children.read(folder / "log")
    return stores.contents(folder / "results")


class TestEveryPoint:
    """A crash around every call that makes something durable or visible; a state of the store is healed once."""

    SEEN: ClassVar[set[frozenset[tuple[str, bytes]]]] = set()

    @pytest.mark.parametrize(
        ("function", "after"),
        [
            *(pytest.param(*call, marks=pytest.mark.slow) for call in (("fsync", False), ("link", True))),
            ("replace", True),
        ],
    )
    def test_crash(self, run: Run, tmp_path: Path, one_cell: dict[str, bytes], function: str, after: bool) -> None:
        for call in range(1, 100):
            results = tmp_path / f"{call}"
            code = run(cell(results), partial(children.crash, function, call, after))
            if code == 0:
                break
            assert code == children.CRASHED
            if self.is_new(results):
                assert run(cell(results)) == 0
                assert stores.contents(results) == one_cell
        assert call > {"fsync": 16, "link": 6, "replace": 2}[function], "the crashes came"
        assert stores.contents(results) == one_cell

    def is_new(self, results: Path) -> bool:
        """Whether no crash before has left these files, whatever process wrote the temporary ones."""
        files = [path for path in results.rglob("*") if path.is_file()]
        state = frozenset((re.sub(r"-\d+\.tmp$", ".tmp", path.name), stores.content_of(path)) for path in files)
        new = state not in self.SEEN
        self.SEEN.add(state)
        return new


class TestTwoAtOnce:
    def test_a_late_start_leaves_the_files_of_a_living_run(self, copied: Path) -> None:
        """Each start clears away what dead runs have left; what belongs to a living one stays."""
        home = next(copied.glob("logicnlg/mle/*"))
        host, parent, nobody = signature().partition("-")[0], os.getppid(), 2**22 + 1
        living, dead = (home / f".trained.json.{host}-{process}.tmp" for process in (parent, nobody))
        (home / "state").mkdir()
        state = home / "state" / f".step-000000002.ckpt.{host}-{nobody}.tmp"  # as large as the model
        elsewhere, old = (home / f".trained.json.{name}-1.tmp" for name in ("0000abcd", "0000dcba"))
        for path in (living, dead, elsewhere, old, state):
            path.write_text("half")
        long_ago = time.time() - DAY_S - 1
        os.utime(old, (long_ago, long_ago))
        for process in (parent, nobody):
            (copied / ".work" / f"key.{host}-{process}").mkdir(parents=True)
        clean(copied)
        assert [path.exists() for path in (living, dead, elsewhere, old)] == [True, False, True, False]
        assert not state.exists()
        assert {path.name for path in (copied / ".work").iterdir()} == {f"key.{host}-{parent}"}

    def test_trainings_that_differ(self, tmp_path: Path) -> None:
        """Last bits differ between devices: the record stored first keeps its checkpoint, and the other one goes."""
        folder = CellFolder(tmp_path)
        for digest in ("a" * 64, "b" * 64):
            folder.checkpoint(digest).write_text(digest)
            stored = folder.write_trained({"model": {"checkpoint_sha256": digest}}, {})
            assert stored["model"]["checkpoint_sha256"] == "a" * 64
        assert [path.name for path in tmp_path.glob("model-*")] == [folder.checkpoint("a" * 64).name]

    def test_the_loser_evaluates_the_weights_of_the_winner(self, copied: Path, run: Run) -> None:
        """A training that another run has stored meanwhile gives rows of what is stored, not of its own weights."""
        folder = next(copied.glob("logicnlg/mle/*"))
        expected = stores.contents(folder)
        for path in (*folder.glob("rows-*"), *folder.glob("scores-*")):
            path.unlink()
        assert run(stores.arguments(copied, task="logicnlg", method="mle"), children.have_a_rival) == 0
        assert stores.contents(folder) == expected


def test_a_checkpoint_without_a_record(copied: Path, run: Run) -> None:
    """What a run leaves that was killed between the two is replaced, even if its weights were others."""
    folder = next(copied.glob("logicnlg/mle/*"))
    expected = stores.contents(folder)
    folder.joinpath("model-0123456789abcdef.safetensors").write_bytes(b"weights of another training")
    for path in (*folder.glob("rows-*"), *folder.glob("scores-*"), folder / "trained.json"):
        path.unlink()
    assert run(stores.arguments(copied, task="logicnlg", method="mle")) == 0
    assert stores.contents(folder) == expected
