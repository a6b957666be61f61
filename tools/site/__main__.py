"""Build the documentation as a site that needs no network: `make docs`.

    python -m tools.site [FOLDER]        pages, then the site in FOLDER/site; FOLDER is build/docs by default

Runs in an environment with the extra `docs`. A warning of the generator, a link that leads nowhere and a page that asks
another host for something end it with 1.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tools.site.offline import make_whole
from tools.site.pages import ROOT
from tools.site.staging import stage


def generate(folder: Path) -> None:
    """Run the generator over what is staged in a folder.

    Args:
        folder: with `mkdocs.yml` and the pages.

    Raises:
        SystemExit: it warned or failed; with all that it said.
    """
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--clean", "-f", str(folder / "mkdocs.yml")]
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    said = re.sub(r"\x1b\[[0-9;]*m", "", ended.stdout + ended.stderr)
    if ended.returncode != 0 or "warning" in said.lower():
        raise SystemExit(f"expected a build without a warning, got exit code {ended.returncode}:\n{said}")


def main() -> None:
    """Build where the command line says, and say where the first page is and how large all of it is."""
    target = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build" / "docs").resolve()
    stage(target)
    generate(target)
    site = target / "site"
    make_whole(site)
    size = sum(path.stat().st_size for path in site.rglob("*") if path.is_file())
    count = len(list(site.rglob("*.html")))
    print(f"{site / 'index.html'}: {count} pages, {size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
