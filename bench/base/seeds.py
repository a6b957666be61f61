"""Seeds: every random draw has its own, a pure function of what it is for."""

from __future__ import annotations

import hashlib


def seed_of(*parts: object) -> int:
    """Return a 63-bit seed for a purpose, e.g. `seed_of(run_seed, "dropout", rank, step)`.

    Counter-based: no state, so a resumed run, another rank or another worker draws what it would have drawn.

    >>> seed_of(0, "order", 1) != seed_of(0, "order", 2)
    True
    """
    text = "\x1f".join(str(part) for part in parts)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1
