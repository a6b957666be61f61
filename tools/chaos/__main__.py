"""`python -m tools.chaos [PART ...]`: run the long proofs one after another and keep what they print.

Each part is a module here that prints lines `what · goal: ... · measured: ...` and ends with 1 when a goal is missed;
it can be run alone. What was measured goes to `measured.json`, from which the table of docs/cluster.md is made.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
MEASURED = HERE / "measured.json"
LINE = re.compile(r"(?P<what>.+?) · goal: (?P<goal>.+?) · measured: (?P<measured>.+)")


def parts() -> list[str]:
    """Return the names of all parts."""
    return sorted(path.stem for path in HERE.glob("*.py") if not path.stem.startswith("_"))


def run(part: str) -> dict[str, Any]:
    """Run one part, showing what it prints; return what it has measured."""
    begun = time.monotonic()
    command = [sys.executable, "-W", "ignore", "-m", f"tools.chaos.{part}"]
    lines = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            print(f"[{part}] {line}", end="", flush=True)
            if match := LINE.fullmatch(line.strip()):
                lines.append(match.groupdict())
    minutes = (time.monotonic() - begun) / 60
    print(f"[{part}] ended with {process.returncode} after {minutes:.1f} minutes", flush=True)
    return {"met": process.returncode == 0 and bool(lines), "minutes": round(minutes, 1), "lines": lines}


def main() -> int:
    """Run the parts that were named, or all; return 1 when a goal was missed."""
    names = sys.argv[1:] or parts()
    if unknown := set(names) - set(parts()):
        sys.exit(f"no part {', '.join(sorted(unknown))}; there are: {', '.join(parts())}")
    measured = json.loads(MEASURED.read_text()) if MEASURED.exists() else {}
    for name in names:
        measured[name] = run(name)
        MEASURED.write_text(json.dumps(measured, indent=1, sort_keys=True, ensure_ascii=False) + "\n")
    missed = [name for name in names if not measured[name]["met"]]
    print(
        f"{len(names) - len(missed)} of {len(names)} parts met their goals" + "".join(f"; missed: {m}" for m in missed)
    )
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
