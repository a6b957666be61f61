"""Printable text: what models, users or other systems wrote is shown without control characters."""

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


def number_of(n: int, text: str) -> str:
    """Return a number with what it counts; the first plural and verb of the text become the singular of one.

    >>> number_of(2, "runs are left out"), number_of(1, "runs are left out")
    ('2 runs are left out', '1 run is left out')
    """
    if n == 1:
        text = re.sub(r"s\b", "", text, count=1)
        text = re.sub(r"\b(are|have)\b", lambda verb: {"are": "is", "have": "has"}[verb[0]], text, count=1)
    return f"{n:,} {text}"


def shortened(text: str, most: int) -> str:
    """Return a text of so many characters at most; dots stand for the end that is cut.

    >>> shortened("a long text", 6)
    'a lon…'
    """
    return text if len(text) <= most else f"{text[: most - 1]}…"


def one_line(text: str) -> str:
    r"""Return a text without control characters, tabs and line ends.

    >>> one_line("a\nb\x1b[31mc")
    'a bc'
    """
    if text.isprintable():
        return text
    return "".join(c for c in " ".join(printable(text).splitlines()) if c.isprintable())
