"""Every error a user can meet, with the exit code it ends the program with.

BenchError                1   something failed
├── UsageError            2   a name, option or config file is wrong
├── BlockedError          1   a run depends on one that is not there
├── RunError              1   runs of `bench.run` have failed
├── MissingError          3   data, a model or an optional package is not there
│   └── DataError         3   a data file is there but cannot be read as what it should be
└── StoreError            1   a result file is unreadable or could not be written
    └── DamagedError      1   one stored file is damaged or not ours; whatever does not need it goes on
"""

import difflib
from collections.abc import Iterable, Mapping
from pathlib import Path


class BenchError(Exception):
    """Something went wrong that a user can understand; the message says what to do."""

    exit_code = 1


class UsageError(BenchError):
    """A name, option or configuration value is not one we know."""

    exit_code = 2


class BlockedError(BenchError):
    """A run depends on another one that failed or diverged."""


class RunError(BenchError):
    """Runs have failed; all others are stored.

    Args:
        failed: why, by the label of the run.
    """

    def __init__(self, failed: Mapping[str, str]) -> None:
        lines = [f"{label}: {''.join(why.splitlines()[:1])}" for label, why in failed.items()]
        message = "; ".join(lines[:3])
        if len(lines) > 3:
            message += f"; and {len(lines) - 3} more"
        super().__init__(f"{len(lines)} of the runs failed, and all others are stored: {message}")
        self.failed = dict(failed)


class MissingError(BenchError):
    """Data, a model or an optional package is missing; the message says how to get it."""

    exit_code = 3


class DataError(MissingError):
    """A data file is malformed; the message names file and row."""


class StoreError(BenchError):
    """A stored result cannot be read or written; nothing that was stored before is lost."""


class DamagedError(StoreError):
    """One stored file cannot be read as what it should be.

    Args:
        path: the file.
        why: what is wrong with it.
        todo: what to do about it.
    """

    def __init__(self, path: Path, why: str, todo: str) -> None:
        super().__init__(f"stored file '{path}' cannot be read ({why}); {todo}")
        self.path, self.why, self.todo = path, why, todo


def each_once(errors: Iterable[tuple[str, BenchError | str]]) -> list[str]:
    """Return a line for each different message: the first place that has it, and how many more do.

    Args:
        errors: places with what went wrong there, an error or its message.

    >>> gone = MissingError("no folder 'xsum'")
    >>> each_once([("a", gone), ("b", MissingError("no model")), ("c", gone)])
    ["a, and 1 more: no folder 'xsum'", 'b: no model']
    """
    places: dict[str, list[str]] = {}
    for place, error in errors:
        places.setdefault(str(error), []).append(place)
    lines = []
    for message, found in places.items():
        more = ""
        if len(found) > 1:
            more = f", and {len(found) - 1} more"
        lines.append(f"{found[0]}{more}: {message}")
    return lines


def nearest(name: str, names: Iterable[str]) -> str | None:
    """Return the known name that one was meant for, whatever its case and its `-` or `_`; None when none is near.

    >>> nearest("MLE", ["mle"]), nearest("top-k", ["topk"]), nearest("x", ["mle"]), nearest("dft", ["tailr.dft"])
    ('mle', 'topk', None, 'tailr.dft')
    """
    known: dict[str, str] = {}
    for each in sorted(names):
        known.setdefault(_letters(each), each)
    variants = [each for each in known if each.endswith(f".{_letters(name)}")]
    near = difflib.get_close_matches(_letters(name), known, n=1) or variants
    return known[near[0]] if len(near) == 1 else None


def _letters(name: str) -> str:
    """Return a name in lower case, without `-` and `_`."""
    return name.lower().replace("-", "").replace("_", "")


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Return `"; did you mean 'x'?"` for the nearest known name, or the list of names when none is near.

    >>> did_you_mean("logicnl", ["logicnlg", "xsum"])
    "; did you mean 'logicnlg'?"
    """
    known = sorted(names)
    near = nearest(name, known)
    if near is not None:
        return f"; did you mean '{near}'?"
    if known:
        return f"; there are: {', '.join(known)}"
    return ""
