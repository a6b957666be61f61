"""Checks: one rule each of a contract, run so that whatever goes wrong inside is a failure with its place."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.testing.report import Failed, NotApplicable, Report, Result, State

__all__ = ["Check", "OnResult", "module_file", "run_check", "run_checks"]

OnResult = Callable[[Result], None]
"""Told each result as soon as it is there."""


@dataclass(frozen=True)
class Check:
    """One check.

    Args:
        name: in a report.
        says: what it proves.
        run: raises Failed or NotApplicable, or returns what it measured.
        slow: left out by `--quick`.
    """

    name: str
    says: str
    run: Callable[[Any], str]
    slow: bool = False


def run_checks(name: str, checks: Iterable[Check], subject: Any, file: str | None, on_result: OnResult) -> Report:
    """Run checks one after another; the first says whether there is anything that the others can look at.

    Args:
        name: of what is checked.
        checks: in their order.
        subject: what each is given.
        file: the source file of what is checked, for places of errors.
        on_result: told each result.
    """
    results = list[Result]()
    for check in checks:
        if results and results[0].state == "failed":
            result = Result(check.name, check.says, "", "not run", f"'{results[0].check}' failed")
        else:
            result = run_check(check, subject, "", file)
        results.append(result)
        on_result(result)
    return Report(name, tuple(results))


def run_check(check: Check, subject: Any, backbone: str = "", file: str | None = None) -> Result:
    """Run one check; whatever is raised is a failure of it."""
    state: State = "passed"
    try:
        detail = check.run(subject)
    except NotApplicable as reason:
        state, detail = "not applicable", str(reason)
    except Failed as failure:
        state, detail = "failed", str(failure)
    except Exception as error:
        state, detail = "failed", f"{type(error).__name__}{place_of(error, file)}: {error}"
    return Result(check.name, check.says, backbone, state, " ".join(detail.split()))


def place_of(error: Exception, file: str | None) -> str:
    """Say where in a file of one's own an error came up, or where it was raised."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if frame.filename == file]
    where = (own or frames)[-1]
    return f" at {Path(where.filename).name}:{where.lineno}"


def module_file(value: Any) -> str | None:
    """Return the source file of a class or function."""
    return getattr(sys.modules.get(getattr(value, "__module__", "")), "__file__", None)
