"""What was seen on a GPU, in one line and as a table, from the record that `make gpu` keeps."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bench.leaderboards.render.text_table import markdown_table
from tools.gpu.goals import lines_of

RECORD = Path(__file__).parent / "measured.json"
NONE = "GPU: not tested yet. bf16 was tested on a CPU."


def line(record: dict[str, Any] | None) -> str:
    """Return what was seen, in one line.

    Args:
        record: of `make gpu`; None where there is none.
    """
    if record is None or record["rehearsal"] or not record["machine"]["gpu"]:
        return NONE
    machine, lines = record["machine"], lines_of(record)
    missed = [goal.what for goal in lines if not goal.met]
    text = f"GPU and bf16: tested on {machine['gpu']} (torch {machine['torch']}, {machine['date']}); "
    text += f"{len(lines) - len(missed)} of {len(lines)} goals met; several GPUs: not tested."
    if missed:
        text += f" Missed: {', '.join(missed)}."
    return text


def table(record: dict[str, Any] | None) -> str:
    """Return every goal and what was measured of it as a table; empty where there is no record."""
    if record is None or record["rehearsal"]:
        return ""
    rows = [[goal.what, goal.goal, goal.measured] for goal in lines_of(record)]
    return "\n".join(markdown_table(["what", "goal", "measured"], rows)) + "\n"


def kept() -> dict[str, Any] | None:
    """Return the kept record, or None."""
    if not RECORD.is_file():
        return None
    record: dict[str, Any] = json.loads(RECORD.read_text(encoding="utf-8"))
    return record
