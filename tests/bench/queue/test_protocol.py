"""The lease protocol on a made-up clock and disk: nothing lost, nothing run twice for nothing."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from bench.queue.job import Job
from bench.queue.lease import Leases
from bench.queue.liveness import Liveness
from bench.queue.timing import Timing
from bench.queue.view import State
from bench.queue.worker import MAX_DEATHS, Worker
from tests.bench.queue.simulated import TIMING, Faults, SeenFiles, Simulation, chain_of

SEEDS = 120


def troubled(seed: int, make_worker: Callable[..., Worker] = Worker) -> Simulation:
    """Six workers of which two are killed, two stopped and one told to end; old views, odd clocks, a full disk."""
    draw = random.Random(seed)
    jobs = chain_of(24, draw)
    simulation = Simulation(jobs, seed, make_worker=make_worker)
    simulation.bad = {job.key for job in jobs if draw.random() < 0.08}
    names = []
    for _ in range(5):
        faults = Faults(
            lag_s=draw.choice([0.0, 2.0]),
            refuse=draw.choice([0.0, 0.03]),
            lose=draw.choice([0.0, 0.05]),
            links=seed % 5 != 0,
            skew=draw.uniform(-1e6, 1e6),
            rate=draw.uniform(0.9, 1.1),
        )
        names.append(simulation.add(faults, draw.uniform(0, 1)))
    simulation.add()
    for wid in names[:2]:
        simulation.kill(wid, draw.uniform(0, 6))
    for wid in names[2:4]:
        simulation.sleep(wid, draw.uniform(0, 5), draw.uniform(1, 7))
    simulation.terminate(names[4], draw.uniform(0, 6))
    if seed % 3 == 0:
        start = draw.uniform(0, 5)
        simulation.disk.full = (start, start + 4)
    return simulation.run()


def in_order(simulation: Simulation) -> None:
    """Nothing is lost, and nothing was run twice without a reason."""
    assert simulation.lost() == []
    assert simulation.unexcused() == []


@pytest.mark.parametrize("seed", range(SEEDS))
def test_all_faults_at_once(seed: int) -> None:
    in_order(troubled(seed))


def test_without_faults_every_cell_is_run_once() -> None:
    simulation = Simulation(chain_of(40, random.Random(0)))
    for _ in range(8):
        simulation.add()
    in_order(simulation.run())
    assert len(simulation.runs) == 40


def test_operations_of_a_cell() -> None:
    """Its link, its claim and its end are written; templates, journals and beats are not of a cell."""
    simulation = Simulation(chain_of(200, random.Random(0)), timing=Timing(1e6, 1e7, 1.0, 0.5))
    simulation.add()
    simulation.run()
    assert simulation.disk.operations / 200 <= 3.1


@pytest.mark.parametrize("links", [True, False], ids=["links", "no links"])
@pytest.mark.parametrize("write", range(1, 26))
def test_a_crash_after_any_write(write: int, links: bool) -> None:
    """After each of journal, template, lease, claim and end, of the first cells."""
    simulation = Simulation(chain_of(6, random.Random(1)))
    simulation.add(Faults(crash_at=write, links=links))
    simulation.add(Faults(links=links), at=0.5)
    in_order(simulation.run())


def test_a_lost_reply_is_no_lost_lease() -> None:
    simulation = Simulation(chain_of(10, random.Random(0)))
    simulation.add(Faults(lose=1.0))
    in_order(simulation.run())
    assert [run.generation for run in simulation.runs] == [1] * 10


def test_a_dead_worker_is_noticed_in_time() -> None:
    """Its cell is begun again within the time to live, two beats and a poll, also by one that has work."""
    jobs = [Job("0" * 16, "long", cost=100.0), Job("1" * 16, "other", cost=0.1)]
    simulation = Simulation(jobs)
    first = simulation.add()
    simulation.add(at=0.01)
    simulation.kill(first, 2.0)
    simulation.run()
    again = [run for run in simulation.runs if run.generation == 2]
    assert len(again) == 1
    assert simulation.disk.now < 2.0 + TIMING.ttl_s + 2 * TIMING.beat_s + TIMING.poll_s + 100.5


@pytest.mark.parametrize("seed", range(20))
def test_a_view_older_than_the_time_to_live(seed: int) -> None:
    """Living workers look dead in it, and what dead ones have done is missing: the last look finds out."""
    in_order(short_sighted(seed))


def short_sighted(seed: int, make_worker: Callable[..., Worker] = Worker) -> Simulation:
    """Five workers that see files as they were up to 8 s ago; one is killed."""
    jobs = chain_of(24, random.Random(seed))
    simulation = Simulation(jobs, seed, make_worker=make_worker)
    simulation.bad = {job.key for job in jobs[::6]}
    names = [simulation.add(Faults(lag_s=8.0), at=index / 10) for index in range(5)]
    simulation.kill(names[0], random.Random(seed).uniform(0, 4))
    return simulation.run()


@pytest.mark.parametrize("seed", range(20))
def test_a_suspended_machine_blames_nobody(seed: int) -> None:
    in_order(suspended(seed))


def suspended(seed: int) -> Simulation:
    """Three workers with long cells and two without, whose machine sleeps for a minute."""
    simulation = Simulation([Job(f"{index:016x}", "long", cost=10.0) for index in range(3)], seed)
    for _ in range(5):
        simulation.add()
    simulation.suspend(random.Random(seed).uniform(1, 5), 60.0)
    return simulation.run()


def test_a_cell_that_kills_its_workers_fails_and_the_others_go_on() -> None:
    jobs = chain_of(12, random.Random(0))
    simulation = Simulation(jobs)
    simulation.poison = {jobs[0].key}
    for _ in range(4):
        simulation.add()
    in_order(simulation.run())
    assert simulation.given_up == {jobs[0].key: MAX_DEATHS}
    assert len([run for run in simulation.runs if run.key == jobs[0].key]) == MAX_DEATHS
    assert len(simulation.ended) == 2


def test_a_failed_cell_is_not_tried_again_and_blocks_its_children() -> None:
    jobs = [Job("a" * 16, "parent"), Job("b" * 16, "child", after=("a" * 16,)), Job("c" * 16, "other")]
    simulation = Simulation(jobs)
    simulation.bad = {"a" * 16}
    simulation.add()
    simulation.add()
    simulation.run()
    assert sorted(run.key[0] for run in simulation.runs) == ["a", "c"]
    (worker, _) = simulation.workers.values()
    worker.view.refresh()
    assert worker.order.state("b" * 16) is State.BLOCKED


def test_done_late_beats_failed_and_unblocks() -> None:
    """A worker that was given up may finish after another one has failed."""
    from bench.queue.journal import DONE, FAILED
    from bench.queue.view import Claim

    jobs = [Job("a" * 16, "parent"), Job("b" * 16, "child", after=("a" * 16,))]
    simulation = Simulation(jobs)
    worker = simulation.workers[simulation.add()]
    worker.view.note("a" * 16, 2, Claim("w2", FAILED))
    assert worker.order.state("b" * 16) is State.BLOCKED
    worker.view.note("a" * 16, 1, Claim("w1", DONE))
    assert worker.order.state("a" * 16) is State.DONE
    assert worker.order.state("b" * 16) is State.NEW


def test_a_told_worker_returns_its_cell_at_once() -> None:
    simulation = Simulation([Job("a" * 16, "long", cost=50.0)])
    first = simulation.add()
    simulation.terminate(first, 5.0)
    simulation.add(at=6.0)
    simulation.run()
    assert [run.generation for run in simulation.runs] == [1, 2]
    assert simulation.records()["a" * 16, 1] == (first, "r")
    assert simulation.disk.now < 58.0  # not the time to live besides


class NoLastLook(Worker):
    """A mutant: takes over without reading what the dead owner has written last."""

    def last_look(self, key: str) -> None:
        pass


def reuse(patch: pytest.MonkeyPatch) -> None:
    """Make a mutant: a takeover writes over the lease of the dead owner."""
    real = SeenFiles.link

    def over(files: SeenFiles, source: str, name: str) -> bool:
        if name not in files.disk.versions:
            return real(files, source, name)
        files.disk.put(name, files.disk.content(source, files.disk.now) or b"")
        return True

    patch.setattr(SeenFiles, "link", over)
    patch.setattr(Worker, "next_generation", lambda worker, key: max(1, worker.view.generation(key)))


def wrong(simulation: Simulation) -> bool:
    return bool(simulation.lost() or simulation.unexcused())


def any_is_wrong(run: Callable[[int], Simulation]) -> bool:
    for seed in range(SEEDS):
        try:
            if wrong(run(seed)):
                return True
        except AssertionError:  # a child before its parent, or no end
            return True
    return False


def test_the_last_look_is_needed() -> None:
    assert any_is_wrong(lambda seed: short_sighted(seed, NoLastLook))


def test_the_cap_on_gaps_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Liveness, "counted", lambda liveness, gap_s: gap_s)
    assert any_is_wrong(suspended)


def test_a_new_generation_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    reuse(monkeypatch)
    assert any_is_wrong(troubled)


def test_templates_are_rotated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bench.queue.lease.ROTATED", 3)
    simulation = Simulation(chain_of(10, random.Random(0)))
    simulation.add()
    in_order(simulation.run())
    assert len([name for name in simulation.disk.versions if name.startswith("t/")]) == 4


def test_a_lease_names_its_owner() -> None:
    simulation = Simulation([])
    files = SeenFiles(simulation.disk, Faults(), random.Random(0))
    assert Leases(files, "1" * 16).take("a" * 16, 1) == "1" * 16
    assert Leases(files, "2" * 16).take("a" * 16, 1) == "1" * 16
