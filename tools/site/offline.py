"""What makes a built site whole without a network, and small: its search, its requests, its white space."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

BOARD = Path("leaderboards/index.html")
"""The page of the kept runs, which the generator has not made."""
WORKER = "https://unpkg.com/iframe-worker/shim"
"""Where the generator takes the worker of its search from on file://."""
VENDORED = "docs/assets/iframe-worker/shim.js"
REQUEST = re.compile(
    r"""(?:\bsrc|\bsrcset|\bdata)=["']?(?:https?:)?//"""  # scripts, pictures, frames
    r"""|<link[^>]+href=["']?(?:https?:)?//"""  # styles, fonts
    r"""|url\(["']?https?:"""
)
"""What a browser would ask another host for."""
KEPT = re.compile(r"(<(?:pre|script|style|textarea)\b.*?</(?:pre|script|style|textarea)>)", re.DOTALL)
"""Parts of a page in which white space counts."""
BLOCK = re.compile(r" ?(</?(?:article|div|h[1-6]|header|li|main|nav|ol|p|section|t[bdhr][a-z]*|table|ul)\b[^>]*>) ?")
"""Tags beside which it does not."""
NEEDLESS = re.compile(
    r' xmlns="http://www\.w3\.org/2000/svg"'  # HTML knows what `svg` is
    r'| fill="none" stroke="currentColor" stroke-linecap="round" stroke-linejoin="round" stroke-width="2"'  # of lines
    r"|</(?:td|th|tr|li)>"  # ends that HTML adds by itself
)
"""Of each icon, five on every page, whose lines `docs/assets/site.css` draws; and of each table and list."""
PLAIN = re.compile(r'<span class="[npw]">([^<]*)</span>|(?<=<pre>)<span></span>')
"""Of code: names, punctuation and white space, which have the colour of text without it, too; and what is empty."""
LINK = re.compile(r'<span class="md-ellipsis"> (.*?) </span> ')
"""The text of a link of a page's contents, with white space that shows nowhere: its lines are boxes."""
TO_THE_RIGHT = ' style="text-align: right;"', " class=right"
"""What numbers of tables have; `docs/assets/site.css` knows the class."""
TABLE, CELL = re.compile(r"<table>.*?</table>"), re.compile(r"<t[dh]( class=right)?>")
NOT_SEARCHED = ("CHANGELOG.html", "leaderboards/claims.html")
"""Pages of figures: they would be most of what a search finds."""
TITLE = re.compile(r"<title>[^<]*</title>")
"""Of a mark in a picture: pages show pictures as images, which say no titles; the files of the repository have them."""
TAG = re.compile(r"</?[a-z][^>]*>")
SCRIPT = re.compile(r"<script>(.*?)</script>", re.DOTALL)
SHARED = "assets/javascripts/shared-{}.js"
"""Where a script goes that every page had."""
ONLY_FROM_FILES = 'location.protocol==="file:"?'
"""How the generator's script chooses between its two indices: data over http, a script from the file system."""


def make_whole(site: Path) -> None:
    """Change the pages of a built site in place.

    Args:
        site: its folder.

    Raises:
        SystemExit: a page asks another host for something, or the generator reads its index in another way.
    """
    for path in sorted(site.rglob("*.html")):
        if path.relative_to(site) != BOARD:
            text = with_own_worker(path.read_text(encoding="utf-8"), len(path.relative_to(site).parts) - 1)
            refuse_requests(text, path)
            path.write_text(without_needless(text), encoding="utf-8")
    for path in sorted(site.rglob("*.svg")):
        path.write_text(TITLE.sub("", path.read_text(encoding="utf-8")), encoding="utf-8")
    share_scripts(site)
    keep_one_index(site)
    shutil.rmtree(site / "assets" / "stylesheets" / "classic")  # of a theme that is not used


def with_own_worker(text: str, depth: int) -> str:
    """Return a page that reads the worker of its search from the site.

    Args:
        text: the page.
        depth: folders between the page and the site's own.
    """
    return text.replace(WORKER, "../" * depth + VENDORED)


def refuse_requests(text: str, path: Path) -> None:
    """Raise SystemExit where a page asks another host for something."""
    asked = REQUEST.search(text)
    if asked is not None:
        around = text[asked.start() : asked.start() + 120]
        raise SystemExit(f"{path} asks another host for something: {around!r}; bring it into docs/")


def without_needless(text: str) -> str:
    """Return a page without the indentation of the generator's templates, which is a quarter of it, and the like."""
    parts = KEPT.split(text)  # loose, kept, loose, kept, ..., loose
    for place, part in enumerate(parts):
        if place % 2:
            parts[place] = PLAIN.sub(lambda found: found[1] or "", part)
        else:
            loose = LINK.sub(r'<span class="md-ellipsis">\1</span>', re.sub(r"\s+", " ", part))
            loose = NEEDLESS.sub("", BLOCK.sub(r"\1", loose)).replace(*TO_THE_RIGHT)
            parts[place] = TABLE.sub(lambda found: with_numbers(found[0]), loose)
    return "".join(parts)


def with_numbers(table: str) -> str:
    """Return a table that says once that all its columns but the first are numbers, where they are.

    In an attribute: the theme lets only tables without a class scroll on a phone.

    >>> with_numbers("<table><tr><th>a<th class=right>n<tr><td>x<td class=right>1</table>")
    '<table data-numbers><tr><th>a<th>n<tr><td>x<td>1</table>'
    """
    for row in table.split("<tr>")[1:]:
        first, *others = CELL.findall(row)
        if first or not all(others):
            return table
    return table.replace(" class=right", "").replace("<table>", "<table data-numbers>", 1)


def share_scripts(site: Path) -> None:
    """Keep the scripts that every page of the generator has once, in files of their own."""
    pages = {path: path.read_text(encoding="utf-8") for path in sorted(site.rglob("*.html"))}
    del pages[site / BOARD]
    on_all = set.intersection(*(set(SCRIPT.findall(text)) for text in pages.values()))
    for number, code in enumerate(sorted(on_all)):
        name = SHARED.format(number)
        (site / name).write_text(code, encoding="utf-8")
        for path in pages:
            up = "../" * (len(path.relative_to(site).parts) - 1)
            pages[path] = pages[path].replace(f"<script>{code}</script>", f'<script src="{up}{name}"></script>')
    for path, text in pages.items():
        path.write_text(text, encoding="utf-8")


def keep_one_index(site: Path) -> None:
    """Let the search read its index as a script everywhere, and keep the words of pages that are read."""
    (bundle,) = site.glob("assets/javascripts/bundle.*.js")
    code = bundle.read_text(encoding="utf-8")
    if code.count(ONLY_FROM_FILES) != 1:
        raise SystemExit(f"expected {ONLY_FROM_FILES!r} once in {bundle.name}: look how this generator reads its index")
    bundle.write_text(code.replace(ONLY_FROM_FILES, "true?"), encoding="utf-8")
    index = site / "search.js"
    beginning, content = index.read_text(encoding="utf-8").split("{", maxsplit=1)
    found = json.loads("{" + content.rstrip(";\n"))
    found["items"] = [item for item in found["items"] if item["location"].partition("#")[0] not in NOT_SEARCHED]
    for item in found["items"]:
        item["text"] = " ".join(TAG.sub(" ", item["text"]).split())
    index.write_text(f"{beginning}{json.dumps(found, ensure_ascii=False, separators=(',', ':'))};", encoding="utf-8")
    (site / "search.json").unlink()
