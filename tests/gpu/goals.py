"""Goals on a GPU, and what a record says of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

MOST_OF_MLE = 1.10
MOST_OF_HISTALIGN = 1.03
LEAST_MFU = 0.40
MOST_SECONDS_OF_TEXTS = 60.0
MAKES_TEXTS = ("ul_token_seq", "ul_seq")
"""Methods whose every second step writes texts: their time has another goal in the paper's own terms, and none here."""


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
    """Return every goal of the parts that a record has."""
    lines: list[Line] = []
    parts = record["parts"]
    for name, part in parts.items():
        if part["content"] is None:
            lines.append(Line(f"part {name}", "ends well", part["ended"], part["ended"] == "well"))
    steps = content_of(parts, "steps")
    if steps:
        lines += of_steps(steps["step"], record["machine"].get("peak_flops"))
    texts = content_of(parts, "texts")
    if texts:
        lines += of_texts(texts["samples"])
    return lines


def content_of(parts: dict[str, Any], name: str) -> Any:
    """Return what a part measured, or None."""
    return (parts.get(name) or {}).get("content")


def of_steps(rows: list[dict[str, Any]], peak: float | None) -> list[Line]:
    """Return the goals of whole steps.

    Args:
        rows: of `bench perf`.
        peak: operations a second that the device can do, by its maker; None where nobody has said it.
    """
    lines = []
    for row in rows:
        name = row["what"]
        if name.partition(" ")[0] in ("plain", "torch.compile", "Liger", "mle") or name in MAKES_TEXTS:
            continue
        most = MOST_OF_HISTALIGN if name == "histalign" else MOST_OF_MLE
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
    for row in rows:
        if row["what"] == "mle":
            continue
        what = f"{row['samples']:,} x {row['tokens']} of {row['what']}"
        seconds = row["seconds"]
        goal = f"<= {MOST_SECONDS_OF_TEXTS:.0f} s"
        lines.append(Line(what, goal, f"{seconds:.1f} s", seconds <= MOST_SECONDS_OF_TEXTS))
    return lines
