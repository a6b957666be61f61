"""Sizes: bytes and counts for people."""

from __future__ import annotations

PREFIXES = ((1e18, "E"), (1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
ROUNDED = 0.9995
"""From this share of a prefix on, three digits of the one below it would be 1000."""


def amount(number: float, unit: str = "") -> str:
    """Return a number with three digits and a prefix of ten to the third powers.

    >>> amount(124_439_808), amount(2.5e9, "B"), amount(0, "FLOP"), amount(999_999, "B")
    ('124 M', '2.5 GB', '0 FLOP', '1 MB')
    """
    for size, prefix in PREFIXES:
        if number >= ROUNDED * size:
            return f"{number / size:.3g} {prefix}{unit}"
    return f"{number:.3g} {unit}".rstrip()
