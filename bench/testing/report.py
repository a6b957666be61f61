"""Run the checks of one plug-in and report them. A check returns what it measured, or raises."""

import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor

Check = Callable[..., str]
State = Literal["passed", "failed", "not applicable"]

TOLERANCE = 1e-6
"""Largest difference of numbers that differ by rounding alone; models are in float64, a term may be in float32."""


class Failed(Exception):
    """A check failed; the message has the expected value, the found one and a remedy."""


class NotApplicable(Exception):
    """A check does not apply to the plug-in; the message gives the reason."""


def need(holds: bool, expected: str, actual: object, remedy: str) -> None:
    """Fail the check unless a condition holds."""
    if not holds:
        raise Failed(f"expected {expected}; got {actual}; {remedy}")


def difference(first: Tensor, second: Tensor) -> float:
    """Return the largest difference; infinite where only one is -inf.

    >>> difference(torch.tensor([1.0, -torch.inf]), torch.tensor([1.5, -torch.inf]))
    0.5
    """
    return float(torch.where(first == second, 0.0, first.double() - second.double()).abs().max())


def near(gap: float, expected: str, remedy: str, tolerance: float = TOLERANCE) -> None:
    """Fail the check unless a difference is within a tolerance; NaN fails."""
    need(gap <= tolerance, expected, f"a difference of {gap:.1e}", remedy)


@dataclass(frozen=True)
class Result:
    """The result of one check; `detail` is its measurement, or the reason why it failed or does not apply."""

    check: str
    backbone: str
    state: State
    detail: str

    @property
    def ok(self) -> bool:
        """Whether the check did not fail."""
        return self.state != "failed"

    def __str__(self) -> str:
        """One line.

        >>> print(Result("padding", "small-causal", "failed", "expected 1; got 2; mask it"))
        FAILED  padding on small-causal: expected 1; got 2; mask it
        """
        mark = {"passed": "ok", "failed": "FAILED", "not applicable": "-"}[self.state]
        where = f" on {self.backbone}" if self.backbone else ""
        return f"{mark:<8}{self.check}{where}: {self.detail}"


def run_checks(checks: Sequence[Check], *subject: Any, plugin: Any, backbone: str = "") -> Iterator[Result]:
    """Run checks in their order, but none after a first one that did not pass, since the others depend on it.

    Args:
        checks: functions, which the results are named after.
        subject: their arguments.
        plugin: the class or function that is checked; errors are reported with the line of its file.
        backbone: on which it is checked, for the results.

    Yields:
        The result of each check as soon as it is there.
    """
    for number, check in enumerate(checks):
        state: State = "passed"
        try:
            with torch.random.fork_rng(devices=[]):
                detail = check(*subject)
        except NotApplicable as reason:
            state, detail = "not applicable", str(reason)
        except Failed as failure:
            state, detail = "failed", str(failure)
        except Exception as error:
            state, detail = "failed", f"{type(error).__name__}{place_of(error, plugin)}: {error}"
        yield Result(check.__name__.replace("_", "-"), backbone, state, " ".join(detail.split()))
        if number == 0 and state != "passed":
            return


def place_of(error: Exception, plugin: Any) -> str:
    """Return the line of the plug-in's file that led to an error, or else the line that raised it."""
    file = getattr(sys.modules.get(getattr(plugin, "__module__", "")), "__file__", None)
    frames = traceback.extract_tb(error.__traceback__)
    where = ([frame for frame in frames if frame.filename == file] or frames)[-1]
    return f" at {Path(where.filename).name}:{where.lineno}"
