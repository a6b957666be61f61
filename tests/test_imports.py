"""Who may import whom, what is never called, and how long a file may get: read from the syntax of every file."""

import ast
import statistics

import pytest

from tests.shipped import MODULES, ROOT

LIGHT = ("bench.errors", "bench.entries")
ALLOWED = {
    "bench.metrics": ("bench.metrics", "bench.entries"),
    "bench.models": ("bench.models", "bench.seeds", "bench.network", *LIGHT),
    "bench.tasks": (
        "bench.tasks",
        "bench.seeds",
        "bench.keys",
        "bench.network",
        "bench.files",
        "bench.metrics",
        *LIGHT,
    ),
    "bench.leaderboards": (
        "bench.leaderboards",
        "bench.store",
        "bench.keys",
        "bench.files",
        "bench.errors",
        "bench.metrics.items",
        "bench.metrics.columns",
        "bench.metrics.copying",
    ),
}
EXTRA = {
    "bench.tasks.exemplar_files": {"bench.files"},  # written whole or not at all, as results are
    # The tables of what there is; nothing is loaded.
    "bench.leaderboards.table": {"bench.tasks", "bench.models"},
    "bench.leaderboards.controls": {"bench.models"},
    "bench.leaderboards.row": {"bench.models"},
    "bench.leaderboards.needs": {"bench.tasks"},
    "bench.leaderboards.overall": {"bench.tasks"},
    "bench.leaderboards.paper_files": {  # names that papers' numbers are given
        "bench.entries",
        "bench.tasks",
        "bench.models",
        "bench.models.backbones",
        "bench.metrics",
    },
    "bench.models.objective": {"bench.decoding"},  # for type checkers only
    "bench.models.f2softmax": {"bench.decoding"},  # likewise
}
FOLDERS = ("tasks", "models", "metrics", "leaderboards")
FORBIDDEN_MODULES = {"pickle", "dill", "cloudpickle", "joblib", "shelve", "marshal", "pytorch_lightning"}
FORBIDDEN_CALLS = {"eval", "exec", "compile", "__import__"}
MAY_EVAL = {"bench.options"}
TREES = {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in MODULES.items()}


def imports(tree, typing_only=None):
    """The modules a file imports; only those (or all but those) under `if TYPE_CHECKING` when asked."""
    guarded = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if typing_only is not None and (id(node) in guarded) != typing_only:
            continue
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute, by the installed name"
            yield node.module


def package_of(name):
    return next((package for package in ALLOWED if f"{name}.".startswith(f"{package}.")), None)


@pytest.mark.parametrize("name", [name for name in TREES if package_of(name)])
def test_imports_point_one_way(name):
    allowed, extra = ALLOWED[package_of(name)], EXTRA.get(name, set())
    for wanted in imports(TREES[name]):
        if wanted == "bench" or wanted.startswith("bench."):
            inside = any(f"{wanted}.".startswith(f"{one}.") for one in allowed)
            assert inside or wanted in extra, f"{name} imports {wanted}"


def test_decoding_is_known_to_models_for_type_checkers_only():
    for name, tree in TREES.items():
        if package_of(name) == "bench.models":
            assert "bench.decoding" not in set(imports(tree, typing_only=False)), name
    assert "bench.decoding" in set(imports(TREES["bench.models.objective"], typing_only=True))


@pytest.mark.parametrize("name", ["bench.cli", "bench.commands.list", "bench.commands.status", "bench.store",
                                  "bench.leaderboards.table", "bench.models", "bench.tasks", "bench.metrics",
                                  "bench.models.backbones"])  # fmt: skip
def test_what_light_commands_need_is_light(name):
    top = {node for node in TREES[name].body if isinstance(node, (ast.Import, ast.ImportFrom))}
    heavy = {"torch", "lightning", "transformers", "numpy", "yaml", "rich"}
    assert not {wanted.partition(".")[0] for node in top for wanted in imports(ast.Module([node], []))} & heavy


@pytest.mark.parametrize("name", TREES)
def test_the_folders_are_imported_by_their_installed_names(name):
    roots = {wanted.partition(".")[0] for wanted in imports(TREES[name])}
    assert not roots & {*FOLDERS, *FORBIDDEN_MODULES}


def test_tests_import_by_the_installed_names_too():
    for path in (ROOT / "tests").rglob("*.py"):
        roots = {wanted.partition(".")[0] for wanted in imports(ast.parse(path.read_text(encoding="utf-8")))}
        assert not roots & set(FOLDERS), path


@pytest.mark.parametrize("name", TREES)
def test_no_file_runs_text_or_unpickles(name):
    for node in ast.walk(TREES[name]):
        if not isinstance(node, ast.Call):
            continue
        if isinstance(node.func, ast.Name):
            assert node.func.id not in FORBIDDEN_CALLS or name in MAY_EVAL, f"{name}:{node.lineno}"
        if isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name):
            where = (node.func.value.id, node.func.attr)
            assert where not in {("os", "system"), ("numpy", "load"), ("np", "load")}
            if where == ("torch", "load"):  # tensors only: nothing in the file is run
                safe = [k.value for k in node.keywords if k.arg == "weights_only"]
                assert [ast.unparse(value) for value in safe] == ["True"], f"{name}:{node.lineno}"
            assert where != ("yaml", "load") or "BaseLoader" in ast.dump(node), f"{name}:{node.lineno}"
        assert not any(k.arg in ("trust_remote_code", "shell") for k in node.keywords), f"{name}:{node.lineno}"


def test_one_place_evaluates_annotations():
    source = MODULES["bench.options"].read_text(encoding="utf-8")
    assert source.count("eval(") == 1


def test_files_can_be_read_in_one_sitting():
    lengths = {name: len(path.read_text(encoding="utf-8").splitlines()) for name, path in MODULES.items()}
    assert {name: n for name, n in lengths.items() if n > 450} == {}
    assert statistics.median(lengths.values()) <= 160
    tests = [path for path in (ROOT / "tests").rglob("*.py") if len(path.read_text().splitlines()) > 450]
    assert tests == []
