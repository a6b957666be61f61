"""`--jobs auto`: as many runs at once as cores and memory have room for, and one where that would be no help."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from bench.cells.plan import Plan, make_plan
from bench.cells.progress import Progress
from bench.config.arguments import RunArguments
from bench.launch import jobs
from bench.launch.jobs import BYTES_PER_PROCESS, free_memory, jobs_of

pytestmark = pytest.mark.usefixtures("sample_data")
GB = 2**30


@pytest.fixture
def arguments(tmp_path: Path) -> RunArguments:
    """Four runs of a small model."""
    return RunArguments(
        ("ambiguous_template",), ("mle", "trime"), (0, 1), limit=4, results=str(tmp_path / "results"), jobs="auto"
    )


@pytest.fixture
def plan(arguments: RunArguments) -> Plan:
    return make_plan(arguments)


def of_machine(monkeypatch: pytest.MonkeyPatch, cores: int, memory: int) -> None:
    """Have so many cores and so many bytes of free memory."""
    monkeypatch.setattr(jobs, "cores", lambda: cores)
    monkeypatch.setattr(jobs, "free_memory", lambda: memory)


@pytest.mark.parametrize(
    ("cores", "memory", "more", "expected"),
    [
        (3, 100 * GB, {}, 3),
        (16, 100 * GB, {}, 4),  # there are four runs
        (16, 100 * GB, {"threads": 8}, 2),
        (16, int(2.5 * BYTES_PER_PROCESS), {}, 2),
        (16, BYTES_PER_PROCESS // 2, {}, 1),
        (1, 100 * GB, {}, 1),
        (16, 100 * GB, {"devices": 2}, 1),
        (16, 100 * GB, {"jobs": 3}, 3),
    ],
)
def test_as_many_as_there_is_room_for(
    plan: Plan,
    arguments: RunArguments,
    monkeypatch: pytest.MonkeyPatch,
    cores: int,
    memory: int,
    more: dict[str, int],
    expected: int,
) -> None:
    of_machine(monkeypatch, cores, memory)
    assert jobs_of(plan, replace(arguments, **more)) == expected  # type: ignore[arg-type]


@pytest.mark.parametrize("larger", [{"backbone": "gpt2-scratch"}, {"sets": ("backbone.width=1024",)}])
def test_larger_models_are_one_at_a_time(
    arguments: RunArguments, monkeypatch: pytest.MonkeyPatch, larger: dict[str, object]
) -> None:
    of_machine(monkeypatch, 16, 100 * GB)
    changed = replace(arguments, **larger)  # type: ignore[arg-type]
    assert jobs_of(make_plan(changed), changed) == 1


def test_what_is_free_is_no_more_than_a_container_leaves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limit, used = tmp_path / "max", tmp_path / "current"
    limit.write_text(f"{100 * 2**20}\n")
    used.write_text(f"{40 * 2**20}\n")
    assert free_memory() > 0
    monkeypatch.setattr(jobs, "CGROUPS", {str(limit): str(used)})
    assert free_memory() <= 60 * 2**20
    limit.write_text("max\n")
    assert free_memory() > 60 * 2**20


@pytest.mark.parametrize(("is_here", "pauses"), [(True, [0.5] * 9), (False, [0.5, 1, 2, 4, 8, 16, 32, 60, 60])])
def test_a_run_that_stays_locked_is_submitted_less_and_less_often(
    plan: Plan, arguments: RunArguments, monkeypatch: pytest.MonkeyPatch, is_here: bool, pauses: list[float]
) -> None:
    """Each time the queue of a cluster has one job more."""
    seen: list[float] = []
    monkeypatch.setattr(jobs.Schedule, "put_back", lambda self, number, seconds=0.0: seen.append(seconds))
    with Progress(quiet=True) as progress, ThreadPoolExecutor(1) as pool:
        waiting = jobs.Jobs(plan, arguments, progress, pool, [{}], is_here=is_here)
        for _ in pauses:
            waiting.note(0, {"status": "locked", "error": "is locked by process 1"})
    assert seen == pauses
