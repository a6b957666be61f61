"""Legend: what the marks of one table mean, in a line above it; only the marks that it has."""

from __future__ import annotations

from bench.leaderboards.render.grid import Grid
from bench.leaderboards.statistics.baseline import BASELINE
from bench.leaderboards.statistics.value_statistics import ALPHA, TableStatistics

__all__ = ["legend"]


def legend(grid: Grid, statistics: TableStatistics) -> list[str]:
    """Return a short text for each mark that a table shows."""
    cells = [cell for line in grid.rows for column, cell in line.cells.items() if column in grid.table.columns]
    texts = []
    if any(cell.interval for cell in cells):
        texts.append("± half the 95 % interval over seeds")
    if any(cell.best for cell in cells):
        texts.append("bold: best, underlined: second")
    if any(cell.differs for cell in cells):
        texts.append(f"† differs from {BASELINE} of its backbone and decoding (p ≤ {ALPHA:g}, Holm over the table)")
    if any(cell.tied for cell in cells):
        texts.append("letters: rows with one letter are tied")
    if any(grid.deltas):
        texts.append("Δ ours minus published")
    return texts + [f"{why}: {', '.join(columns)}" for why, columns in statistics.unmarked.items()]
