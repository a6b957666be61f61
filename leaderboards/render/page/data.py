"""Page data: a board as text inside the page, with as many digits as it shows; `state.js` reads it."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping
from typing import Any

from bench.leaderboards.sections.around_tables import NOT_FOR_SCRIPTS
from bench.leaderboards.statistics.value_statistics import ALPHA

__all__ = ["deflated", "inflated", "packed", "unpacked"]

DECIMALS = {"mean": 2, "half": 2}
"""Of numbers that the page shows with so many."""
DIGITS, OTHER_DIGITS = {"mean": 4, "half": 3, "difference": 5, "p": 3, "p_items": 3, "points": 3, "validation": 3}, 4
"""Significant ones of numbers in the page, more where `DECIMALS` gives more. The JSON report has all."""


def packed(board: Mapping[str, Any]) -> str:
    """Return a board as text for the page: its JSON, rounded, deflated.

    So a page with samples and curves stays one that can be sent.
    """
    for_scripts = {name: part for name, part in board.items() if name not in NOT_FOR_SCRIPTS}
    return deflated(json.dumps(_rounded(for_scripts), allow_nan=False, separators=(",", ":")))


def unpacked(text: str) -> dict[str, Any]:
    """Return the board of `packed`.

    >>> unpacked(packed({"tables": [], "mean": 1 / 3}))
    {'tables': [], 'mean': 0.3333}
    """
    return dict(json.loads(inflated(text)))


def deflated(text: str) -> str:
    """Return a text deflated (RFC 1950), in base64 on one line; `loader.js` has the inverse."""
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode()


def inflated(text: str) -> str:
    """Return the text of `deflated`.

    >>> inflated(deflated("let a = 1;"))
    'let a = 1;'
    """
    return zlib.decompress(base64.b64decode(text)).decode()


def _rounded(content: Any, name: str = "") -> Any:
    """Return a copy with as many digits as `DIGITS` says; what papers print stays as printed."""
    if name == "published":
        return content
    if isinstance(content, float):
        return _short(content, name)
    if isinstance(content, Mapping):
        return {key: _rounded(value, key) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [_rounded(value, name) for value in content]
    return content


def _short(value: float, name: str) -> float:
    short = float(f"{value:.{DIGITS.get(name, OTHER_DIGITS)}g}")
    if name in DECIMALS:
        finer = round(value, DECIMALS[name])
        short = min(short, finer, key=lambda rounded: abs(rounded - value))
    if name == "p" and (short <= ALPHA) != (value <= ALPHA):  # a dagger is of the number as it is
        return value
    if short.is_integer():
        return int(short)
    return short
