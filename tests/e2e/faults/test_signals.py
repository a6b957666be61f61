"""Signals: the exit code of each, one line, the last step kept, no process left; the same command goes on."""

import os
import signal
import time
from functools import partial
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest

from bench.config.config import TrainerConfig
from bench.launch.lock import LOCK
from bench.launch.signals import EXIT_CODES, TOGETHER_S
from bench.models.mle import MLE
from bench.training.events import Events
from bench.training.training import train
from tests.e2e import children, stores
from tests.e2e.children import Run, Start
from tests.e2e.stores import sleepers
from tests.e2e.tiny import SHORT, fed, small
from tests.waiting import wait_until

OURS = "tests.e2e.methods"
AGAIN = "; run the same command again to go on\n"


def asleep(folder: Path, ranks: str) -> dict[int, int]:
    """Wait until these ranks wait; return their processes."""
    beds = {int(rank): folder / f"asleep.{rank}" for rank in ranks.split(",")}
    assert wait_until(lambda: all(children.read(bed) for bed in beds.values()), 60)
    return {rank: int(bed.read_text()) for rank, bed in beds.items()}


def trained(results: Path) -> list[str]:
    """Methods that are stored as trained."""
    return sorted(path.parts[-3] for path in results.rglob("trained.json"))


def kinds(results: Path) -> set[str]:
    """Files of a store, without what is behind the name of their kind."""
    return {path.name.partition("-")[0] for path in results.rglob("*") if path.is_file()}


def assert_ended(child: BaseProcess, code: int, log: Path, line: str, seconds: float = 15) -> None:
    """The run ends in time, says how to go on and nothing else, and leaves no process."""
    assert children.ended(child, seconds), children.read(log)
    assert (child.exitcode, children.read(log)) == (code, line)
    assert children.users(log.parent) == []


@pytest.mark.parametrize("number", EXIT_CODES, ids=lambda number: number.name)
def test_one_process_keeps_its_step(
    start: Start, run: Run, log: Path, tmp_path: Path, of_one: dict[str, bytes], number: signal.Signals
) -> None:
    """The step in which the signal comes is stored, and nothing else; the same command continues from there."""
    results = tmp_path / "results"
    child = start(sleepers(results), children.hear_control_c, SLEEPS="0", BED=str(tmp_path))
    os.kill(asleep(tmp_path, "0")[0], number)
    (tmp_path / "go").touch()
    assert_ended(child, EXIT_CODES[number], log, f"bench: stopped by {number.name}{AGAIN}")
    assert [path.name for path in results.rglob("*") if path.is_file()] == ["step-000000002.ckpt"]
    if number == signal.SIGTERM:  # the stored step is the same after every signal
        assert run(sleepers(results)) == 0, children.read(log)
        assert without_page(stores.contents(results)) == of_one


@pytest.mark.parametrize("devices", ["1", pytest.param("2", marks=pytest.mark.ddp)])
def test_a_second_signal_does_not_wait_for_the_step(start: Start, log: Path, tmp_path: Path, devices: str) -> None:
    results = tmp_path / "results"
    words = [*sleepers(results), "--devices", devices]
    child = start(words, children.fork_workers, SLEEPS="0,1", BED=str(tmp_path))
    asleep(tmp_path, "0" if devices == "1" else "0,1")
    children.send(child, signal.SIGTERM)
    assert not children.ended(child, TOGETHER_S + 0.2)
    children.send(child, signal.SIGTERM)
    assert_ended(child, 143, log, f"bench: stopped by SIGTERM{AGAIN}", seconds=5)
    assert kinds(results) <= ({LOCK} if devices == "2" else set())


MOMENTS = {
    "evaluation": ("bench.cells.work", "evaluate"),
    "scoring": ("bench.cells.run", "score_cell"),
    "report": ("bench.commands.run", "show"),
}


@pytest.mark.parametrize("moment", MOMENTS)
def test_one_process_at_other_moments(
    start: Start, run: Run, log: Path, tmp_path: Path, of_one: dict[str, bytes], moment: str
) -> None:
    results = tmp_path / "results"
    words = [word for word in sleepers(results) if word != "--json"]
    child = start(words, partial(children.wait_in, *MOMENTS[moment]), WAITS="0", BED=str(tmp_path))
    os.kill(asleep(tmp_path, "0")[0], signal.SIGTERM)
    assert_ended(child, 143, log, f"bench: stopped by SIGTERM{AGAIN}")
    assert run(sleepers(results)) == 0, children.read(log)
    assert without_page(stores.contents(results)) == of_one


