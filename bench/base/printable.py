"""Printable text: what models, users or other systems wrote is shown without control characters."""

from __future__ import annotations

import re

TERMINAL = re.compile(r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|(?:\x1b\]|\x9d)[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)?")
"""Colours, moves, titles and links (ECMA-48), whole, so that their letters do not stay behind."""
CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""All but tab and line feed, and what turns the direction of writing."""
BREAK = re.compile(r"\r\n?|[\x0b\x0c\x85\u2028\u2029]")
LONE = re.compile(r"[\ud800-\udfff]")


def printable(text: str) -> str:
    r"""Return a text without control characters; line ends and tabs stay.

    >>> printable("a\x1b[31mb\x1b]8;;http://x\x07c\r\nd\te\u202ef")
    'abc\nd\tef'
    """
    if text.isprintable():
        return text
    text = BREAK.sub("\n", TERMINAL.sub("", text))
    return LONE.sub("\ufffd", CONTROL.sub("", text))


def one_line(text: str) -> str:
    r"""Return a text without control characters, tabs and line ends.

    >>> one_line("a\nb\x1b[31mc")
    'a bc'
    """
    if text.isprintable():
        return text
    return "".join(c for c in " ".join(printable(text).splitlines()) if c.isprintable())
