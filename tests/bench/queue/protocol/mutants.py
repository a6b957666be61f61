"""Simulated runs with faults, and mutants of the protocol that must go wrong in some of them."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from unittest.mock import patch

from bench.queue.protocol.job import Job
from bench.queue.protocol.liveness import Liveness
from bench.queue.protocol.worker import Worker
from tests.bench.queue.protocol.simulated import Faults, SeenFiles, Simulation, chain_of

SEEDS = 120


def troubled(seed: int) -> Simulation:
    """Six workers of which two are killed, two stopped and one told to end; old views, odd clocks, a full disk."""
    draw = random.Random(seed)
    jobs = chain_of(24, draw)
    simulation = Simulation(jobs, seed)
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


def short_sighted(seed: int) -> Simulation:
    """Five workers that see files as they were up to 8 s ago; one is killed."""
    jobs = chain_of(24, random.Random(seed))
    simulation = Simulation(jobs, seed)
    simulation.bad = {job.key for job in jobs[::6]}
    names = [simulation.add(Faults(lag_s=8.0), at=index / 10) for index in range(5)]
    simulation.kill(names[0], random.Random(seed).uniform(0, 4))
    return simulation.run()


def suspended(seed: int) -> Simulation:
    """Three workers with long cells and two without, whose machine sleeps for a minute."""
    simulation = Simulation([Job(f"{index:016x}", "long", cost=10.0) for index in range(3)], seed)
    for _ in range(5):
        simulation.add()
    simulation.suspend(random.Random(seed).uniform(1, 5), 60.0)
    return simulation.run()


@contextmanager
def no_last_look() -> Iterator[None]:
    """Take over without reading what the dead owner has written last."""
    with patch.object(Worker, "last_look", lambda worker, key: None):
        yield


@contextmanager
def no_gap_cap() -> Iterator[None]:
    """Count an observer's own pause as silence of the others."""
    with patch.object(Liveness, "counted", lambda liveness, gap_s: gap_s):
        yield


@contextmanager
def reused_generation() -> Iterator[None]:
    """Take over by writing over the lease of the dead owner."""
    real = SeenFiles.link

    def over(files: SeenFiles, source: str, name: str) -> bool:
        if name not in files.disk.versions:
            return real(files, source, name)
        files.disk.put(name, files.disk.content(source, files.disk.now) or b"")
        return True

    def same(worker: Worker, key: str) -> int:
        return max(1, worker.view.generation(key))

    with patch.object(SeenFiles, "link", over), patch.object(Worker, "next_generation", same):
        yield


MUTANTS = {
    "no last look": (no_last_look, short_sighted),
    "no gap cap": (no_gap_cap, suspended),
    "reused generation": (reused_generation, troubled),
}


def is_caught(name: str) -> bool:
    """Return whether some simulated run of a mutant goes wrong."""
    mutant, run = MUTANTS[name]
    with mutant():
        return any(goes_wrong(run, seed) for seed in range(SEEDS))


def goes_wrong(run: Callable[[int], Simulation], seed: int) -> bool:
    """Return whether a run loses a cell, runs one twice without a reason or before its parent, or does not end."""
    try:
        simulation = run(seed)
    except AssertionError:
        return True
    return bool(simulation.lost() or simulation.unexcused())


def caught() -> dict[str, bool]:
    """Return which mutants are caught."""
    return {name: is_caught(name) for name in MUTANTS}
