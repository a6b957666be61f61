"""Redaction: printed and stored text contains no secret, and foreign text is shown without control characters.

A secret is the value of an environment variable whose name ends in TOKEN, KEY, SECRET or PASSWORD, such as `HF_TOKEN`
and `WANDB_API_KEY`. Stdout and stderr stand behind a guard that puts `***` in its place; records and
logs are passed through `redacted`, and a run with a secret among its settings is refused. `printable` and `one_line`
remove control characters from text that models, users or other systems wrote.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

BLANK = "***"
SHORTEST = 8
"""Characters of a value that counts; a shorter one, a word and a path would blank ordinary text."""
NAME = re.compile(r"(?:^|_)(?:TOKEN|KEY|SECRET|PASSWORD)$", re.IGNORECASE)
TERMINAL = re.compile(r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|(?:\x1b\]|\x9d)[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)?")
"""Colours, moves, titles and links (ECMA-48), whole, so that their letters do not stay behind."""
CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""All but tab and line feed, and what turns the direction of writing."""
BREAK = re.compile(r"\r\n?|[\x0b\x0c\x85\u2028\u2029]")
LONE = re.compile(r"[\ud800-\udfff]")


# Control characters -------------------------------------------------------------------------------------------------


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


# Secrets ------------------------------------------------------------------------------------------------------------


def secrets() -> list[tuple[str, str]]:
    """Return the values that are secret, the longest first, with the names of their variables."""
    found = [(value.strip(), name) for name, value in os.environ.items() if NAME.search(name)]
    counted = [one for one in found if len(one[0]) >= SHORTEST and not one[0].isalpha() and one[0][0] not in "/~."]
    return sorted(counted, key=lambda one: -len(one[0]))


def redacted(content: Any) -> Any:
    """Return a text, or a JSON content, with `***` in place of secrets."""
    found = secrets()
    return _replaced(content, found) if found else content


def _replaced(content: Any, found: list[tuple[str, str]]) -> Any:
    if isinstance(content, str):
        for value, _ in found:
            content = content.replace(value, BLANK)
        return content
    if isinstance(content, Mapping):
        return {_replaced(name, found): _replaced(value, found) for name, value in content.items()}
    if isinstance(content, list | tuple):
        return [_replaced(value, found) for value in content]
    return content


def secret_in(text: str) -> str:
    """Return the name of the variable whose secret a text contains, or nothing."""
    return next((name for value, name in secrets() if value in text), "")


class _Guard:
    """A text stream that passes texts on without secrets."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream
        with suppress(AttributeError, OSError, ValueError):
            stream.reconfigure(errors="backslashreplace")  # a terminal that knows fewer letters

    def write(self, text: str) -> int:
        self.stream.write(redacted(text))
        return len(text)

    def writelines(self, lines: Any) -> None:
        self.write("".join(lines))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


def guard_process() -> None:
    """Replace secrets in all that this process prints, up to the traceback that Python prints at its end."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is not None and not isinstance(stream, _Guard):
            setattr(sys, name, _Guard(stream))


@contextmanager
def guarded() -> Iterator[None]:
    """Guard stdout and stderr while the code inside runs."""
    before = sys.stdout, sys.stderr
    guard_process()
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before
