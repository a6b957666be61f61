"""Slices: the cells that open claims of a task need for the next look, as commands one could type, cheapest first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bench.leaderboards.claim.claim_files import ClaimFile, Run
from bench.leaderboards.claim.sides import Side
from bench.leaderboards.claim.verdicts import Paper, Verdict
from bench.leaderboards.statistics.sequential import next_look

__all__ = ["Slice", "slices"]


@dataclass(frozen=True)
class Slice:
    """The runs of one task that bring its open claims to their next look.

    Args:
        task: their task.
        seeds: of that look.
        runs: with the methods that open claims need, and with seeds from 0 on; what is stored is not made again.
        claims: that are open, in words.
    """

    task: str
    seeds: int
    runs: tuple[Run, ...]
    claims: tuple[str, ...]

    @property
    def minutes(self) -> float:
        """An estimate for one core, of the cells that this look adds."""
        return sum(run.minutes for run in self.runs)


def slices(papers: Sequence[Paper]) -> list[Slice]:
    """Return what the open claims of each task need for their next look, the cheapest first.

    Claims of one task look at the least number of seeds that any of them waits for; the others have these seeds
    already, and wait.
    """
    looks: dict[str, int] = {}
    for _, verdict in _open(papers):
        look = _next(verdict)
        if look is not None:
            looks[verdict.run.task] = min(look, looks.get(verdict.run.task, look))
    found = []
    for task, look in looks.items():
        waiting = [(file, verdict) for file, verdict in _open(papers) if verdict.run.task == task]
        waiting = [(file, verdict) for file, verdict in waiting if _next(verdict) == look]
        runs = tuple(_runs(waiting, look))
        found.append(Slice(task, look, runs, tuple(verdict.claim.says for _, verdict in waiting)))
    return sorted(found, key=lambda of_task: of_task.minutes)


def _open(papers: Sequence[Paper]) -> Iterator[tuple[ClaimFile, Verdict]]:
    """Yield the open claims of all papers with their files."""
    for paper in papers:
        for verdict in paper.verdicts:
            if verdict.is_open:
                yield paper.file, verdict


def _next(verdict: Verdict) -> int | None:
    """Return the number of seeds at which a claim is looked at next; one that waits for a row looks where it is."""
    seeds = len(verdict.evidence.by_seed)
    if verdict.kind == "not run" and seeds > 1:
        return seeds
    return next_look(seeds)


def _runs(waiting: Iterable[tuple[ClaimFile, Verdict]], look: int) -> Iterator[Run]:
    """Yield the runs of some claims, each with the methods that they need and the seeds of a look.

    The minutes are those of the seeds that are not stored.
    """
    wanted: dict[str, tuple[Run, dict[str, int]]] = {}
    for file, verdict in waiting:
        for side, stored in _sides(verdict):
            run = run_of(file, verdict.run, side)
            if run is not None:
                methods = wanted.setdefault(f"{file.name}: {run.name}", (run, {}))[1]
                methods[side.method] = max(look - stored, methods.get(side.method, 0))
    for run, methods in wanted.values():
        minutes = run.minutes / (len(run.methods) * len(run.seeds)) * sum(methods.values())
        yield replace(run, methods=tuple(methods), seeds=tuple(range(look)), minutes=minutes)


def _sides(verdict: Verdict) -> Iterator[tuple[Side, int]]:
    """Yield every row that a claim's verdict is made of, with the seeds that it has for certain."""
    claim, gate, stored = verdict.claim, verdict.run.gate, len(verdict.evidence.by_seed)
    sides = [claim.better, claim.than, *claim.controls]
    if claim.corrected is not None:
        sides += [claim.corrected.better, claim.corrected.than]
    if gate is not None:
        sides.append(gate.baseline)
    for side in sides:
        if side is not None:
            yield side, stored
    if gate is None:
        return
    if verdict.waits:
        stored = 0
    for method in (*gate.controls, *gate.exemplar_controls):
        yield Side(method, gate.baseline.decoding), stored


def run_of(file: ClaimFile, own: Run, side: Side) -> Run | None:
    """Return the run of a file that makes the row of a side; None where none does.

    Args:
        file: of the claim.
        own: the claim's run, which is taken where no run says all the settings of the side.
        side: the row.
    """
    wanted = {**own.where, **side.where}
    makers = [run for run in file.runs if run.task == own.task and side.method in run.methods and _decodes(run, side)]
    for run in makers:
        if all(_stated(run).get(name) == str(value) for name, value in wanted.items()):
            return run
    if own in makers or not makers:
        return own if own in makers else None
    return makers[0]


def _decodes(run: Run, side: Side) -> bool:
    """Return whether a run writes texts as a side wants them; without --decode it is the task's own decoding."""
    if not run.decode or not side.decoding:
        return True
    plain = replace(side, decoding=side.decoding.rpartition(":")[2])
    return any(plain.decodes(decoding) for decoding in run.decode.split(","))


def _stated(run: Run) -> Mapping[str, Any]:
    """Return the settings that a run is known to have, as text."""
    found = {name: str(value) for name, value in run.where.items()}
    for setting in run.sets:
        name, _, value = setting.partition("=")
        found.setdefault(name, value)
    return found
