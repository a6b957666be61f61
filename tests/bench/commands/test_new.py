"""`bench new`: three files in a checkout, two elsewhere; what is written passes at once, and nothing is lost."""

from __future__ import annotations

import inspect
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import ModuleType

import pytest

from bench.config.resolve import NAME as METHOD_NAME
from bench.models import METHODS, MethodEntry
from bench.templates.writing import NAME, check_name, checkout, listing
from tests.bench.own import imported
from tests.conftest import Ended

Bench = Callable[..., Ended]
ROOT = Path(__file__).parents[3]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """As much of a checkout as `bench new` looks at."""
    root = tmp_path / "a checkout"
    (root / "models").mkdir(parents=True)
    (root / "tests" / "models").mkdir(parents=True)
    for file in ("pyproject.toml", "models/__init__.py"):
        shutil.copy(ROOT / file, root / file)
    return root


@pytest.fixture
def loaded(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, Path], ModuleType]:
    """Import a file under a name, for the time of a test."""

    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    return partial(imported, monkeypatch=monkeypatch)


def run_tests(module: ModuleType) -> set[str]:
    """Run the tests of a module, the one with a backbone on the first; return their names."""
    tests = {name: test for name, test in vars(module).items() if name.startswith("test_")}
    for test in tests.values():
        test(*["small-causal"][: len(inspect.signature(test).parameters)])
    return set(tests)


WRITTEN = {
    "test_contract",
    "test_by_hand",
    "test_each_row_is_read_at_its_own_target",
    "test_a_negative_gamma_is_refused",
}


