"""Build the documentation as a site that needs no network: `make docs`.

    python -m tests.site [FOLDER]        pages, then the site in FOLDER/site; FOLDER is build/docs by default

Runs in an environment with the extra `docs`. A warning of the generator, a link that leads nowhere and a page that asks
another host for something end it with 1.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.site.pages import ROOT
from tests.site.staging import stage

WORKER = "https://unpkg.com/iframe-worker/shim"
"""Where the generator takes its search from on file://."""
VENDORED = "docs/assets/iframe-worker/shim.js"
REQUEST = re.compile(
    r"""(?:\bsrc|\bsrcset|\bdata)=["']?(?:https?:)?//"""  # scripts, pictures, frames
    r"""|<link[^>]+href=["']?(?:https?:)?//"""  # styles, fonts
    r"""|url\(["']?https?:"""
)


def build(target: Path) -> Path:
    """Build the site; return its folder.

    Args:
        target: where pages and site are written; what is there is removed.

    Raises:
        SystemExit: the generator warned, or a page is not whole without a network.
    """
    stage(target)
    generate(target)
    site = target / "site"
    for path in sorted(site.rglob("*.html")):
        _without_network(path, site)
    return site


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


def _without_network(path: Path, site: Path) -> None:
    """Let a page read its search worker from the site, and refuse what else it asks of another host."""
    text = path.read_text(encoding="utf-8")
    up = "../" * (len(path.relative_to(site).parts) - 1)
    text = text.replace(WORKER, f"{up}{VENDORED}")
    asked = REQUEST.search(text)
    if asked is not None:
        around = text[asked.start() : asked.start() + 120]
        raise SystemExit(f"{path.relative_to(site)} asks another host for something: {around!r}; bring it into docs/")
    path.write_text(text, encoding="utf-8")


def main() -> None:
    """Build where the command line says, and say where the first page is and how large all of it is."""
    target = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build" / "docs").resolve()
    site = build(target)
    size = sum(path.stat().st_size for path in site.rglob("*") if path.is_file())
    count = len(list(site.rglob("*.html")))
    print(f"{site / 'index.html'}: {count} pages, {size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
