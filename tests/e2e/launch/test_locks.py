"""Two commands on one store: nothing is trained twice, and one goes on where the other is killed."""

import json
from collections.abc import Iterator
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest

from tests.e2e import children, stores
from tests.waiting import wait_until


class Commands:
    """Starts `bench` several times, each with a log of its own; none outlives the test."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self.folder, self.environment = folder, environment
        self.started: list[tuple[BaseProcess, Path]] = []

    def start(self, words: list[str], trouble: Any = None, **more: str) -> BaseProcess:
        """Start a command."""
        log = self.folder / f"log.{len(self.started)}"
        child = children.start(children.run_bench, words, {**self.environment, **more}, str(log), trouble)
        self.started.append((child, log))
        return child

    def log(self, child: BaseProcess) -> str:
        """What a command has printed."""
        return next(children.read(log) for each, log in self.started if each is child)

    def outcome(self, child: BaseProcess) -> dict[str, Any]:
        """What a command says of its runs at its end, with `--json`."""
        assert children.ended(child, 120), self.log(child)
        assert child.exitcode == 0, self.log(child)
        text = self.log(child)
        found: dict[str, Any] = json.loads(text[text.index("{\n") :])
        return found


@pytest.fixture
def commands(tmp_path: Path, environment: dict[str, str]) -> Iterator[Commands]:
    found = Commands(tmp_path, environment)
    yield found
    for child, _ in found.started:
        children.kill(child)


@pytest.mark.parametrize("jobs", ["1", pytest.param("2", marks=pytest.mark.slow)])
def test_two_commands_train_nothing_twice(commands: Commands, matrix: Path, tmp_path: Path, jobs: str) -> None:
    """Each run is done by one of them; the other finds it stored."""
    results = tmp_path / "results"
    words = stores.arguments(results, "--jobs", jobs)
    both = [commands.outcome(child) for child in [commands.start(words, children.fork_jobs) for _ in range(2)]]
    done = [label for found in both for label in found["ok"]]
    assert len(done) == len(set(done)) == 6
    assert all(len(found["ok"]) + len(found["stored"]) == 6 for found in both)
    assert stores.contents(results) == stores.contents(matrix)


def paced(results: Path, *more: str) -> list[str]:
    """Two runs; the first takes its time for each of twenty steps, keeps a state after each, and notes them."""
    sets = ("trainer.steps=20", "execution.state_every=0")
    return stores.arguments(
        results, *more, task="ambiguous_template", method="tests.e2e.methods:Paced,mle", limit=4, sets=sets
    )


def steps_in(folder: Path) -> list[tuple[int, int]]:
    """The processes and the steps that they have taken."""
    lines = children.read(folder / "steps").splitlines()
    return [(int(process), int(step)) for process, step in map(str.split, lines)]


@pytest.mark.parametrize("devices", ["1", pytest.param("2", marks=[pytest.mark.ddp, pytest.mark.slow])])
def test_a_killed_command_hands_its_run_over_at_once(commands: Commands, tmp_path: Path, devices: str) -> None:
    """Meanwhile the other one does the rest of the plan. It goes on from the last state."""
    results, bed = tmp_path / "results", str(tmp_path)
    words = [word for word in paced(results, "--devices", devices) if word != "--quiet"]
    first = commands.start(words, children.fork_workers, BED=bed)
    assert wait_until(lambda: len(steps_in(tmp_path)) >= 2, 60), commands.log(first)
    second = commands.start(words, children.fork_workers, BED=bed)
    assert wait_until(lambda: len(list(results.glob("*/mle/*/trained.json"))) == 1, 60), commands.log(second)
    assert wait_until(lambda: "is locked by process" in commands.log(second), 20), commands.log(second)
    children.kill(first)
    taken = len(steps_in(tmp_path))
    (tmp_path / "go").touch()
    assert wait_until(lambda: len(steps_in(tmp_path)) > taken, 20)
    assert len(commands.outcome(second)["ok"]) == 2
    assert min(step for _, step in steps_in(tmp_path)[taken:]) > 1, "it goes on, and does not begin again"
    assert len(list(results.rglob("trained.json"))) == 2
