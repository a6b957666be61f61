"""Fixtures of the end-to-end tests: one trained matrix for all of them, and children that may be killed."""

import json
import shutil
from collections.abc import Callable, Iterator
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import call, forget_data
from tests.e2e import children, stores


@pytest.fixture(autouse=True)
def own_data(sample_data: None) -> None:
    """Every task uses its built-in sample."""


@pytest.fixture(scope="session")
def matrix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The store of two tasks x three methods, from one uninterrupted run. Do not change it: see `copied`."""
    folder = tmp_path_factory.mktemp("matrix")
    with pytest.MonkeyPatch.context() as patch:
        forget_data(patch, folder / "no-cache")
        found = call(*stores.arguments(folder / "results"))
    assert found.code == 0, found.err
    assert len(json.loads(found.out)["ok"]) == 6
    return folder / "results"


@pytest.fixture
def copied(matrix: Path, tmp_path: Path) -> Path:
    """A copy of `matrix` to work on."""
    return Path(shutil.copytree(matrix, tmp_path / "results"))


@pytest.fixture(scope="session")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What children find in place of this machine's data and hub."""
    return {"BENCH_CACHE": str(tmp_path_factory.mktemp("no-cache")), "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Where children print."""
    return tmp_path / "log"


@pytest.fixture
def start(environment: dict[str, str], log: Path) -> Iterator[Callable[..., BaseProcess]]:
    """Start `bench` with some arguments, and perhaps some trouble, in a child; none outlives the test."""
    started = []

    def begin(arguments: list[str], trouble: Any = None, **more: str) -> BaseProcess:
        child = children.start(children.run_bench, arguments, {**environment, **more}, str(log), trouble)
        started.append(child)
        return child

    yield begin
    for child in started:
        children.kill(child)


@pytest.fixture
def run(start: Callable[..., BaseProcess], log: Path) -> Callable[..., int]:
    """Run `bench` in a child to its end; return its exit code."""

    def wait(arguments: list[str], trouble: Any = None, **more: str) -> int:
        child = start(arguments, trouble, **more)
        assert children.ended(child, 120), children.read(log)
        assert child.exitcode is not None
        return child.exitcode

    return wait


@pytest.fixture(scope="session")
def of_one(tmp_path_factory: pytest.TempPathFactory, environment: dict[str, str]) -> dict[str, bytes]:
    """What one process stores of `stores.sleepers` that nobody disturbs."""
    return undisturbed(tmp_path_factory.mktemp("of-one"), environment, "1")


@pytest.fixture(scope="session")
def of_two(tmp_path_factory: pytest.TempPathFactory, environment: dict[str, str]) -> dict[str, bytes]:
    """The same of two processes."""
    return undisturbed(tmp_path_factory.mktemp("of-two"), environment, "2")


def undisturbed(folder: Path, environment: dict[str, str], devices: str) -> dict[str, bytes]:
    """Run to the end; return the store."""
    words = stores.sleepers(folder / "results", "--devices", devices)
    child = children.start(children.run_bench, words, environment, str(folder / "log"), children.fork_workers)
    assert children.ended(child, 120)
    assert child.exitcode == 0, children.read(folder / "log")
    return stores.contents(folder / "results")
