"""View: what one worker has read of all journals, and the state of each cell that follows. States are never stored."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from bench.queue.protocol.files import QueueFiles
from bench.queue.protocol.journal import CLAIMED, DONE, ENDED, FAILED, HEADER, RETURNED, beats_of, records_of
from bench.queue.protocol.lease import lease_name
from bench.queue.protocol.liveness import Liveness

__all__ = ["Claim", "State", "View"]


class State(Enum):
    """State of a cell in a queue; a cell is `blocked` by what it is fine-tuned from, which `order.py` knows."""

    NEW = "new"
    HELD = "held"
    RETURNED = "returned"
    DONE = "done"
    FAILED = "failed"
    BLOCKED = "blocked"


@dataclass
class Claim:
    """What is known of one lease.

    Args:
        owner: a worker; empty where its name could not be read yet.
        mark: its last record of it; empty where there is none.
        deaths: of that record.
    """

    owner: str
    mark: str = ""
    deaths: int = 0


@dataclass
class Reading:
    """How far a worker's journal has been read.

    Args:
        start: byte after the last whole line.
        has_ended: whether the worker says so.
    """

    start: int = HEADER
    has_ended: bool = False


@dataclass
class View:
    """All journals as one worker has read them.

    Args:
        files: of the queue.
        liveness: told of every beat counter that is read.
    """

    files: QueueFiles
    liveness: Liveness
    readings: dict[str, Reading] = field(default_factory=dict)
    claims: dict[str, dict[int, Claim]] = field(default_factory=dict)
    done: set[str] = field(default_factory=set)

    def refresh(self, but: str = "") -> None:
        """Read what all journals have new, but one's own."""
        self.meet(but)
        for wid in self.readings:
            self.read(wid)
        for key in self.claims:
            if self.state(key) is State.HELD and not self.holder(key):
                self.find_holder(key)

    def meet(self, but: str = "") -> None:
        """See which workers have joined, but oneself."""
        for wid in self.files.names("j"):
            if wid != but:
                self.readings.setdefault(wid, Reading())

    def peers(self) -> list[str]:
        """Return the workers that have not said that they have ended."""
        return [wid for wid, reading in self.readings.items() if not reading.has_ended]

    def find_holder(self, key: str) -> None:
        """Look for the owner's name in a lease that had none: without hard links it is written after the claim."""
        generation = self.generation(key)
        name = lease_name(key, generation)
        content = self.files.read(name)
        if content:
            self.note(key, generation, Claim(content.decode("ascii", "replace")))
        else:
            self.liveness.look(name, 0)

    def read(self, wid: str, *, fresh: bool = False) -> None:
        """Read what a journal has new."""
        reading = self.readings.setdefault(wid, Reading())
        content = self.files.read(f"j/{wid}", fresh=fresh)
        if content is None:
            self.liveness.look(wid, -1)
            return
        self.liveness.look(wid, beats_of(content))
        records, size = records_of(content[reading.start :])
        reading.start += size
        for record in records:
            if record.mark == ENDED:
                reading.has_ended = True
            else:
                self.note(record.key, record.generation, Claim(wid, record.mark, record.deaths))

    def note(self, key: str, generation: int, claim: Claim) -> None:
        """Note what is known of a lease; a record says more than a name."""
        if claim.mark == DONE:
            self.done.add(key)
        known = self.claims.setdefault(key, {})
        if claim.mark or generation not in known or not known[generation].owner:
            known[generation] = claim

    def state(self, key: str) -> State:
        """Return the state of a cell. Done beats failed, whichever was first: results are the same bytes."""
        if key in self.done:
            return State.DONE
        claims = self.claims.get(key)
        if not claims:
            return State.NEW
        mark = claims[max(claims)].mark
        if mark == FAILED:
            return State.FAILED
        if mark == RETURNED:
            return State.RETURNED
        return State.HELD

    def generation(self, key: str) -> int:
        """Return the latest generation of a cell's leases, 0 for none."""
        return max(self.claims.get(key, {}), default=0)

    def deaths(self, key: str) -> int:
        """Return how many workers a cell has outlived, if its present owner is dead too.

        An owner that died before its first record had not begun: the cell is not to blame.
        """
        for _, claim in sorted(self.claims.get(key, {}).items(), reverse=True):
            if claim.mark == CLAIMED:
                return claim.deaths + 1
            if claim.mark:
                return claim.deaths
        return 0

    def holder(self, key: str) -> str:
        """Return the worker that holds a cell; empty where its name is not known."""
        return self.claims[key][self.generation(key)].owner

    def holder_is_dead(self, key: str) -> bool:
        """Return whether the worker that holds a cell has ended or is silent for too long."""
        owner = self.holder(key)
        if not owner:
            return self.liveness.is_dead(lease_name(key, self.generation(key)))
        reading = self.readings.get(owner)
        return self.liveness.is_dead(owner) or (reading is not None and reading.has_ended)
