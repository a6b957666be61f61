"""Report: what the checks of one method, task, metric or backbone found, as lines and as plain content."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any, Literal

State = Literal["passed", "failed", "not applicable", "not run"]

MARKS: dict[State, str] = {"passed": "ok", "failed": "FAILED", "not applicable": "-", "not run": "-"}


class Failed(Exception):
    """A check failed."""

    def __init__(self, expected: str, came: str, todo: str) -> None:
        super().__init__(f"expected {expected}; got {came}; {todo}")


class NotApplicable(Exception):
    """A check has nothing to look at; the message says why."""


@dataclass(frozen=True)
class Result:
    """What one check found.

    Args:
        check: its name.
        says: what it proves.
        backbone: where; empty for a check of the class alone.
        state: `failed` says in `detail` what was expected, what came and what to do; the others say what was measured
            or why nothing was.
    """

    check: str
    says: str
    backbone: str
    state: State
    detail: str = ""

    def __str__(self) -> str:
        """One line.

        >>> print(Result("names", "names itself and its paper", "", "failed", "expected a paper; got none; add it"))
        FAILED  names itself and its paper: expected a paper; got none; add it
        """
        mark, detail = MARKS[self.state], self.detail
        if mark == "-":
            detail = f"{self.state}, {detail}"
        if detail:
            detail = f": {detail}"
        return f"{mark:<8}{self.says}{detail}"


@dataclass(frozen=True)
class Report:
    """What all checks of one thing found, in the order they ran."""

    name: str
    results: tuple[Result, ...]

    @property
    def failed(self) -> tuple[Result, ...]:
        """The checks that failed."""
        return tuple(result for result in self.results if result.state == "failed")

    @property
    def ok(self) -> bool:
        """Whether none failed."""
        return not self.failed

    @property
    def summary(self) -> str:
        """How many checks ended how."""
        counts = Counter(result.state for result in self.results)
        return f"{self.name}: " + ", ".join(f"{counts[state]} {state}" for state in MARKS if counts[state])

    def __str__(self) -> str:
        printed = []
        for previous, result in zip((None, *self.results), self.results, strict=False):
            printed += lines(result, previous)
        return "\n".join([*printed, self.summary])

    def as_dict(self) -> dict[str, Any]:
        """Return plain content."""
        return {"name": self.name, "ok": self.ok, "checks": [asdict(result) for result in self.results]}


def lines(result: Result, previous: Result | None) -> list[str]:
    """Lines of a result behind the previous one: its backbone where that is new, nothing where it is said again."""
    if previous is None or previous.backbone != result.backbone:
        if result.backbone:
            return [f"on {result.backbone}", f"  {result}"]
        return [f"  {result}"]
    if result.state == previous.state == "not applicable" and result.detail == previous.detail:
        return []
    return [f"  {result}"]
