"""Shares: what each worker of `bench run --jobs` has of this machine, as the environment of its children."""

from __future__ import annotations

import os

from bench.errors import UsageError

__all__ = ["shares_of"]


def shares_of(jobs: int, devices: int, threads: int) -> list[dict[str, str]]:
    """Return the environment of the children of each worker: its threads, and its GPUs where there are any.

    Args:
        jobs: workers.
        devices: processes that share a cell; each of them takes a GPU.
        threads: CPU threads of a process, 0 for one.

    Raises:
        UsageError: there are fewer GPUs than that.
    """
    shares = [{"OMP_NUM_THREADS": str(threads or 1)} for _ in range(jobs)]
    gpus = visible_gpus()
    if not gpus:
        return shares
    if jobs * devices > len(gpus):
        raise UsageError(
            f"--jobs {jobs} x --devices {devices} needs {jobs * devices} GPUs, and {len(gpus)} are visible; "
            f"ask for fewer"
        )
    for slot, share in enumerate(shares):
        share["CUDA_VISIBLE_DEVICES"] = ",".join(gpus[slot * devices : (slot + 1) * devices])
    return shares


def visible_gpus() -> list[str]:
    """Return the names of the GPUs that this process sees, as CUDA_VISIBLE_DEVICES has them."""
    import torch

    count = torch.cuda.device_count()
    named = [name for name in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if name]
    return named[:count] or [str(number) for number in range(count)]
