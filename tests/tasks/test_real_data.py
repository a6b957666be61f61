"""The rows of the shared data, by number, status, rows left out, and hash: a changed hash is a changed number."""

from typing import Any

import pytest

from bench.tasks import TASKS
from tests.tasks.news_files import REAL, loaded

SPLITS = ("train", "valid", "test")
ROWS = {
    "xsum": ("xsum", ["460 proxy 0 afc6267f8338", "", "216 subset 0 f8cab762b6b7"]),
    "cnndm": ("cnndm", ["100 subset 0 d3ddc44c8438", "900 subset 0 0729d74fc1de", "90 subset 0 47abf7a499f6"]),
    "gigaword": (
        "gigaword",
        ["10000 subset 0 4dba04dcd857", "1000 subset 0 9a5fee519a98", "1951 official 0 81b8bb54254c"],
    ),
    "duc2004": (
        "gigaword/duc2004",
        ["10000 subset 0 4dba04dcd857", "1000 subset 0 9a5fee519a98", "500 official 0 c9f7cb5f0de1"],
    ),
    "wikibio": ("wikibio", ["100 subset 0 baed15abc39a", "100 subset 0 074f79fdf646", "90 subset 0 12eddbdc6f9c"]),
    "wikitext103": (
        "wikitext/wikitext-103",
        ["54 proxy 0 2e295c3ea8b4", "6 proxy 0 b4ffebecbc68", "60 official 0 bea2d97f29cd"],
    ),
    "writingprompts": ("writingprompts", ["500 subset 0 b96a8ad60972", "", "76 subset 14 c0d8c078a87f"]),
    "text": ("lm_text", ["7382 own 333 eba0e5ae2c3d", "319 own 14 50ab0e233dd6", "726 own 30 94712a57a039"]),
    "pairs": (
        "korean/ChatbotData.csv.gz",
        ["10637 own 0 e574d5001ddb", "626 own 0 b8f9084fa099", "560 own 0 bf7dbae18683"],
    ),
    "logicnlg": (
        "logicnlg",
        ["4111 proxy 0 bd74495e5d53", "4260 official 0 0d34e2368add", "4305 official 0 ec6793c230ce"],
    ),
}
OPTIONS: dict[str, dict[str, Any]] = {"pairs": {"source": "Q", "target": "A"}}


@pytest.mark.parametrize("name", ROWS)
def test_the_rows_are_what_they_were(name: str) -> None:
    place, expected = ROWS[name]
    if not (REAL / place).exists():
        pytest.skip(f"needs {place} below BENCH_DATA")
    task = loaded(TASKS[name].load(), REAL / place, **OPTIONS.get(name, {}))
    for split, rows in zip(SPLITS, expected, strict=True):
        if rows:
            found = task.manifest(split)
            assert f"{found.rows} {found.status} {found.skipped} {found.sha256[:12]}" == rows, split
