"""Devices: memory and peak speed of the accelerators that runs are planned for, and of this machine."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from bench.base.cores import cores
from bench.errors import UsageError, did_you_mean

__all__ = ["CPU_FLOPS", "DEVICES", "Device", "device_asked", "memory_bytes", "named_device", "this_machine"]

GIB = 2**30
TERA = 1e12
CPU_FLOPS = 80e9
"""Assumed peak of one core in float32: two units of 8 lanes, multiply and add, at 2.5 GHz."""


@dataclass(frozen=True)
class Device:
    """One accelerator, or the cores of one machine.

    Args:
        name: as `--device` takes it.
        memory: bytes.
        flops: peak floating-point operations a second with dense matrices, by `float32`, `tf32`, `float16`, `bfloat16`.
        kind: `cuda` or `cpu`.
        source: where the numbers are from.
    """

    name: str
    memory: int
    flops: Mapping[str, float]
    kind: str = "cuda"
    source: str = ""

    def peak(self, precision: str, products: str = "highest") -> float:
        """Return the peak of a precision in operations a second.

        Args:
            precision: as `trainer.precision` names it.
            products: of float32 matrices, as `trainer.float32_products` names them.
        """
        kind = {"bf16": "bfloat16", "16": "float16", "32": "float32", "64": "float64"}[precision.partition("-")[0]]
        if kind == "bfloat16" and kind not in self.flops:
            kind = "float32"  # computed, at no gain, where there are no units for it
        if kind == "float32" and products != "highest" and "tf32" in self.flops:
            kind = "tf32"
        return self.flops.get(kind, self.flops["float32"] / 2)


def gpu(name: str, gibibytes: int, source: str, **teraflops: float) -> Device:
    """Return a GPU from the figures of its data sheet."""
    return Device(name, gibibytes * GIB, {kind: value * TERA for kind, value in teraflops.items()}, source=source)


TURING, AMPERE = "NVIDIA Turing whitepaper", "NVIDIA GA102 whitepaper"

DEVICES: dict[str, Device] = {
    device.name: device
    for device in (
        gpu("v100", 32, "NVIDIA V100 data sheet, SXM2", float32=15.7, float16=125),
        gpu("rtx8000", 48, f"{TURING}, Quadro RTX 8000", float32=16.3, float16=130.5),
        gpu("rtx3090", 24, f"{AMPERE}, FP32 accumulation", float32=35.6, tf32=35.6, float16=71, bfloat16=71),
        gpu("a6000", 48, f"{AMPERE}, RTX A6000", float32=38.7, tf32=77.4, float16=154.8, bfloat16=154.8),
        gpu("rtx4090", 24, "NVIDIA Ada whitepaper", float32=82.6, tf32=82.6, float16=165.2, bfloat16=165.2),
        gpu("l40s", 48, "NVIDIA L40S data sheet", float32=91.6, tf32=183, float16=362, bfloat16=362),
        gpu("a100-40gb", 40, "NVIDIA A100 data sheet", float32=19.5, tf32=156, float16=312, bfloat16=312),
        gpu("a100-80gb", 80, "NVIDIA A100 data sheet", float32=19.5, tf32=156, float16=312, bfloat16=312),
        gpu("h100", 80, "NVIDIA H100 data sheet, SXM", float32=67, tf32=494.5, float16=989.5, bfloat16=989.5),
        gpu("h200", 140, "NVIDIA H200 data sheet, SXM", float32=67, tf32=494.5, float16=989.5, bfloat16=989.5),
    )
}
"""Peaks are of dense matrices: half of what data sheets print with sparsity. `cpu` is this machine's."""

LOOKS = {
    r"V100": "v100", r"RTX 8000": "rtx8000", r"RTX 3090": "rtx3090", r"RTX A6000": "a6000", r"RTX 4090": "rtx4090",
    r"L40S": "l40s", r"A100.*40GB": "a100-40gb", r"A100": "a100-80gb", r"H100": "h100", r"H200": "h200",
}  # fmt: skip
"""What CUDA calls a device, and its name here; the first that is found counts."""


def named_device(seen: str) -> Device | None:
    """Return the device that CUDA calls so, or None for one that is not in the table.

    >>> named_device("NVIDIA A100-SXM4-80GB").name
    'a100-80gb'
    """
    for pattern, name in LOOKS.items():
        if re.search(pattern, seen):
            return DEVICES[name]
    return None


def this_machine(threads: int = 0) -> Device:
    """Return this machine's first GPU, else its processors.

    Args:
        threads: of a process on a CPU; 0 for all cores.
    """
    import torch

    if not torch.cuda.is_available():
        return cpu(threads)
    seen = torch.cuda.get_device_name(0)
    memory = int(torch.cuda.get_device_properties(0).total_memory)
    known = named_device(seen)
    if known is None:
        known = replace(DEVICES["a100-40gb"], source=f"'{seen}' is not in the table: assumed as fast as an A100")
    return replace(known, memory=memory)


def cpu(threads: int = 0) -> Device:
    """Return the processors of this machine."""
    used = threads or cores()
    speed = {"float32": used * CPU_FLOPS, "bfloat16": used * CPU_FLOPS}
    return Device("cpu", cpu_memory(), speed, "cpu", f"{used} cores, assumed at {CPU_FLOPS / 1e9:.0f} GFLOP/s each")


def cpu_memory(limit: Path = Path("/sys/fs/cgroup/memory.max")) -> int:
    """Return the bytes of memory that this machine has, or that its control group allows."""
    installed = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        return min(installed, int(limit.read_text()))
    except (OSError, ValueError):  # no such group, or "max"
        return installed


def device_asked(name: str | None, memory: str | None, threads: int = 0) -> Device:
    """Return the device that costs are stated for.

    Args:
        name: as `--device` says; None for this machine's.
        memory: as `--memory` says; None for the device's own.
        threads: of a process on a CPU; 0 for all cores.

    Raises:
        UsageError: there is no such device, or the memory is no amount.
    """
    if name is None:
        device = this_machine(threads)
    elif name == "cpu":
        device = cpu(threads)
    elif name in DEVICES:
        device = DEVICES[name]
    else:
        known = (*DEVICES, "cpu")
        raise UsageError(f"no device '{name}'{did_you_mean(name, known)}")
    if memory is None:
        return device
    return replace(device, memory=memory_bytes(memory))


def memory_bytes(text: str) -> int:
    """Return an amount of memory in bytes.

    Raises:
        UsageError: it is none.

    >>> memory_bytes("80GB"), memory_bytes("1.5GiB"), memory_bytes("24g")
    (80000000000, 1610612736, 24000000000)
    """
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt])(i?)b?\s*", text, re.IGNORECASE)
    if found is None:
        raise UsageError(f"--memory takes an amount such as 80GB or 24GiB, not '{text}'")
    number, unit, binary = found.groups()
    base = 1000
    if binary:
        base = 1024
    return int(float(number) * base ** ("kmgt".index(unit.lower()) + 1))
