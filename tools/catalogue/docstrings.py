"""Docstrings as Markdown: their blocks, and what they say of arguments and errors.

A docstring is Google's form: a first paragraph, others, lists, indented lines, examples, tables in Markdown, and at its
end the sections `Args`, `Returns`, `Yields` and `Raises`.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from textwrap import dedent

SECTIONS = ("Args:", "Returns:", "Yields:", "Raises:")
ITEM = re.compile(r"(\*{0,2}\w[\w.]*(?:, \w+)*): (.*)")
"""The first line about one argument or error; several may share it."""
CODE = re.compile(r"(`[^`]*`)")
MARKUP = re.compile(r"([\\*\[\]]|(?<!\w)_|_(?!\w))")
ENTITIES = {"&": "&amp;", "<": "&lt;", "$": "&#36;"}
"""What a backslash does not keep from being markup."""
IN_CODE = {**ENTITIES, **{character: f"&#{ord(character)};" for character in "|*_[]"}}
"""The same in HTML code within a table."""


@dataclass(frozen=True)
class Docstring:
    """What a docstring says.

    Args:
        lead: its first paragraph, as Markdown.
        blocks: the others, as Markdown, without the sections.
        sections: what the sections say, by name without the colon: a text for each name in it.
    """

    lead: str = ""
    blocks: Sequence[str] = ()
    sections: dict[str, dict[str, str]] = field(default_factory=dict)

    @property
    def arguments(self) -> dict[str, str]:
        """What it says of each argument, as Markdown."""
        return self.sections.get("Args", {})


def read_docstring(text: str | None) -> Docstring:
    """Return a docstring in its parts; an empty one for none."""
    lines = inspect.cleandoc(text or "").splitlines()
    blocks: list[str] = []
    sections: dict[str, dict[str, str]] = {}
    for block in _blocks(lines):
        if block[0] in SECTIONS:
            sections[block[0].removesuffix(":")] = _items(block[1:])
        else:
            blocks.append("\n".join(_markdown(block)))
    if not blocks:
        return Docstring(sections=sections)
    return Docstring(blocks[0], blocks[1:], sections)


def _blocks(lines: Sequence[str]) -> Iterator[list[str]]:
    """Yield the blocks: lines up to a blank one, a section or indented lines with all that is indented behind it."""
    block: list[str] = []
    for line in [*lines, ""]:
        keeps = bool(block) and (block[0] in SECTIONS or block[0].startswith("    "))
        if line.strip() and (not keeps or line.startswith("    ")):
            block.append(line)
        elif keeps and not line.strip():
            block.append("")
        elif block:
            yield _stripped(block)
            block = [line] if line.strip() else []
    if block:
        yield _stripped(block)


def _stripped(block: list[str]) -> list[str]:
    while not block[-1]:
        block.pop()
    return block


def _items(lines: Sequence[str]) -> dict[str, str]:
    """Return what a section says of each name; of what has no name, under no name."""
    found: dict[str, list[str]] = {}
    names: list[str] = [""]
    for line in dedent("\n".join(lines)).splitlines():
        begins = ITEM.match(line)
        if begins:
            names = begins[1].split(", ")
        for name in names:
            found.setdefault(name, []).append((begins[2] if begins else line).strip())
    return {name: prose(" ".join(texts).strip()) for name, texts in found.items()}


def _markdown(block: Sequence[str]) -> list[str]:
    """Return the lines of a block as Markdown."""
    if block[0].startswith(">>>"):
        return ["```pycon", *block, "```"]
    if block[0].startswith("    "):
        return ["```text", *dedent("\n".join(block)).splitlines(), "```"]
    if block[0].startswith("|"):
        return [prose(line) for line in block]
    return _paragraphs(block)


def _paragraphs(block: Sequence[str]) -> list[str]:
    """Return text and list items, each on a line of its own, a blank one before the first item."""
    found: list[str] = []
    for line in block:
        if line.startswith("- ") or not found:
            if found and not found[-1].startswith("- "):
                found.append("")
            found.append(line)
        else:
            found[-1] += f" {line.strip()}"
    return [prose(line) for line in found]


def prose(text: str) -> str:
    r"""Return a text in which Markdown finds no markup but code between backticks.

    >>> prose("a * b[t] of `x * y`, <unk>")
    'a \\* b\\[t\\] of `x * y`, &lt;unk>'
    """
    parts = CODE.split(text)
    return "".join(part if part.startswith("`") else _escaped(part) for part in parts)


def _escaped(text: str) -> str:
    return MARKUP.sub(r"\\\1", text.translate(str.maketrans(ENTITIES)))


def sentence(text: str, source: str = "") -> str:
    """Return a line of a table of entries as a sentence, with its source in parentheses.

    >>> sentence("writes the exemplar", "Peng et al. 2019"), sentence("rank of A")
    ('Writes the exemplar (Peng et al. 2019).', 'Rank of A.')
    """
    if source:
        text = f"{text} ({source})"
    return f"{prose(text[:1].upper() + text[1:])}."


def cell(markdown: str) -> str:
    r"""Return Markdown as the cell of a table: one line, no bars.

    Code with a bar is HTML: some readers want a backslash before the bar, and others show it.

    >>> cell("a|b of `c|d_e`")
    'a\\|b of <code>c&#124;d&#95;e</code>'
    """
    parts = CODE.split(" ".join(markdown.split()))
    return "".join(_code_cell(part) if part.startswith("`") else part.replace("|", "\\|") for part in parts)


def _code_cell(markdown: str) -> str:
    if "|" not in markdown:
        return markdown
    return f"<code>{markdown.strip('`').translate(str.maketrans(IN_CODE))}</code>"


def code(text: object) -> str:
    """Return a text as inline code."""
    return f"`{text}`"
