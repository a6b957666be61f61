"""The lease protocol on a made-up clock and disk: nothing lost, nothing run twice for nothing."""

from __future__ import annotations

import random

import pytest

from bench.queue.protocol.job import Job
from bench.queue.protocol.lease import Leases
from bench.queue.protocol.timing import Timing
from bench.queue.protocol.view import State
from bench.queue.protocol.worker import MAX_DEATHS
from tests.bench.queue.protocol.mutants import MUTANTS, SEEDS, is_caught, short_sighted, suspended, troubled
from tests.bench.queue.protocol.simulated import TIMING, Faults, SeenFiles, Simulation, chain_of


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


@pytest.mark.parametrize("seed", range(20))
def test_a_suspended_machine_blames_nobody(seed: int) -> None:
    in_order(suspended(seed))


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
    from bench.queue.protocol.journal import DONE, FAILED
    from bench.queue.protocol.view import Claim

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


def test_a_worker_that_is_told_twice_waits_for_nothing() -> None:
    """Its child is killed, not asked."""
    simulation = Simulation([Job("a" * 16, "long", cost=50.0)])
    wid = simulation.add()
    worker = simulation.workers[wid]
    worker.stop(15)
    worker.stop(15)
    assert (worker.stop_signal, worker.in_haste) == (15, True)
    simulation.run()
    assert simulation.ended == {wid}
    assert simulation.runs == []


def test_a_full_disk_does_not_keep_a_told_worker() -> None:
    """It tries for some seconds to return its cell; then the lease runs out by itself, and the others go on."""
    simulation = Simulation(chain_of(3, random.Random(0)))
    first = simulation.add()
    simulation.disk.full = (0.05, 60.0)
    simulation.terminate(first, 0.06)
    simulation.add(at=61.0)
    simulation.run()
    assert simulation.ended == set(simulation.workers)
    assert simulation.lost() == []


def test_a_worker_that_was_given_up_stops_its_child() -> None:
    simulation = Simulation([Job("a" * 16, "long", cost=20.0)])
    first = simulation.add()
    simulation.add(at=0.1)
    simulation.sleep(first, 1.0, 10.0)
    simulation.run()
    assert [(run.generation, run.result) for run in simulation.runs] == [(1, False), (2, True)]


def test_a_cell_that_cannot_be_run_here_is_left_to_others() -> None:
    simulation = Simulation(chain_of(6, random.Random(0)))
    first = simulation.add()
    simulation.refusing = {first}
    simulation.add(at=0.2)
    in_order(simulation.run())
    assert simulation.workers[first].has_refused
    assert {run.wid for run in simulation.runs if run.result} == set(simulation.workers) - {first}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_each_rule_is_needed(mutant: str) -> None:
    """Without the last look, the cap on gaps or a new generation, some run goes wrong."""
    assert is_caught(mutant)


def test_templates_are_rotated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bench.queue.protocol.lease.ROTATED", 3)
    simulation = Simulation(chain_of(10, random.Random(0)))
    simulation.add()
    in_order(simulation.run())
    assert len([name for name in simulation.disk.versions if name.startswith("t/")]) == 4


def test_a_lease_names_its_owner() -> None:
    simulation = Simulation([])
    files = SeenFiles(simulation.disk, Faults(), random.Random(0))
    assert Leases(files, "1" * 16).take("a" * 16, 1) == "1" * 16
    assert Leases(files, "2" * 16).take("a" * 16, 1) == "1" * 16
