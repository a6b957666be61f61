"""Finding: what an audit says of a store: alarms, questions, and what it could not look at."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any, Literal

__all__ = ["BLIND", "Finding", "alarm", "alarms", "question"]

BLIND = (
    "What no store reveals: seeds or settings that were tried elsewhere and not kept; a person who chose what to "
    "publish by the test split; test rows in the training of a pretrained model; a training beyond the steps that were "
    "replayed; near copies of test rows in training rows where validation rows have as many; data that was altered "
    "before it was first read, where no published hash is known and no check sees it."
)
"""Said under every audit."""


@dataclass(frozen=True)
class Finding:
    """One thing that is not as it should be.

    Args:
        level: `alarm` where nothing honest explains it; `question` where something might, or where a check could not
            be made.
        check: its name.
        place: the cell or the data, for people.
        text: what was expected and what came.
    """

    level: Literal["alarm", "question"]
    check: str
    place: str
    text: str

    def __str__(self) -> str:
        return f"{self.level} · {self.check} · {self.place}: {self.text}"

    def as_dict(self) -> dict[str, Any]:
        """Return plain content."""
        return asdict(self)


def alarm(check: str, place: Any, text: str) -> Finding:
    """Return what nothing honest explains."""
    return Finding("alarm", check, str(place), text)


def question(check: str, place: Any, text: str) -> Finding:
    """Return what something honest might explain, or what could not be checked."""
    return Finding("question", check, str(place), text)


def alarms(findings: Iterable[Finding]) -> Iterator[Finding]:
    """Yield the alarms."""
    for finding in findings:
        if finding.level == "alarm":
            yield finding
