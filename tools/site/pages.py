"""The pages of the documentation: Markdown files of the repository, their links, headings and blocks of code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

ROOT = Path(__file__).parents[2]
FOLDERS = ("", "docs/**/", "bench/**/", "leaderboards/**/", "metrics/**/", "models/**/", "tasks/**/")
"""Where pages are; `tests` has none."""
FENCE = re.compile(r"^( *)```(\w*)( untested)?\n(.*?)^\1```$", re.DOTALL | re.MULTILINE)
CODE = re.compile(r"`+[^`\n]+`+")
INLINE = re.compile(r"`([^`]+)`")
COMMENT = re.compile(r"\s+#.*")
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^(#{1,6}) (.+?) *$", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A fenced block of a page.

    Args:
        kind: the word behind the fence, such as `python`; empty for commands and what they print.
        text: the lines inside, without their indentation.
        is_run: whether tests run it; one marked `untested` is only read.
    """

    kind: str
    text: str
    is_run: bool = True

    @property
    def commands(self) -> list[str]:
        """Lines that begin with `bench`, without comments, joined where a backslash ends one."""
        if self.kind not in ("", "sh", "bash"):
            return []
        lines = re.sub(r"\\\n *", "", self.text).splitlines()
        return [COMMENT.sub("", line) for line in lines if line.startswith("bench ")]

    @property
    def file(self) -> tuple[str, str] | None:
        """Name and content of the file that a block of Python is, by its first line; None for one that is run."""
        first, _, rest = self.text.partition("\n")
        for mark in ("%%writefile ", "# "):
            name = first.removeprefix(mark)
            if self.kind == "python" and first.startswith(mark) and re.fullmatch(r"\w+\.py", name):
                return name, rest
        return None


@dataclass(frozen=True)
class Page:
    """A Markdown file.

    Args:
        path: relative to the repository.
        text: its content.
    """

    path: Path
    text: str

    @property
    def prose(self) -> str:
        """The text without blocks and inline code."""
        return CODE.sub("", FENCE.sub("", self.text))

    @property
    def blocks(self) -> list[Block]:
        """Fenced blocks, in order."""
        found = []
        for indent, kind, untested, text in FENCE.findall(self.text):
            lines = [line.removeprefix(indent) for line in text.splitlines()]
            found.append(Block(kind, "\n".join(lines) + "\n", not untested))
        return found

    @property
    def inline_code(self) -> list[str]:
        """The code in its sentences, each with single spaces."""
        return [" ".join(code.split()) for code in INLINE.findall(FENCE.sub("", self.text))]

    @property
    def titles(self) -> list[str]:
        """Headings of the first level."""
        text = FENCE.sub("", self.text)
        return [title for level, title in HEADING.findall(text) if level == "#"]

    @property
    def anchors(self) -> set[str]:
        """Names that a link may have behind its `#`."""
        return {anchor_of(title) for _, title in HEADING.findall(FENCE.sub("", self.text))}

    @property
    def links(self) -> Iterator[tuple[Path, str]]:
        """Files of the repository that the page points at, and the part of them; nothing outside."""
        for link in LINK.findall(self.prose):
            if "://" in link or link.startswith("mailto:"):
                continue
            place, _, part = unquote(link).partition("#")
            if not place:
                yield self.path, part
                continue
            target = (ROOT / self.path.parent / place).resolve()
            yield target.relative_to(ROOT.resolve()), part


def anchor_of(title: str) -> str:
    """Return the anchor of a heading, as Markdown makes it: `What it says` -> `what-it-says`."""
    kept = re.sub(r"[^\w\s-]", "", title.replace("`", "")).strip().lower()
    return re.sub(r"[\s-]+", "-", kept)


def page(path: str | Path) -> Page:
    """Read one page, by its path in the repository."""
    return Page(Path(path), (ROOT / path).read_text(encoding="utf-8"))


def pages(root: Path = ROOT) -> list[Page]:
    """Read all pages below the repository or another folder, sorted by path."""
    found: set[Path] = set()
    for folder in FOLDERS:
        found.update(path.relative_to(root) for path in root.glob(f"{folder}*.md"))
    return [Page(path, (root / path).read_text(encoding="utf-8")) for path in sorted(found)]
