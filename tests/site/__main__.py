"""Build the documentation as a site that needs no network: `make docs`.

    python -m tests.site [FOLDER]        pages, then the site in FOLDER/site; FOLDER is build/docs by default

Runs in an environment with the extra `docs`. A warning of the generator, a link that leads nowhere and a page that asks
another host for something end it with 1.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

from tests.site.pages import ROOT
from tests.site.staging import stage

KEPT = re.compile(r"(<(?:pre|script|style|textarea)\b.*?</(?:pre|script|style|textarea)>)", re.DOTALL)
"""Parts of a page in which white space counts."""
BLOCK = re.compile(r" ?(</?(?:article|div|h[1-6]|header|li|main|nav|ol|p|section|t[bdhr][a-z]*|table|ul)\b[^>]*>) ?")
"""Tags beside which white space does not count."""
WORKER = "https://unpkg.com/iframe-worker/shim"
"""Where the generator takes its search from on file://."""
BOARD = Path("leaderboards/index.html")
"""The page of the kept runs: no page of the generator."""
TAG = re.compile(r"</?[a-z][^>]*>")
ONLY_FROM_FILES = 'location.protocol==="file:"?'
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
        if path.relative_to(site) != BOARD:
            path.write_text(_small(_without_network(path, site)), encoding="utf-8")
    _without_doubles(site)
    return site


def _without_doubles(site: Path) -> None:
    """Remove what is there twice: the index of the search, as data and as a script, and the styles of another theme.

    The search looks at words, so the index has texts without tags.

    The script is read from the file system only, until the generator is told that it will do everywhere.
    """
    (bundle,) = site.glob("assets/javascripts/bundle.*.js")
    code = bundle.read_text(encoding="utf-8")
    if code.count(ONLY_FROM_FILES) != 1:
        raise SystemExit(f"expected {ONLY_FROM_FILES!r} once in {bundle.name}: look how this generator reads its index")
    bundle.write_text(code.replace(ONLY_FROM_FILES, "true?"), encoding="utf-8")
    index = site / "search.js"
    beginning, content = index.read_text(encoding="utf-8").split("{", maxsplit=1)
    found = json.loads("{" + content.rstrip(";\n"))
    for item in found["items"]:
        item["text"] = " ".join(TAG.sub(" ", item["text"]).split())
    index.write_text(f"{beginning}{json.dumps(found, ensure_ascii=False)};", encoding="utf-8")
    (site / "search.json").unlink()
    shutil.rmtree(site / "assets" / "stylesheets" / "classic")


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


def _small(text: str) -> str:
    """Return a page without the indentation of the generator's templates, which is a quarter of it."""
    parts = KEPT.split(text)  # loose, kept, loose, kept, ..., loose
    parts[::2] = [BLOCK.sub(r"\1", re.sub(r"\s+", " ", part)) for part in parts[::2]]
    return "".join(parts)


def _without_network(path: Path, site: Path) -> str:
    """Return a page that reads its search worker from the site; refuse what else it asks of another host."""
    text = path.read_text(encoding="utf-8")
    up = "../" * (len(path.relative_to(site).parts) - 1)
    text = text.replace(WORKER, f"{up}{VENDORED}")
    asked = REQUEST.search(text)
    if asked is not None:
        around = text[asked.start() : asked.start() + 120]
        raise SystemExit(f"{path.relative_to(site)} asks another host for something: {around!r}; bring it into docs/")
    return text


def main() -> None:
    """Build where the command line says, and say where the first page is and how large all of it is."""
    target = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build" / "docs").resolve()
    site = build(target)
    size = sum(path.stat().st_size for path in site.rglob("*") if path.is_file())
    count = len(list(site.rglob("*.html")))
    print(f"{site / 'index.html'}: {count} pages, {size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
