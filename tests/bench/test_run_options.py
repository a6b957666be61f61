"""Options of `bench run`: what their help says, what goes together, and what is refused instead."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bench.launch.group import current_group
from tests.conftest import Ended
from tests.e2e import stores

Bench = Callable[..., Ended]
SLURM = ("--slurm", "time=60")
SHARES = ("--strategy", "fsdp")
ALONE = "a run has one here: give --devices 2 or more, or --slurm nodes=2"
KEPT = "--keep-checkpoints does not go with"


@pytest.fixture
def words(tmp_path: Path) -> list[str]:
    """The command line of a run of one cell."""
    return stores.arguments(tmp_path / "results", task="ambiguous_template", method="mle")


@pytest.fixture
def torchrun(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[int], None]]:
    """Makes this process the first of so many that torchrun has started."""

    def started(world: int) -> None:
        for name, value in {"TORCHELASTIC_RUN_ID": "test", "RANK": "0", "WORLD_SIZE": str(world)}.items():
            monkeypatch.setenv(name, value)
        current_group.cache_clear()

    yield started
    monkeypatch.undo()
    current_group.cache_clear()


# Shares of a model --------------------------------------------------------------------------------------------------


def test_the_nodes_of_a_worker_count_as_processes(bench: Bench, words: list[str]) -> None:
    words.remove("--json")
    ended = bench(*words, *SHARES, *SLURM, "nodes=2", "--dry-run")
    assert ended.code == 0, ended.err
    ended = bench(*words, *SHARES, *SLURM, "--dry-run")
    assert (ended.code, ALONE in ended.err) == (2, True)


def test_a_group_of_one_process_has_no_shares(bench: Bench, words: list[str], torchrun: Callable[[int], None]) -> None:
    torchrun(1)
    assert current_group() is None
    ended = bench(*words, *SHARES)
    assert (ended.code, ALONE in ended.err) == (2, True)


# What is refused ----------------------------------------------------------------------------------------------------


def test_checkpoints_stay_where_nobody_would_remove_them(bench: Bench, words: list[str], tmp_path: Path) -> None:
    instead = "leave it out, and delete model-*.safetensors of runs afterwards"
    keep = ("--keep-checkpoints", "none")
    ended = bench(*words, *keep, "--grid", "optim.lr=1e-4,1e-3")
    assert (ended.code, f"{KEPT} --grid" in ended.err, instead in ended.err) == (2, True, True)
    assert list(tmp_path.iterdir()) == []


# Costs --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("more", [("--devices", "2"), SLURM])
def test_steps_are_timed_in_this_process(bench: Bench, words: list[str], more: tuple[str, ...]) -> None:
    ended = bench(*words, *more, "--dry-run", "timed")
    assert (ended.code, "leave out --slurm and --devices" in ended.err) == (2, True)
