"""What `bench new` writes of tasks, metrics and backbones passes at once, in a checkout and elsewhere, and is clean."""

from __future__ import annotations

import inspect
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from bench.metrics import METRICS, MetricEntry
from bench.models.backbones import BACKBONES, BackboneEntry
from bench.tasks import TASKS, TaskEntry
from bench.templates.kinds import KINDS
from tests.bench.own import imported
from tests.conftest import Ended

Bench = Callable[..., Ended]
ROOT = Path(__file__).parents[3]
NEW = ["task", "metric", "backbone"]
TABLES: dict[str, tuple[dict[str, Any], type]] = {
    "task": (TASKS, TaskEntry),
    "metric": (METRICS, MetricEntry),
    "backbone": (BACKBONES, BackboneEntry),
}
TESTS = {"task": 5, "metric": 4, "backbone": 2}
"""How many tests are written."""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """As much of a checkout as `bench new` looks at."""
    root = tmp_path / "checkout"
    for kind in KINDS.values():
        (root / "tests" / kind.folder).mkdir(parents=True, exist_ok=True)
        (root / kind.room).mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / kind.room / "__init__.py", root / kind.room / "__init__.py")
    shutil.copy(ROOT / "pyproject.toml", root / "pyproject.toml")
    return root


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that is no checkout, from which modules can be imported for the time of a test."""
    place = tmp_path / "mine"
    place.mkdir()
    monkeypatch.syspath_prepend(place)
    monkeypatch.chdir(place)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    yield place
    for path in place.glob("*.py"):
        sys.modules.pop(path.stem, None)


def run_tests(module: ModuleType, tmp_path: Path) -> int:
    """Run the tests of a module, each with a folder of its own where it wants one; return how many there are."""
    tests = [test for name, test in vars(module).items() if name.startswith("test_")]
    for test in tests:
        place = tmp_path / test.__name__
        place.mkdir()
        test(*[place][: len(inspect.signature(test).parameters)])
    return len(tests)


@pytest.mark.parametrize("kind", NEW)
def test_elsewhere_it_is_ones_own(
    bench: Bench, kind: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = bench("new", kind, "my_own")
    assert (ended.code, ended.err) == (0, "")
    asked = "my_own:MyOwn" if kind == "task" else "my_own:my_own"
    first, *following = ended.out.splitlines()
    assert first == "wrote my_own.py, test_my_own.py; next:"
    assert following[1] == "  pytest test_my_own.py"
    assert all(asked in line for line in (following[0], *following[2:]))
    assert run_tests(imported("test_my_own", folder / "test_my_own.py", monkeypatch), tmp_path) == TESTS[kind]
    commands = {
        "task": ("run", "--task", asked, "--method", "lead"),
        "metric": ("run", "--task", "pairs", "--method", "lead", "--metrics", asked),
        "backbone": ("run", "--task", "pairs", "--method", "lead", "--backbone", asked),
    }
    ended = bench(*commands[kind], "--preset", "small", "--quiet", "--set", "evaluation.rows=4")
    assert ended.code == 0, ended.err
    shown = {"task": "my_own · test split", "metric": "my-own"}
    if kind in shown:  # a baseline does without a backbone
        assert shown[kind] in ended.out


@pytest.mark.parametrize("kind", NEW)
def test_in_a_checkout_it_is_built_in_and_clean(
    bench: Bench, kind: str, tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = bench("new", kind, "my_own", "--folder", str(tree))
    assert (ended.code, ended.err) == (0, "")
    place = KINDS[kind]
    files = [f"{place.folder}/my_own.py", f"tests/{place.folder}/test_my_own.py", f"{place.room}/__init__.py"]
    assert ended.out.splitlines()[0] == f"wrote {', '.join(files)}; next:"
    for rule in (["check", "--no-cache"], ["format", "--check", "--no-cache"]):
        done = subprocess.run([sys.executable, "-m", "ruff", *rule, *files], cwd=tree, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout
    table, entry_kind = TABLES[kind]
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    entry = getattr(imported("listed", tree / files[2], monkeypatch), place.table)["my_own"]
    module = imported(entry.target.partition(":")[0], tree / files[0], monkeypatch)
    known = {name: value for name, value in vars(entry).items() if value}
    monkeypatch.setitem(table, "my_own", entry_kind(**known))
    assert entry.load() is getattr(module, entry.target.partition(":")[2])
    assert run_tests(imported("test_my_own", tree / files[1], monkeypatch), tmp_path) == TESTS[kind]


@pytest.mark.parametrize(
    ("kind", "name", "says"),
    [
        ("task", "xsum", "'xsum' is a built-in task; choose another name"),
        ("task", "example", "'example' would make a class Example, and the file imports one of that name"),
        ("metric", "rouge", "'rouge' is a built-in metric; choose another name"),
        ("metric", "ratio", "'ratio' is a name that the file imports; choose another"),
        ("backbone", "bilstm", "'bilstm' is a built-in backbone; choose another name"),
        ("backbone", "torch", "'torch' is a name that the file imports; choose another"),
        ("backbone", "Tiny", "a backbone is named by lower-case letters, digits and '_'"),
        ("metric", "json", "'json' is a module that is already there, which 'json.py' would hide"),
    ],
)
def test_a_name_that_cannot_be_is_refused(bench: Bench, tmp_path: Path, kind: str, name: str, says: str) -> None:
    ended = bench("new", kind, name, "--folder", str(tmp_path))
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(f"bench: {says}")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", KINDS)
def test_no_name_that_a_file_imports_is_free(kind: str) -> None:
    """A class or function of an imported name would hide what the file needs."""
    text = (ROOT / "bench" / "templates" / f"{kind}.txt").read_text(encoding="utf-8")
    names = set()
    for line in text.splitlines():
        if line.startswith(("from ", "import ")):
            names.update(part.strip() for part in line.rpartition("import ")[2].split(","))
    wanted = {name for name in names if name[0].isupper() == KINDS[kind].is_class}
    assert wanted - {"torch"} <= KINDS[kind].imported
