"""Plain contents of stored files."""

from pathlib import Path
from typing import Any

from bench.store.store import CellFolder, Store

KEY = "0123456789abcdef"
PROVENANCE = {"host": "somewhere", "written": "2026-01-01T00:00:00Z"}
TRAINED: dict[str, Any] = {"key": KEY, "status": "ok", "config": {"task": "toy", "seed": 0, "trainer": {"lr": 1e-4}},
                           "model": {"checkpoint_sha256": "c" * 64}}  # fmt: skip
ROWS = [{"id": f"r{i}", "text": text, "nll_sum": 0.1 * i} for i, text in enumerate(["a", "é\r\n\u2028", "\ud83d", ""])]
OF = {"kind": "generation", "split": "test"}
SCORES = {"family": "bleu", "of": OF, "values": [{"name": "bleu-1", "value": 0.1 + 0.2}]}


def full_cell(root: Path) -> CellFolder:
    """A cell with one file of each kind."""
    cell = Store(root).cell("toy", "mle", KEY)
    cell.write_trained(TRAINED, PROVENANCE)
    cell.write_rows("aa", OF, ROWS, PROVENANCE)
    cell.write_record("scores-bb.json", SCORES, PROVENANCE)
    return cell


def everything(cell: CellFolder) -> list[Any]:
    """All that a cell holds."""
    return [cell.trained(), cell.rows("aa"), cell.content("scores-bb.json")]
