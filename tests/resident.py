"""Resident memory of this process, as Linux tells it."""

from pathlib import Path

STATUS = Path("/proc/self/status")


def resident(name: str = "VmRSS") -> float:
    """MiB of this process: `VmRSS` now, `VmHWM` at most."""
    lines = STATUS.read_text().splitlines()
    found = next(line for line in lines if line.startswith(f"{name}:"))
    return float(found.split()[1]) / 1024
