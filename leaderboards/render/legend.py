"""Legend: what the marks of one table mean; only the marks that it has."""

from __future__ import annotations

from bench.leaderboards.render.grid import Grid
from bench.leaderboards.statistics.baseline import BASELINE
from bench.leaderboards.statistics.value_statistics import ALPHA
from bench.leaderboards.table import MIN_SEEDS

__all__ = ["DIFFERS", "INTERVAL", "legend"]

INTERVAL = "± half the 95 % t interval over seeds"
DIFFERS = (
    f"† differs from {BASELINE} of its backbone and decoding (t test paired by seed, p <= {ALPHA:g} after Holm over "
    "the rows of the column)"
)


def legend(grid: Grid) -> list[str]:
    """Return a short text for each mark that a table shows."""
    cells = [cell for line in grid.rows for column, cell in line.cells.items() if column in grid.table.columns]
    texts = []
    if any(cell.interval for cell in cells):
        texts.append(INTERVAL)
    if any(cell.best for cell in cells):
        texts.append(f"bold: best mean of {MIN_SEEDS} seeds or more, underlined: second")
    if any(cell.differs for cell in cells):
        texts.append(DIFFERS)
    if any(grid.deltas):
        texts.append("Δ ours minus published")
    return texts