@pytest.mark.ddp
@pytest.mark.parametrize(
    ("who", "number"),
    [
        pytest.param("parent", signal.SIGINT, marks=pytest.mark.slow),  # tools.chaos.signals sends each to anybody
        ("parent", signal.SIGTERM),
        pytest.param("parent", signal.SIGUSR2, marks=pytest.mark.slow),
        ("0", signal.SIGUSR1),
        pytest.param("1", signal.SIGTERM, marks=pytest.mark.slow),
        pytest.param("all", signal.SIGTERM, marks=pytest.mark.slow),
    ],
)
def test_two_processes_agree(
    start: Start, run: Run, log: Path, tmp_path: Path, of_two: dict[str, bytes], who: str, number: signal.Signals
) -> None:
    """Whoever gets the signal, all end behind the same step, and the run ends with the signal's code."""
    results = tmp_path / "results"
    words = [*sleepers(results), "--devices", "2"]
    trouble = children.together(children.hear_control_c, children.fork_workers)
    child = start(words, trouble, SLEEPS="0,1", BED=str(tmp_path))
    ranks = asleep(tmp_path, "0,1")
    assert child.pid is not None
    processes = {"parent": [child.pid], "all": [child.pid, *ranks.values()]}.get(who) or [ranks[int(who)]]
    for process in processes:
        os.kill(process, number)
    time.sleep(0.4)  # the parent tells its ranks at its next look; those that know already take it for the same
    (tmp_path / "go").touch()
    assert_ended(child, EXIT_CODES[number], log, f"bench: stopped by {number.name}{AGAIN}")
    assert kinds(results) == {"step"}
    assert not (results / ".work").exists()
    assert run(words, children.fork_workers) == 0, children.read(log)
    assert stores.contents(results) == of_two


@pytest.mark.ddp
@pytest.mark.parametrize("who", ["rank", pytest.param("parent", marks=pytest.mark.slow)])
def test_two_processes_in_an_evaluation(
    start: Start, run: Run, log: Path, tmp_path: Path, of_two: dict[str, bytes], who: str
) -> None:
    """One rank in evaluation ends the other one, which has no need to wait for it."""
    results = tmp_path / "results"
    words = [*(word for word in sleepers(results) if word != "--json"), "--devices", "2"]
    trouble = children.together(children.fork_workers, partial(children.wait_in, *MOMENTS["evaluation"]))
    child = start(words, trouble, WAITS="0", BED=str(tmp_path))
    sleeper = asleep(tmp_path, "0")[0]
    assert child.pid is not None
    os.kill(sleeper if who == "rank" else child.pid, signal.SIGTERM)
    assert_ended(child, 143, log, f"bench: stopped by SIGTERM{AGAIN}")
    assert run(words, children.fork_workers) == 0, children.read(log)
    assert without_page(stores.contents(results)) == of_two


def without_page(contents: dict[str, bytes]) -> dict[str, bytes]:
    """A store without the page, which a run with --json does not write."""
    return {name: content for name, content in contents.items() if not name.endswith(".html")}


@pytest.mark.ddp
@pytest.mark.parametrize(
    "sleeps",
    [pytest.param("0,1", id="all are stuck", marks=pytest.mark.slow), pytest.param("1", id="one waits for the other")],
)
def test_ranks_that_do_not_end_are_ended(
    start: Start, run: Run, log: Path, tmp_path: Path, of_two: dict[str, bytes], sleeps: str
) -> None:
    results = tmp_path / "results"
    words = [*sleepers(results), "--devices", "2"]
    trouble = children.together(children.fork_workers, children.hurry)
    child = start(words, trouble, SLEEPS=sleeps, BED=str(tmp_path))
    asleep(tmp_path, sleeps)
    children.send(child, signal.SIGTERM)
    assert_ended(child, 143, log, f"bench: stopped by SIGTERM{AGAIN}")
    assert kinds(results) <= {LOCK}, "no state, and the lock of a process that was killed"
    assert run(words, children.fork_workers) == 0, children.read(log)
    assert stores.contents(results) == of_two


@pytest.mark.parametrize("devices", ["1", pytest.param("2", marks=pytest.mark.ddp)])
@pytest.mark.parametrize("code", [pytest.param(0, marks=pytest.mark.slow), 7])
def test_an_objective_that_exits_fails_its_cell_only(
    run: Run, log: Path, tmp_path: Path, devices: str, code: int
) -> None:
    results = tmp_path / "results"
    words = stores.arguments(results, "--devices", devices, task="ambiguous_template", method=f"{OURS}:Exits,mle",
                             sets=(f"exits:method.code={code}",))  # fmt: skip
    assert run(words, children.fork_workers) == 1, children.read(log)
    assert f"SystemExit: {code}" in children.read(log)
    assert trained(results) == ["mle"]
    assert [path.parts[-3] for path in results.rglob("failed.json")] == ["exits"]


def test_training_leaves_the_handlers_of_its_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    """While it trains too: Lightning's own are taken off."""
    seen = []

    class Steps(Events):
        def step(self, step: int, steps: int, values: dict[str, Any]) -> None:
            seen.append(handlers())

    objective, task, codec = small(MLE)
    before = handlers()
    config = TrainerConfig(steps=2, batch_size=2, **SHORT)
    train(objective, fed(task, codec, config), config, events=Steps())
    assert seen == [before, before]
    assert handlers() == before


def handlers() -> list[Any]:
    """Handlers of the signals that end a run."""
    return [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)]
