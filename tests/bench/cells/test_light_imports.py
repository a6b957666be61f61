"""A plan imports nothing that trains, and a run only what its cells ask for: read from the syntax, by what is imported
when a module is.
"""

import ast

import pytest

from tests.shipped import trees

ON_REQUEST = {
    "bench.cells.search.grid": "--grid",
    "bench.cells.search.play_off": "--trials",
    "bench.cells.search.run": "--grid",
    "bench.cells.search.search": "--grid",
    "bench.cells.search.trials": "--trials",
    "bench.cells.job": "--devices",
    "bench.cells.shared.members": "torchrun",
    "bench.cells.loggers.csv_logger": "--logger csv",
    "bench.cells.loggers.tensorboard_logger": "--logger tensorboard",
    "bench.cells.loggers.wandb_logger": "--logger wandb",
    "bench.cells.shared.workers": "--devices",
    "bench.processes.group": "--devices",
    "bench.metrics.diversity.frequency_groups": "open-ended tasks",
    "bench.metrics.likelihood.matrix_rank": "a spectrum",
    "bench.models.backbones.hub": "pretrained backbones",
    "bench.models.baselines": "baselines",
    "bench.tasks.exemplars.retrieve": "methods that read exemplars",
    "bench.tasks.fetch.hub": "data of the hub",
}
CELLS = ("build", "evaluation", "evaluators", "run", "score", "validation", "work")
TRAINING = {f"bench.cells.{name}" for name in CELLS} | {"bench.training.training", "bench.training.state_keeper"}
TRAINING |= {"bench.generation.generation", "bench.generation.sampling"}


def imported_with(start):
    """Every module of ours that is imported when one is: imports inside functions and for type checkers are not."""
    seen, left = set(), [start]
    while left:
        name = left.pop()
        if name in seen or name not in trees():
            continue
        seen.add(name)
        for node in trees()[name].body:
            if isinstance(node, ast.ImportFrom):
                left += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return seen


@pytest.mark.parametrize("start", ["bench.cells.plan", "bench.cells.run", "bench.commands.run"])
@pytest.mark.parametrize("name", ON_REQUEST)
def test_what_few_runs_need_is_imported_where_it_is_needed(start, name):
    assert name in trees()
    assert name not in imported_with(start), f"{name} is for {ON_REQUEST[name]}"


def test_a_plan_imports_nothing_that_trains_or_scores():
    planned = imported_with("bench.cells.plan") | imported_with("bench.commands.run")
    assert not planned & TRAINING
    assert not {name for name in planned if name.startswith("bench.metrics.")}
    found = imported_with("bench.cells.run")
    assert TRAINING - {"bench.generation.generation", "bench.generation.sampling"} <= found, (
        "what trains is found by this test"
    )


@pytest.mark.parametrize("library", ["datasets", "pandas", "pyarrow"])
def test_libraries_of_data_are_imported_inside_functions(library):
    """They take a second, which only a run that reads such data should wait."""
    for name, tree in trees().items():
        imported = []
        for node in tree.body:
            if isinstance(node, ast.Import):
                imported += [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                imported.append(node.module)
        assert library not in [module.partition(".")[0] for module in imported], name
