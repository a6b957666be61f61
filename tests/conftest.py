"""Fixtures that several folders use: a clean environment, the command line in this process, one tiny trained store."""

import contextlib
import gc
import io
import logging
import shutil
import sys
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, settings

from bench.base.keys import key_of
from bench.cli import main
from tests.bench.own import Own
from tests.disk import wait_for_no_disk
from tests.one_core import have_one_core

# A busy machine draws examples slowly, which says nothing about the code.
settings.register_profile("suite", suppress_health_check=[HealthCheck.too_slow], deadline=None)
settings.load_profile("suite")

wait_for_no_disk()
have_one_core()


class Formatted(logging.Handler):
    """Make the text of every record, and let a record that has none fail its test; print nothing.

    It stands for pytest's own `logging`, which is off: that hangs handlers on dozens of loggers of torch, three times
    a test. `-o addopts=--import-mode=importlib` shows again what a failing test has logged.
    """

    def emit(self, record: logging.LogRecord) -> None:
        """Make the text of a record."""
        self.format(record)


logging.getLogger().addHandler(Formatted())


def pytest_collection() -> None:
    """Search for no garbage while modules and tests are made: all of them stay."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Leave what ten thousand collected tests are made of out of every later search for garbage."""
    gc.freeze()
    gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, object, object]:
    """Fail a test that leaves gradients off, or autocast on, for all that come after it in this process."""
    done = yield
    left = []
    if not torch.is_grad_enabled():
        left.append("gradients off")
        torch.set_grad_enabled(True)
    if torch.is_autocast_enabled("cpu"):
        left.append("autocast on")
        torch.set_autocast_enabled("cpu", False)
    assert not left, f"this test leaves {' and '.join(left)}; is a generator left open inside `with`?"
    return done


TINY = ("run", "--task", "ambiguous_template", "--method", "mle", "--preset", "small", "--limit", "16", "--quiet",
        "--set", "trainer.steps=2", "backbone.width=16", "trainer.batch_size=4")  # fmt: skip
PENALISED = """
from bench.models.core.objective import Objective


class Penalised(Objective):
    name, paper = "penalised", "none"

    def __init__(self, backbone, *, weight: float = 2.0):
        super().__init__(backbone)
        self.weight = weight

    def token_loss(self, log_probs, tokens, targets):
        nll = -log_probs.gather(1, targets[:, None]).squeeze(1)
        return nll + self.weight * -nll
"""
CANARY = "a-key-that-must-never-be-stored"


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def complaints(self) -> list[str]:
        """The lines on stderr that begin with `bench:`."""
        return [line for line in self.err.splitlines() if line.startswith("bench:")]


Bench = Callable[..., Ended]
"""The type of the fixture `bench`."""


def call(*arguments: str) -> Ended:
    """Run `bench` in this process."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main(arguments)
        except SystemExit as ended:  # --help and --version
            code = int(ended.code or 0)
    return Ended(code, out.getvalue(), err.getvalue())


def penalised_method(folder: Path) -> str:
    """Write a method whose loss falls as its likelihood falls, for its penalty outweighs it; return what to type."""
    file = folder / f"penalised_{key_of(str(folder))}.py"  # the name of a module, so another one for every folder
    file.write_text(PENALISED)
    return f"{file}:Penalised"


def forget_data(patch: pytest.MonkeyPatch, cache: Path) -> None:
    """Hide data folders, so that every task uses its built-in sample, and the model hub."""
    patch.delenv("BENCH_DATA", raising=False)
    patch.setenv("BENCH_CACHE", str(cache))
    patch.setenv("HF_HUB_OFFLINE", "1")


@pytest.fixture(autouse=True)
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables are as wide as where there is no terminal, whatever runs the tests."""
    monkeypatch.setenv("COLUMNS", "150")


@pytest.fixture
def sample_data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Every task uses its built-in sample."""
    forget_data(monkeypatch, tmp_path / "no-cache")


@pytest.fixture
def bench(sample_data: None) -> Bench:
    """The command line in this process, on the built-in samples."""
    return call


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Own]:
    """A folder on the import path for a user's own classes, forgotten afterwards."""
    folder = tmp_path / "own code"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    found = Own(folder)
    yield found
    found.forget()


@pytest.fixture(scope="session")
def tiny_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A results folder with one tiny trained, evaluated and scored cell (`TINY`); `store_copy` is for damage."""
    folder = tmp_path_factory.mktemp("tiny")
    with pytest.MonkeyPatch.context() as patch:
        forget_data(patch, folder / "no-cache")
        for name in ("WANDB_API_KEY", "HF_TOKEN", "SOME_SECRET"):
            patch.setenv(name, CANARY)
        ended = call(*TINY, "--results", str(folder / "results"))
    assert ended.code == 0, ended.err
    return folder / "results"


@pytest.fixture(autouse=True)
def tiny_store_stays(request: pytest.FixtureRequest) -> Iterator[None]:
    """No test changes the store that all share: it would be another one's failure."""
    if not {"tiny_store", "store_copy"} & set(request.fixturenames):
        yield
        return
    store = request.getfixturevalue("tiny_store")
    before = files_of(store)
    yield
    assert files_of(store) == before, "this test has changed `tiny_store`; `store_copy` is for that"


def files_of(folder: Path) -> dict[Path, tuple[int, int]]:
    """When the files of a folder were written, and their sizes, but for what readers leave behind."""
    found = {}
    for path in folder.glob("*/*/*/*"):
        state = path.stat()
        found[path] = (state.st_mtime_ns, state.st_size)
    return found


@pytest.fixture
def store_copy(tiny_store: Path, tmp_path: Path) -> Path:
    """A copy of `tiny_store` to damage."""
    return Path(shutil.copytree(tiny_store, tmp_path / "results"))
