"""Write the pages that are made of the code: `python -m tools.catalogue FOLDER`, a part of `make docs`.

`FOLDER/docs/catalogue` has pages of methods, tasks, metrics, backbones and decodings, `FOLDER/docs/api` one for each
public module.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from tools.catalogue import api, entries


def pages() -> dict[str, str]:
    """Return the text of every page by its path in the repository."""
    made = {**entries.pages(), **api.pages()}
    return {name: "\n".join(lines).rstrip() + "\n" for name, lines in made.items()}


def main() -> None:
    """Write every page below the folder that the command line names; what was there is removed."""
    folder = Path(sys.argv[1])
    shutil.rmtree(folder, ignore_errors=True)
    for name, text in pages().items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
