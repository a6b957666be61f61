"""Goals on a GPU, and what a record says of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tools.steps import PEERS

MOST_OF_MLE = 1.10
MOST_OF_HISTALIGN = 1.03
LEAST_MFU = 0.40
MOST_SECONDS_OF_TEXTS = 60.0
NUMBERS = ("steps", "texts")
"""Parts that measure numbers."""
PARTS = (*NUMBERS, "tests", "precision")
"""All parts; one that was not run is missed."""


@dataclass(frozen=True)
class Line:
    """One goal and what was measured of it.

    Args:
        what: is measured.
        goal: in words.
        measured: in words; `not measured` where a part gave no number.
        met: whether the goal is met, false where nothing was measured.
    """

    what: str
    goal: str
    measured: str
    met: bool

    def text(self) -> str:
        """Return it as a line for people and for the record's table."""
        missed = "" if self.met else " · MISSED"
        return f"{self.what} · goal: {self.goal} · measured: {self.measured}{missed}"


def lines_of(record: dict[str, Any]) -> list[Line]:
    """Return every goal; one of a part that was not run, went wrong or has no numbers is missed."""
    lines = [of_part(name, record["parts"].get(name)) for name in PARTS]
    steps, texts = (content_of(record["parts"], name) for name in NUMBERS)
    lines += of_steps(steps.get("step", []), record["machine"].get("peak_flops"))
    lines += of_texts(texts.get("samples", []))
    return lines


def of_part(name: str, part: dict[str, Any] | None) -> Line:
    """Return whether a part has ended well, with numbers where it measures some."""
    if part is None:
        return Line(f"part {name}", "ends well", "not run", False)
    if part["ended"] == "well" and name in NUMBERS and not part["content"]:
        return Line(f"part {name}", "ends well", "no numbers", False)
    return Line(f"part {name}", "ends well", part["ended"], part["ended"] == "well")


def content_of(parts: dict[str, Any], name: str) -> dict[str, Any]:
    """Return what a part measured; empty where it measured nothing."""
    return (parts.get(name) or {}).get("content") or {}


def of_steps(rows: list[dict[str, Any]], peak: float | None) -> list[Line]:
    """Return the goals of whole steps.

    Args:
        rows: of `tools.steps`.
        peak: operations a second that the device can do, by its maker; None where nobody has said it.
    """
    lines = []
    judged = [row for row in rows if row["what"] not in ("mle", *PEERS)]
    if not judged:
        return [Line("steps of methods", f"<= {MOST_OF_MLE:.2f} x mle", "not measured", False)]
    for row in judged:
        name, most = row["what"], MOST_OF_MLE
        if name == "histalign":
            most = MOST_OF_HISTALIGN
        lines.append(Line(f"step of {name}", f"<= {most:.2f} x mle", f"{row['of_mle']:.3f} x", row["of_mle"] <= most))
        if row["waits"] is not None:
            lines.append(Line(f"waits in a step of {name}", "0", f"{row['waits']}", row["waits"] == 0))
    (mle,) = [row for row in rows if row["what"] == "mle"]
    if peak is None:
        lines.append(Line("MFU of mle", f">= {LEAST_MFU:.0%}", "not measured: the device's peak is not known", False))
        return lines
    share = mle["flops_per_second"] / peak
    lines.append(Line("MFU of mle", f">= {LEAST_MFU:.0%}", f"{share:.1%}", share >= LEAST_MFU))
    return lines


def of_texts(rows: list[dict[str, Any]]) -> list[Line]:
    """Return the goals of many texts."""
    lines = []
    judged = [row for row in rows if row["what"] != "mle"]
    if not judged:
        return [Line("texts of methods", f"<= {MOST_SECONDS_OF_TEXTS:.0f} s", "not measured", False)]
    for row in judged:
        what = f"{row['samples']:,} x {row['tokens']} of {row['what']}"
        seconds = row["seconds"]
        goal = f"<= {MOST_SECONDS_OF_TEXTS:.0f} s"
        lines.append(Line(what, goal, f"{seconds:.1f} s", seconds <= MOST_SECONDS_OF_TEXTS))
    return lines
