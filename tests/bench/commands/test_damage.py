"""Commands that read a store go on past a damaged file, list it and end with 1; what is only read stays as it is."""

import shutil
from pathlib import Path

import pytest

from tests.bench.board.test_samples import three, written
from tests.bench.commands.test_human import export, store
from tests.conftest import Bench
from tests.leaderboards.handmade import ready

FORMATS = ("terminal", "csv", "json", "html")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for method in ("mle", "trime", "face"):
        for seed in range(2):
            ready(tmp_path / "results", method, seed)
    return tmp_path / "results"


def damage(root: Path, pattern: str) -> Path:
    path = min(root.rglob(pattern))
    path.write_bytes(path.read_bytes()[:-30])
    return path


def everything(root: Path) -> dict[Path, tuple[int, bytes]]:
    """Every file and when it changed, and every folder."""
    held = {}
    for path in [root, *root.rglob("*")]:
        content = path.read_bytes() if path.is_file() else b""
        held[path] = (path.stat().st_mtime_ns, content)
    return held


@pytest.mark.parametrize("pattern", ["scores-*", "trained.json"])
@pytest.mark.parametrize("form", FORMATS)
def test_report_goes_on(bench: Bench, root: Path, tmp_path: Path, form: str, pattern: str) -> None:
    path = damage(root, pattern)
    ended = bench("report", "--results", str(root), "--format", form, "--output", str(tmp_path / "out"))
    assert ended.code == 1
    (line,) = ended.complaints
    assert line.startswith(f"bench: stored file '{path}' cannot be read (")
    assert "; remove it, then bench " in line
    text = (tmp_path / "out").read_text()
    if form == "html":
        assert "trime" in text
        assert "damaged files are left out" in text
    else:
        assert all(method in text for method in ("mle", "trime", "face"))
    assert str(root) not in text


def test_compare_goes_on(bench: Bench, root: Path) -> None:
    first, second = (min((root / "logicnlg" / method).iterdir()) for method in ("mle", "trime"))
    words = ("compare", str(first), str(second), "--results", str(root))
    whole = bench(*words)
    path = damage(first, "scores-*")
    ended = bench(*words)
    assert ended.code == 1
    assert ended.out.splitlines()[0] == whole.out.splitlines()[0]
    assert str(path) in ended.err


@pytest.mark.parametrize("pattern", ["scores-*", "trained.json", "rows-*"])
def test_samples_go_on(bench: Bench, tmp_path: Path, pattern: str) -> None:
    three(tmp_path)
    cell = written(tmp_path, "face", {"r1": "x", "r2": "y", "r3": "z"})
    path = damage(cell.path, pattern)
    ended = bench("samples", "--task", "wikitext103", "--results", str(tmp_path))
    assert ended.code == 1
    assert "two cats sat" in ended.out
    assert [str(path) in line for line in ended.complaints] == [True]


@pytest.mark.parametrize(("pattern", "code"), [("trained.json", 1), ("rows-*", 0)])
def test_a_study_goes_on_with_the_other_cells(bench: Bench, tmp_path: Path, pattern: str, code: int) -> None:
    """Predictions of other methods are not read."""
    root = tmp_path / "results"
    for method in ("histalign", "trime", "mle"):
        store(root, method)
    path = damage(root / "text" / "mle", pattern)
    made = export(bench, root, tmp_path / "study")
    assert (made.code, [str(path) in line for line in made.complaints]) == (code, [True] * code)
    assert (tmp_path / "study" / "key.json").exists()
    damage(root / "text" / "trime", pattern)
    refused = export(bench, root, tmp_path / "none")
    assert (refused.code, str(root / "text" / "trime") in refused.err) == (3, True)


@pytest.mark.parametrize("command", [("store", "verify"), ("score",)])
def test_verify_and_score_go_on_with_the_next_cell(bench: Bench, store_copy: Path, command: tuple[str, ...]) -> None:
    cell = next(store_copy.glob("*/*/*"))
    shutil.copytree(cell, cell.with_name("0000"))
    path = damage(cell.with_name("0000"), "rows-*")
    ended = bench(*command, str(store_copy))
    assert ended.code == 1
    assert str(path) in ended.err + ended.out
    assert "0 stored already" not in ended.out
    assert "\n0 stored scores" not in ended.out


@pytest.mark.parametrize("form", FORMATS)
def test_a_store_that_is_only_read_can_be_reported(bench: Bench, root: Path, tmp_path: Path, form: str) -> None:
    before = everything(root)
    assert bench("store", "status", "--results", str(root)).code == 0
    ended = bench("report", "--results", str(root), "--format", form, "--output", str(tmp_path / "out"))
    assert ended.out == f"wrote {tmp_path / 'out'}\n"
    assert ended.code == 0
    assert everything(root) == before
