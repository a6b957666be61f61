"""Hours: operations over what a device reaches of its peak (MFU, model FLOPs utilisation; Chowdhery et al. 2022)."""

from __future__ import annotations

from dataclasses import dataclass

from bench.cells.cell import Cell
from bench.cells.how import How
from bench.cost.devices import Device, named_device
from bench.cost.flops import Products, flops_of_row, trained_share
from bench.cost.training_rows import TrainingRows
from bench.errors import BenchError
from bench.store.store import CellFolder

__all__ = ["ASSUMED", "Utilisation", "assumed", "hours_of", "measured"]

ASSUMED = {"float32": 0.50, "reduced": 0.30, "cpu": 0.30}
"""Share of the peak that is reached: by float32 products on a GPU, by those of fewer bits, and on processors."""

SHORTEST_S = 5.0
"""A training that took less time says nothing: most of it was the start."""


@dataclass(frozen=True)
class Utilisation:
    """Model FLOPs utilisation.

    Args:
        share: of the device's peak, 0 to 1.
        why: `assumed`, or what it was measured on.
    """

    share: float
    why: str


def hours_of(flops: float, utilisation: Utilisation, device: Device, cell: Cell, world: int) -> float:
    """Return hours of training on so many devices."""
    trainer = cell.config.trainer
    peak = device.peak(trainer.precision, trainer.float32_products)
    return flops / (utilisation.share * peak * world) / 3600


def assumed(device: Device, cell: Cell, how: How) -> Utilisation:
    """Return what is assumed where nothing was measured."""
    share = ASSUMED["reduced"]
    if device.kind == "cpu":
        share = ASSUMED["cpu"]
    elif cell.config.trainer.precision.startswith("32"):
        share = ASSUMED["float32"]
    if how.activation_checkpointing:  # what is computed again is no operation of the model's, and takes its time
        return Utilisation(share * recomputing_share(cell), "assumed, with activations computed again")
    return Utilisation(share, "assumed")


def recomputing_share(cell: Cell) -> float:
    """Return the share of the operations that are the model's where activations are computed again.

    That is 6 of 8 a weight and token where every weight is trained, and 4 of 6 with adapters.
    """
    of_model = 6 * trained_share(cell)
    return of_model / (of_model + 2)


def measured(cell: Cell, products: Products, rows: TrainingRows, device: Device, how: How) -> Utilisation | None:
    """Return what stored cells of the same task, method, backbone, precision and way reached on this kind of device.

    Args:
        cell: a planned one.
        products: of its backbone.
        rows: of its training.
        device: that costs are stated for.
        how: it would be trained.

    Returns:
        The mean over these cells; None where there is none, or the device is another one.
    """
    shares = []
    for record in sorted(cell.folder.path.parent.glob("*/trained.json")):
        share = _share(CellFolder(record.parent), cell, products, rows, device, how)
        if share is not None:
            shares.append(share)
    if not shares:
        return None
    return Utilisation(sum(shares) / len(shares), f"measured, {len(shares)} trained cells here")


def _share(
    folder: CellFolder, cell: Cell, products: Products, rows: TrainingRows, device: Device, how: How
) -> float | None:
    """Return the share of the peak that one stored cell reached, or None where it is none of this kind."""
    try:
        content, circumstances = folder.trained(), folder.provenance()
    except BenchError:  # damaged: bench store status says so
        return None
    if content is None or "model" not in content:
        return None
    config, trainer = content["config"], cell.config.trainer
    if (config["backbone"], config["trainer"]["precision"]) != (cell.config.backbone, trainer.precision):
        return None
    if config["backbone_options"] != dict(cell.config.backbone_options):
        return None
    if _device_name(circumstances) != device.name:
        return None
    if bool(circumstances.get("activation_checkpointing")) != how.activation_checkpointing:
        return None
    seconds = float(circumstances.get("wall_s") or 0.0)
    trained_rows = int(content["train"]["steps"]) * int(config["trainer"]["batch_size"])
    if seconds < SHORTEST_S or not trained_rows:  # a control without training may choose its settings for long
        return None
    flops = trained_rows * flops_of_row(products, rows.average) * trained_share(cell)
    peak = device.peak(trainer.precision, trainer.float32_products) * int(circumstances.get("world", 1))
    return min(1.0, flops / (seconds * peak))


def _device_name(circumstances: dict[str, object]) -> str:
    """Return the name of the device that a cell was trained on; empty for a GPU that is not in the table."""
    environment = circumstances.get("environment")
    seen = environment.get("gpu") if isinstance(environment, dict) else None
    if seen is None:
        return "cpu"
    known = named_device(str(seen))
    return "" if known is None else known.name
