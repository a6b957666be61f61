"""Seeds: every random draw has its own, a pure function of what it is for."""

import hashlib


def seed_of(*parts: object) -> int:
    """Return a 63-bit seed for a purpose, e.g. `seed_of(run_seed, "dropout", rank, step)`.

    Counter-based: no state, so a resumed run, another rank or another worker draws what it would have drawn.

    >>> seed_of(0, "order", 1) != seed_of(0, "order", 2)
    True
    """
    text = "\x1f".join(map(str, parts))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1


def seed_torch(seed: int) -> None:
    """Seed what torch draws from, on the CPU and on accelerators.

    `torch.manual_seed` gives the same draws. For each kind of accelerator that is not there it also formats a stack
    trace, which takes longer than a step of a small model.
    """
    import torch

    if torch.accelerator.is_available():
        torch.manual_seed(seed)
    else:
        torch.default_generator.manual_seed(seed)
