"""A folder with LogicNLG's files, three rows a split."""

import json
from pathlib import Path

TABLE = "team#points\nvale#12\nosterby#30\n"
SENTENCES = [["vale has 12 points", [0, 1], "league", "[ENT] has [ENT] points"],
             ["osterby has the most points", [0, 1], "league", "[ENT] has the most points"],
             ["osterby has more points than vale", [0, 1], "league", "[ENT] has more"]]  # fmt: skip


def write(folder: Path, last: str = "1") -> Path:
    """Write the files below `folder`, whose name a `--data-dir` can be, and return it."""
    task = folder / "logicnlg"
    (task / "all_csv").mkdir(parents=True)
    (task / "all_csv" / "1-1.html.csv").write_text(TABLE.replace("30", f"3{last}"))
    for split in ("train", "val", "test"):
        (task / f"{split}_lm.json").write_text(json.dumps({"1-1.html.csv": SENTENCES}))
    return folder
