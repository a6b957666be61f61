"""The source of a row: the article, table or prompt that its text was made from."""

from __future__ import annotations

from collections.abc import Sequence

from bench.metrics.score import Gold, Row

__all__ = ["NO_SOURCE", "sources_of"]

NO_SOURCE = "not applicable: rows without a source or prompt"


def sources_of(rows: Sequence[Row], gold: Gold) -> list[str] | None:
    """Return what every row's text was made from: its own `prompt`, else the `source` of its gold; None without any.

    Raises:
        ValueError: some rows have one and others do not.

    >>> sources_of([{"id": "a"}], {"a": {"source": "Once"}}), sources_of([{"id": "a"}], {"a": {"source": ""}})
    (['Once'], None)
    >>> sources_of([{"id": "a", "prompt": "Once upon"}], {"a": {}})
    ['Once upon']
    """
    sources = [row.get("prompt", gold[row["id"]].get("source")) for row in rows]
    if not any(sources):
        return None
    without = [row["id"] for row, source in zip(rows, sources, strict=True) if source is None]
    if without:
        raise ValueError(
            f"expected a source for all {len(rows)} rows or for none, {len(without)} lack it: {without[:3]}"
        )
    return sources
