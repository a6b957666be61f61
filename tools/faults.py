"""`python -m tools.faults [NAME ...]`: put one-line faults into a copy of the code and see the tests catch each.

The faults stand in `faults.toml`. A part of a fault's name chooses it; without a name all are tried. First the named
tests run on the unchanged copy, since a test that fails anyway catches nothing. `--no-baseline` leaves that out.

The program ends with 1 if a fault was missed or could not be tried.
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDERS = ("tasks", "models", "metrics", "leaderboards")
"""Folders at the top level that are imported as parts of `bench`."""
FAILED = 1
"""Exit code of pytest when a test failed; other codes say that tests are missing or cannot be imported."""


@dataclass(frozen=True)
class Fault:
    """One fault, as `faults.toml` describes it."""

    name: str
    path: str
    old: str
    new: str
    tests: str


def faults() -> list[Fault]:
    """Return all faults."""
    content = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    return [Fault(**entry) for entry in content["fault"]]


def place_of(fault: Fault, root: Path) -> Path | None:
    """Return the one file that holds the old text: the fault's own path, else the only one of all product files."""
    own = root / fault.path
    if own.is_file() and own.read_text(encoding="utf-8").count(fault.old) == 1:
        return own
    files = [path for folder in ("bench", *FOLDERS) for path in (root / folder).rglob("*.py")]
    counts = {path: path.read_text(encoding="utf-8").count(fault.old) for path in files}
    found = [path for path, count in counts.items() if count]
    if len(found) == 1 and counts[found[0]] == 1:
        return found[0]
    return None


@contextmanager
def copied() -> Iterator[Path]:
    """Make a copy of the files that git knows, in which `bench` is found through links as `make links` makes them."""
    with tempfile.TemporaryDirectory(prefix="faults-") as folder:
        root = Path(folder)
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
        for name in filter(None, listed.stdout.split("\0")):
            if (ROOT / name).is_file():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / name, root / name)
        subprocess.run(["make", "-s", "links"], cwd=root, check=True)
        yield root


def run_tests(root: Path, tests: Sequence[str]) -> tuple[int, str]:
    """Run tests in the copy until the first failure; return pytest's exit code and the last line that it printed."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-n", "0", "-p", "no:cacheprovider", "-o", "pythonpath="]
    environment = {**os.environ, "PYTHONPATH": f"{root / '.types'}{os.pathsep}{root}", "PYTHONSAFEPATH": "1"}
    done = subprocess.run([*command, *tests], cwd=root, env=environment, capture_output=True, text=True, check=False)
    return done.returncode, (done.stdout.strip().splitlines() or [done.stderr.strip()[-200:]])[-1]


def try_fault(fault: Fault, root: Path) -> tuple[str, str]:
    """Apply a fault, run its tests and undo it; return `caught`, `missed` or what was in the way, and a remark."""
    place = place_of(fault, root)
    if place is None:
        return "gone", f"no file holds the text once: {fault.old.strip()}"
    text = place.read_text(encoding="utf-8")
    place.write_text(text.replace(fault.old, fault.new), encoding="utf-8")
    try:
        code, last = run_tests(root, shlex.split(fault.tests))
    finally:
        place.write_text(text, encoding="utf-8")
    return {FAILED: "caught", 0: "missed"}.get(code, "broken"), last


def main() -> int:
    """Try the faults that are asked for, and print what became of each."""
    parser = argparse.ArgumentParser(prog="python -m tools.faults", description=__doc__)
    parser.add_argument("name", nargs="*", help="try only faults whose name holds one of these texts")
    parser.add_argument("--no-baseline", action="store_true", help="do not run the tests without a fault first")
    options = parser.parse_args()
    asked = [fault for fault in faults() if not options.name or any(part in fault.name for part in options.name)]
    with copied() as root:
        passing: dict[str, bool] = {}
        outcomes = []
        for fault in asked:
            start = time.monotonic()
            if fault.tests not in passing:
                passing[fault.tests] = options.no_baseline or run_tests(root, shlex.split(fault.tests))[0] == 0
            outcome, remark = "broken", "the tests do not pass without the fault"
            if passing[fault.tests]:
                outcome, remark = try_fault(fault, root)
            outcomes.append(outcome)
            print(f"{outcome:7} {time.monotonic() - start:4.0f} s  {fault.name}  ({remark})", flush=True)
    print(f"{outcomes.count('caught')} of {len(outcomes)} faults caught")
    return int(outcomes.count("caught") != len(outcomes))


if __name__ == "__main__":
    sys.exit(main())
