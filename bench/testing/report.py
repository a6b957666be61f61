"""Report: what the checks of one method found, as lines and as plain content."""

from __future__ import annotations

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
        detail = f"{self.state}, {self.detail}" if MARKS[self.state] == "-" else self.detail
        return f"{MARKS[self.state]:<8}{self.says}{': ' * bool(detail)}{detail}"


@dataclass(frozen=True)
class Report:
    """What all checks of one method found, in the order they ran."""

    method: str
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
        counts = {state: sum(result.state == state for result in self.results) for state in MARKS}
        return f"{self.method}: " + ", ".join(f"{count} {state}" for state, count in counts.items() if count)

    def __str__(self) -> str:
        pairs = zip((None, *self.results), self.results, strict=False)
        return "\n".join([*(line for before, result in pairs for line in lines(result, before)), self.summary])

    def as_dict(self) -> dict[str, Any]:
        """Return plain content."""
        return {"method": self.method, "ok": self.ok, "checks": [asdict(result) for result in self.results]}


def lines(result: Result, before: Result | None) -> list[str]:
    """Lines of a result behind another one: its backbone where that is new, nothing where it says the same again."""
    new = before is None or before.backbone != result.backbone
    if before and not new and result.state == before.state == "not applicable" and result.detail == before.detail:
        return []
    return [*([f"on {result.backbone}"] if new and result.backbone else []), f"  {result}"]
