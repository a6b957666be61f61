"""Hours: how long planned trainings take on one device, by the share of its speed that papers' own hours come to.

A training's FLOP over its stated hours, cards and their peak is the share of the peak that the authors had, with all
that their hours contain: attention, validation, reading of data. `tests/bench/test_hours.py` computes it again from the
plans of their recipes, for WritingPrompts with a story a row.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bench.base.sizes import amount
from bench.leaderboards.published.papers import papers
from bench.pretrained.catalogue import catalogue

if TYPE_CHECKING:
    from bench.cells.cell import Cell
    from bench.cost import Cost

__all__ = ["DEVICES", "Device", "hours_content", "hours_text", "missing_weights"]

A100_SHARE = 0.09


@dataclass(frozen=True)
class Device:
    """A GPU.

    Args:
        name: as papers call it.
        peaks: FLOP/s of dense matrix products, in bfloat16, TF32 and float32 (data sheet of NVIDIA).
        memory: bytes.
        share: of the bfloat16 peak that papers' own trainings in mixed precision had: the geometric mean.
        source: what the share is from.
    """

    name: str
    peaks: tuple[float, float, float]
    memory: float
    share: float
    source: str


NOT_STATED = "the share of the A100, since no paper states hours on this card"
DEVICES: Mapping[str, Device] = {
    "a6000": Device("RTX A6000 (48 GB)", (154.8e12, 77.4e12, 38.7e12), 48e9, 0.09,
                    "what HistAlign's 12 stated trainings on this card come to, 2 to 45 %"),
    "a100": Device("A100 (80 GB)", (312e12, 156e12, 19.5e12), 80e9, A100_SHARE,
                   "what HistAlign's 9 stated trainings on this card come to, 4 to 17 %"),
    "h100": Device("H100 (80 GB)", (989e12, 495e12, 67e12), 80e9, A100_SHARE, NOT_STATED),
    "h200": Device("H200 (141 GB)", (989e12, 495e12, 67e12), 141e9, A100_SHARE, NOT_STATED),
}  # fmt: skip
"""Devices by the name that `--device` takes."""


def missing_weights(cell: Cell) -> str:
    """Return that the weights of a run's backbone are not on this machine, and what brings them; empty if they are."""
    config = cell.config
    name = config.asked("backbone")
    for model in catalogue().values():
        if f"backbone {name}" in model.uses and not config.backbone_options.get("path") and not model.is_here:
            return f"the weights of {name} are not on this machine; {model.get_command} brings them"
    return ""


@dataclass(frozen=True)
class Hours:
    """The training time of one planned run: hours, or why there are none.

    Args:
        hours: None where they are not known.
        is_bound: whether the hours are a lower bound.
        why: why there are no hours, or why they are a bound; may be empty.
    """

    hours: float | None
    is_bound: bool = False
    why: str = ""

    @property
    def text(self) -> str:
        """The hours for people."""
        if self.hours is None:
            return f"no hours: {self.why}"
        size = f"{self.hours * 3600:.0f} s"
        if self.hours >= 10:
            size = f"{self.hours:,.0f} h"
        elif self.hours >= 1:
            size = f"{self.hours:.1f} h"
        elif self.hours >= 1 / 60:
            size = f"{self.hours * 60:.0f} min"
        return ", ".join(filter(None, [f"at least {size}" if self.is_bound else size, self.why]))


def hours_of(cell: Cell, cost: Cost, device: Device) -> Hours:
    """Return the training time of a planned run on one device."""
    needed = cost.weights + cost.gradients + cost.moments
    if needed > device.memory:
        return Hours(None, why=f"its weights, gradients and moments take {amount(needed, 'B')}, more than one card has")
    if missing_weights(cell):
        return Hours(None, why="its weights are not here")
    if cost.flops is None:
        return Hours(None, why=cost.unknown or "the number of its steps is not known")
    trainer = cell.config.trainer
    mixed, tf32, exact = device.peaks
    if "mixed" in trainer.precision:
        return Hours(cost.flops / (device.share * mixed) / 3600)
    peak = exact if trainer.float32_products == "highest" else tf32
    why = f"in float32 at the whole peak of {amount(peak, 'FLOP')}/s: no paper states hours in float32"
    return Hours(cost.flops / peak / 3600, True, why)


def hours_text(cells: Sequence[Cell], costs: Sequence[Cost], name: str) -> str:
    """Return the training time of planned runs for people, a line each, with what the papers state for theirs.

    Args:
        cells: of the plan.
        costs: of its runs that are to be trained.
        name: of `DEVICES`.
    """
    device, lines, known = DEVICES[name], [], list[Hours]()
    for cell, found in _planned(cells, costs, name):
        lines.append("; ".join([f"  {cell.label}: {found.text}", *_stated(cell)]))
        if found.hours is not None:
            known.append(found)
    if known:
        total = Hours(sum(found.hours or 0.0 for found in known), any(found.is_bound for found in known))
        lines.append(f"sum of {len(known)} of {len(lines)} runs: {total.text}")
    speed = f"{100 * device.share:.0f} % of its {amount(device.peaks[0], 'FLOP')}/s: {device.source}"
    return "\n".join([f"training time on one {device.name}, in mixed precision at {speed}", *lines])


def hours_content(cells: Sequence[Cell], costs: Sequence[Cost], name: str) -> dict[str, Any]:
    """Return the same as plain content, by key of the run."""
    return {cell.key: {**vars(found), "stated": _stated(cell)} for cell, found in _planned(cells, costs, name)}


def _planned(cells: Sequence[Cell], costs: Sequence[Cost], name: str) -> Iterator[tuple[Cell, Hours]]:
    cell_of = {cell.key: cell for cell in cells}
    for cost in costs:
        yield cell_of[cost.key], hours_of(cell_of[cost.key], cost, DEVICES[name])


def _stated(cell: Cell) -> list[str]:
    """Return what a paper states of the training time of a run's method, task and backbone."""
    about = (cell.config.task, cell.config.backbone)
    return [
        f"{paper.name} {one.where}: {one.text}"
        for paper in papers()
        for one in paper.training
        if (one.task, one.backbone) == about and cell.config.method in one.methods
    ]
