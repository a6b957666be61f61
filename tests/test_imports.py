"""Imports point one way, and never in a circle: read from the syntax. What else is forbidden, ruff knows."""

import ast
from functools import cache

from tests.shipped import trees

LAYERS = (
    ("bench.errors",),
    ("bench.base",),
    ("bench.metrics", "bench.decodings", "bench.launch.signals"),
    ("bench.models",),
    ("bench.tasks", "bench.generation", "bench.store"),
    ("bench.leaderboards", "bench.config", "bench.pretrained"),
    ("bench.training",),
    ("bench.cells",),
    ("bench.imported", "bench.verify", "bench.cost"),
    ("bench.launch",),
    ("bench.board",),
)
"""Rooms from the ground up. A room imports itself and rooms of lower layers; what stands in none is above all."""
EXTRA = {  # a run locks its folder, and asks for the group of its process
    "bench.cells.run": {f"bench.launch.{name}" for name in ("group", "lock", "schedule")},
}


@cache
def nodes(name):
    """All nodes of a module's syntax."""
    return tuple(ast.walk(trees()[name]))


def layer_of(name):
    """The room that a module belongs to, and its layer."""
    for layer, rooms in enumerate(LAYERS):
        for room in rooms:
            if f"{name}.".startswith(f"{room}."):
                return room, layer
    return "", len(LAYERS)


def test_imports_point_one_way():
    wrong = []
    for name in trees():
        room, layer = layer_of(name)
        for wanted in sorted(wanted_modules(name) - EXTRA.get(name, set())):
            other, below = layer_of(wanted)
            if room and other != room and below >= layer and wanted != "bench":
                wrong.append(f"{name} imports {wanted}")
    assert wrong == []


def test_loaded_files_run_no_code():
    """Tensors are read as tensors alone, and no code of a model's repository is run."""
    for name in trees():
        for node in nodes(name):
            if isinstance(node, ast.Call):
                given = {keyword.arg: ast.unparse(keyword.value) for keyword in node.keywords}
                if ast.unparse(node.func) == "torch.load":
                    assert given.get("weights_only") == "True", f"{name}:{node.lineno}"
                assert "trust_remote_code" not in given, f"{name}:{node.lineno}"


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
