"""Sixty texts that would like to be commands: to a terminal, a browser, a typesetter, a spreadsheet."""

from __future__ import annotations

TERMINAL = (
    "\x1b[31mred", "\x1b[2J\x1b[H", "\x1b[1A\x1b[2Kover", "\x1b]0;title\x07",
    "\x1b]8;;http://x.invalid\x1b\\link\x1b]8;;\x1b\\",
    "\x1b]52;c;aGk=\x07", "\x1b[6n", "\x1bc", "\x1bP+q544e\x1b\\", "\x1b_Gf=100\x1b\\", "\x1b[?1049h",
    "\x1b(0lqk\x1b(B",
    "\x1b", "\x1b[", "\x1b]open for ever", "\x9b31mred", "\x9d0;title\x9c", "\x90q\x9c", "\x85next", "a\rb",
    "a\x08\x08b",
    "\x07\x07", "\x00", "a\x0bb\x0cc", "\x0eshift\x0f", "\x7f\x7f", "\x1b[31m\x1b[\x1b[0m0m", "a\n\tb",
)  # fmt: skip
"""Commands of ECMA-48 and of terminals, whole, cut short and inside each other."""

LETTERS = (
    "\u202egnp.exe", "\u2066\u202ex\u2069", "\u200f\u061cx", "\u2028x\u2029y", "\ud83d lone", "\udc80", "e\u0301" * 30,
    "\ufeffx", "\U000e0041x", "[red]x[/red]",
)  # fmt: skip
"""What turns the direction of writing, ends a line, is half a letter, or is markup to `rich`."""

PAGES = (
    "<script>window.hurt=1</script>", "</script><script>hurt()</script>", "<img src=x onerror=hurt()>", "<!--",
    "javascript:hurt()", "{{script}} ${x}",
)  # fmt: skip
MARKDOWN = ("a|b|c", "[x](javascript:hurt())", "![x](http://x.invalid/y.png)", "`code`", "| --- |", "# head\n- list")
LATEX = (r"\input{/etc/passwd}", r"\write18{ls}", "$x_1^2$ % # & ~", "\n\\end{table}")
TABLES = ("=1+1", "+1+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", '"a","b"')

PAYLOADS = (*TERMINAL, *LETTERS, *PAGES, *MARKDOWN, *LATEX, *TABLES)


def active(text: str) -> set[str]:
    """Return the characters of a text that a terminal may obey; ends of lines and tabs may stand."""
    return {
        c
        for c in text
        if (c < " " and c not in "\n\t\r")
        or "\x7f" <= c <= "\x9f"
        or "\ud800" <= c <= "\udfff"
        or c in "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
    }