def test_in_a_checkout_it_is_a_built_in(
    bench: Bench, tree: Path, loaded: Callable[[str, Path], ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = bench("new", "method", "token_focus", "--folder", str(tree / "tests"))
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.splitlines() == [
        "wrote models/token_focus.py, tests/models/test_token_focus.py, models/__init__.py; next:",
        "  bench check token_focus",
        "  pytest tests/models/test_token_focus.py",
        "  bench run --task logicnlg --method mle,token_focus",
    ]
    table = loaded("listed", tree / "models" / "__init__.py").METHODS
    objectives, baselines = [], []
    for name, listed in METHODS.items():
        (baselines if listed.baseline else objectives).append(name)
    assert list(table) == [*objectives, "token_focus", *baselines]
    entry = table["token_focus"]
    assert entry.target == "bench.models.token_focus:TokenFocus"
    made = loaded("bench.models.token_focus", tree / "models" / "token_focus.py")
    monkeypatch.setitem(METHODS, "token_focus", MethodEntry(entry.target, entry.summary, entry.paper))
    assert entry.load() is made.TokenFocus
    test = loaded("test_token_focus", tree / "tests" / "models" / "test_token_focus.py")
    assert run_tests(test) == WRITTEN
    assert bench("check", "token_focus", "--quick", "--backbone", "small-encdec").code == 0


def test_what_is_written_is_clean(tree: Path, bench: Bench) -> None:
    """By the project's own rules, before anything is changed."""
    assert bench("new", "method", "zeta", "--folder", str(tree)).code == 0
    files = ["models/zeta.py", "tests/models/test_zeta.py", "models/__init__.py"]
    for rule in (["check", "--no-cache"], ["format", "--check", "--no-cache"]):
        done = subprocess.run([sys.executable, "-m", "ruff", *rule, *files], cwd=tree, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout


def test_elsewhere_it_is_a_class_of_ones_own(
    bench: Bench, tmp_path: Path, loaded: Callable[[str, Path], ModuleType]
) -> None:
    ended = bench("new", "method", "token_focus", "--folder", str(tmp_path))
    assert ended.out.splitlines() == [
        "wrote token_focus.py, test_token_focus.py; next:",
        "  bench check token_focus:TokenFocus",
        "  pytest test_token_focus.py",
        "  bench run --task logicnlg --method mle,token_focus:TokenFocus",
    ]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["test_token_focus.py", "token_focus.py"]
    loaded("token_focus", tmp_path / "token_focus.py")
    assert run_tests(loaded("test_token_focus", tmp_path / "test_token_focus.py")) == WRITTEN
    assert bench("check", "token_focus:TokenFocus", "--quick", "--backbone", "small-encdec").code == 0


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("9a", "a method is named by lower-case letters, digits and '_'"),
        ("Focal", "a method is named by lower-case letters, digits and '_'"),
        ("a-b", "a method is named by lower-case letters, digits and '_'"),
        ("../x", "a method is named by lower-case letters, digits and '_'"),
        ("class", "a method is named by lower-case letters, digits and '_'"),
        ("x" * 65, "a method is named by lower-case letters, digits and '_'"),
        ("trime", "'trime' is a built-in method; choose another name"),
        ("unlikelihood", "'unlikelihood' is a built-in method; choose another name"),
        ("objective", "'objective' would make a class Objective, and the file imports one of that name"),
        ("json", "'json' is a module that is already there, which 'json.py' would hide"),
    ],
)
def test_a_name_that_cannot_be_is_refused(bench: Bench, tmp_path: Path, name: str, says: str) -> None:
    ended = bench("new", "method", name, "--folder", str(tmp_path))
    assert (ended.code, ended.out) == (2, "")
    assert ended.complaints == ended.err.splitlines()
    assert ended.err.startswith(f"bench: {says}")
    assert list(tmp_path.iterdir()) == []


def test_every_name_it_takes_is_a_methods_name() -> None:
    for name in ("a", "token_focus", "f2", "a" * 64):
        assert NAME.fullmatch(name)
        assert METHOD_NAME.fullmatch(name)
        assert check_name(name).isidentifier()


@pytest.mark.parametrize("file", ["models/zeta.py", "tests/models/test_zeta.py"])
def test_what_is_there_stays_as_it_is(bench: Bench, tree: Path, file: str) -> None:
    (tree / file).write_text("mine")
    before = {path: path.read_text() for path in tree.rglob("*.*")}
    ended = bench("new", "method", "zeta", "--folder", str(tree))
    assert ended.code == 2
    assert ended.err == f"bench: '{tree / file}' is there already and stays as it is; choose another name\n"
    assert {path: path.read_text() for path in tree.rglob("*.*")} == before


def test_where_it_cannot_write_it_says_so(bench: Bench, tree: Path, tmp_path: Path) -> None:
    nowhere = tmp_path / "nowhere"
    assert bench("new", "method", "zeta", "--folder", str(nowhere)).err == (
        f"bench: --folder names '{nowhere}', which is no folder\n"
    )
    (tree / "tests" / "models").rmdir()
    ended = bench("new", "method", "zeta", "--folder", str(tree))
    assert ended.err.startswith(f"bench: '{tree / 'tests' / 'models'}' should be a folder for 'test_zeta.py'")
    assert not (tree / "models" / "zeta.py").exists()
    (tree / "models" / "__init__.py").write_text("METHODS = {}\n")
    assert bench("new", "method", "zeta", "--folder", str(tree)).err.startswith(
        "bench: models/__init__.py should hold the table METHODS"
    )
    assert bench("new", "decoding", "zeta").err.startswith("bench: no kind 'decoding'; there are: ")


def test_a_table_without_baselines_grows_at_its_end() -> None:
    text = 'METHODS: dict[str, X] = {\n    "a": X("a"),\n}  # fmt: skip\n'
    line = listing(text, "method", {"name": "zeta", "class": "Zeta"}).splitlines()[2]
    assert line.startswith('    "zeta": MethodEntry("bench.models.zeta:Zeta"')


def test_a_checkout_is_found_from_anywhere_in_it(tree: Path, tmp_path: Path) -> None:
    assert checkout(tree / "tests" / "models") == tree.resolve()
    assert checkout(tmp_path) is None
    (tree / "pyproject.toml").write_text('[project]\nname = "another"\n')
    assert checkout(tree) is None


def test_it_imports_nothing_heavy(tmp_path: Path) -> None:
    code = "import sys; from bench.cli import main; main(['new', 'method', 'zeta']); assert 'torch' not in sys.modules"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
def test_the_written_test_passes_in_a_copy_of_the_tree(tmp_path: Path, bench: Bench) -> None:
    """As a contributor would run it, with the list line that was written."""
    root, links = tmp_path / "copy", tmp_path / "links"
    for folder in ("bench", "models", "tasks", "metrics", "leaderboards"):
        shutil.copytree(ROOT / folder, root / folder, ignore=shutil.ignore_patterns("__pycache__"))
    (root / "tests" / "models").mkdir(parents=True)
    shutil.copy(ROOT / "pyproject.toml", root / "pyproject.toml")
    assert bench("new", "method", "zeta", "--folder", str(root)).code == 0
    shutil.copytree(root / "bench", links / "bench")
    for folder in ("models", "tasks", "metrics", "leaderboards"):
        (links / "bench" / folder).symlink_to(root / folder)
    code = "import sys, pytest; sys.exit(pytest.main(['-q', '-p', 'no:cacheprovider', 'tests/models/test_zeta.py']))"
    environment = {**os.environ, "PYTHONPATH": str(links), "PYTHONSAFEPATH": "1"}
    done = subprocess.run([sys.executable, "-c", code], cwd=root, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    assert "5 passed" in done.stdout
