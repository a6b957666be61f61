"""Forecast files: written once as JSON and never over another one; what they say is named by its SHA-256."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.base.files import write_atomic
from bench.errors import DataError, UsageError
from bench.leaderboards.ladder.forecast import Forecast, forecast
from bench.leaderboards.ladder.prediction import Prediction
from bench.leaderboards.ladder.scores import Ladder
from bench.leaderboards.ladder.transfer import Question

__all__ = ["SCHEMA", "forecast_to", "read_forecast", "write_forecast"]

SCHEMA = 1
"""Version of the file's form."""


def write_forecast(path: Path, made: Forecast) -> str:
    """Write a forecast and return its SHA-256. The same forecast again changes nothing.

    Raises:
        UsageError: there is another forecast in the file.
        StoreError: it cannot be written.
    """
    text = json.dumps({"schema": SCHEMA, **made.content}, indent=1, sort_keys=True, allow_nan=False) + "\n"
    if not write_atomic(path, text.encode()):
        there = read_forecast(path).sha256
        if there != made.sha256:
            raise UsageError(
                f"expected no other forecast in '{path}', got one with SHA-256 {there}; "
                "a forecast is never written over: keep it, or write to another file"
            )
    return made.sha256


def forecast_to(
    path: Path,
    ladder: Ladder,
    rung: tuple[str, int],
    *,
    seeds: int,
    methods: Sequence[str] = (),
    claims: Sequence[Question] = (),
    metric: str = "",
) -> str:
    """Make a forecast, write it and return its SHA-256; arguments and errors as for `forecast` and `write_forecast`."""
    return write_forecast(path, forecast(ladder, rung, seeds, methods=methods, claims=claims, metric=metric))


def read_forecast(path: Path) -> Forecast:
    """Return the forecast of a file.

    Raises:
        DataError: it is no forecast of this version.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(f"forecast '{path}' cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise DataError(f"expected a forecast as JSON in '{path}', got something else: {error}") from error
    if not isinstance(content, dict) or content.get("schema") != SCHEMA:
        raise DataError(f"expected a forecast of schema {SCHEMA} in '{path}'; write it with this version")
    try:
        return _forecast_of(content)
    except (KeyError, TypeError) as error:
        raise DataError(f"expected the fields of a forecast in '{path}', got others: {error}") from error


def _forecast_of(content: dict[str, Any]) -> Forecast:
    fields = {name: value for name, value in content.items() if name != "schema"}
    fields["below"] = tuple(fields["below"])
    fields["predictions"] = tuple(Prediction(**prediction) for prediction in fields["predictions"])
    return Forecast(**fields)
