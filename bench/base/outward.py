"""Outward: the one writer of text that leaves the program, to a terminal, a log, a file or a service.

Nothing that leaves holds a credential (`credentials.py` says what one is) or a control character: what an exception, a
configuration, an environment, a data file or a model says is shown, never obeyed.

- Terminal and logs: `guard_process`, or `guarded` in a process that goes on, stand before stdout and stderr.
- Files: records are stored without credentials (`blanked_content`), and `write_atomic` refuses any other content that
  holds the value of one. Rows hold texts of models and data as they are, to the byte, because numbers are made of
  them: they are refused too, never changed.
- Services: `safe_content`.
- One line of a table or a list: `plain`.
"""

from __future__ import annotations

import json
import re
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, TextIO, cast

from bench.base.credentials import blanked, blanked_content, found_in, text_of
from bench.errors import StoreError

__all__ = [
    "Outlet",
    "guard_process",
    "guarded",
    "json_text",
    "plain",
    "refuse",
    "safe",
    "safe_content",
    "styled",
    "visible",
    "write_styled",
]

COMMANDS = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ !$]?[@A-Za-z`]"  # CSI: colours, cursor
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])(?:[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c))?"  # OSC and such: titles, links
)
"""Whole commands to a terminal (ECMA-48), so that their letters do not stay behind; of others the ESC goes."""
BREAKS = re.compile(r"\r\n?|[\x0b\x0c\x85\u2028\u2029]")
ACTIVE = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""C0 without tab and line feed, DEL, C1, and what turns the direction of writing."""
LONE = re.compile(r"[\ud800-\udfff]")
OURS = re.compile(r"(\r(?!\n)|\x1b\[[0-9;]*m|\x1b\[[0-2]?K|\x1b\[\d*[AG]|\x1b\[\?25[hl])")
"""What `rich` sends to a terminal: colours, and the moves of a progress bar."""
ESCAPED = re.compile(f"{ACTIVE.pattern}|[\u2028\u2029]")


def visible(text: str) -> str:
    r"""Return a text without control characters; line ends and tabs stay.

    >>> visible("a\x1b[31mb\x1b]8;;http://x\x07c\r\nd\te\u202ef")
    'abc\nd\tef'
    """
    if text.replace("\n", "").isprintable():  # most are, and nothing in them is a command, another break or a mark
        return text
    text = BREAKS.sub("\n", COMMANDS.sub("", text))
    return LONE.sub("\ufffd", ACTIVE.sub("", text))


def safe(text: str) -> str:
    """Return a text as it may leave: without control characters, then without credentials."""
    return blanked(visible(text))


def safe_content(content: Any) -> Any:
    """Return a JSON content as it may leave for a service; numbers stay as they are."""
    return _visible_content(blanked_content(content))


def _visible_content(content: Any) -> Any:
    if isinstance(content, str):
        return visible(content)
    if isinstance(content, Mapping):
        return {visible(str(name)): _visible_content(value) for name, value in content.items()}
    if isinstance(content, list | tuple):
        return [_visible_content(value) for value in content]
    return content


def plain(text: str) -> str:
    r"""Return a text without line breaks and control characters: stored names may be anybody's.

    >>> plain("a\nb\x1b[31mc")
    'a bc'
    """
    if text.isprintable():
        return text
    return "".join(c for c in " ".join(visible(text).splitlines()) if c.isprintable())


def json_text(content: Any, **settings: Any) -> str:
    r"""Return JSON that people can read, any script as it is, with control characters as escapes.

    >>> json_text({"a": "é\u202e"})
    '{"a": "é\\u202e"}'
    """
    text = json.dumps(content, ensure_ascii=False, **settings)
    return ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def refuse(content: Any, where: str) -> None:
    """Do nothing where a content may be stored.

    Args:
        content: bytes, a text, or JSON content.
        where: names it in the message.

    Raises:
        StoreError: it holds the value of a credential.
    """
    if name := found_in(text_of(content)):
        raise StoreError(
            f"{where} holds the value of the credential '{name}', so it is not stored; take it out of the data, or "
            f"unset '{name}' if its value is no secret"
        )


# Streams ------------------------------------------------------------------------------------------------------------


class Outlet:
    """A text stream that passes on whole lines as they may leave.

    A line waits until it ends or the stream is flushed, so that a credential printed in pieces is seen.

    Args:
        stream: where it goes.
        styled: whether colours and moves of `rich` pass on a terminal: only for a writer whose texts have lost theirs.
    """

    def __init__(self, stream: TextIO, styled: bool = False) -> None:
        self.stream, self.styled = stream, styled
        self.waiting = threading.local()  # a thread's own line

    def write(self, text: str) -> int:
        """Take a text; pass on the lines that are whole."""
        whole, end, rest = (getattr(self.waiting, "text", "") + text).rpartition("\n")
        self.waiting.text = rest
        if end:
            self._pass_on(whole + end)
        return len(text)

    def writelines(self, lines: Any) -> None:
        """Take several texts."""
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        """Pass on what waits."""
        rest, self.waiting.text = getattr(self.waiting, "text", ""), ""
        if rest:
            self._pass_on(rest)
        self.stream.flush()

    def _pass_on(self, text: str) -> None:
        text = self._safe(text)
        try:
            self.stream.write(text)
        except UnicodeEncodeError:  # a terminal that knows fewer letters
            encoding = self.stream.encoding
            self.stream.write(text.encode(encoding, "backslashreplace").decode(encoding))

    def _safe(self, text: str) -> str:
        if self.styled and self.isatty():
            ours = OURS.split(blanked(text))  # every second piece is one of rich
            ours[::2] = map(safe, ours[::2])
            return "".join(ours)
        return safe(text)

    def isatty(self) -> bool:
        """Return whether the stream is a terminal."""
        return self.stream.isatty()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


def styled(stream: Any) -> TextIO:
    """Return an outlet of the same place for `rich`, whose colours pass on a terminal."""
    if isinstance(stream, Outlet):
        stream.flush()
        stream = stream.stream
    return cast("TextIO", Outlet(stream, styled=True))


def write_styled(text: str) -> None:
    """Print what a renderer made of cleaned texts, with its colours."""
    outlet = styled(sys.stdout)
    outlet.write(text)
    outlet.flush()


def guard_process() -> None:
    """Put an outlet before stdout and stderr until the process ends: also what Python says at its end goes through."""
    sys.stdout, sys.stderr = _outlet(sys.stdout), _outlet(sys.stderr)


@contextmanager
def guarded() -> Iterator[None]:
    """Put an outlet before stdout and stderr while the code inside runs."""
    before = sys.stdout, sys.stderr
    guard_process()
    ours = sys.stdout, sys.stderr
    try:
        yield
    finally:
        for stream in ours:
            with suppress(OSError, ValueError):  # a reader who has gone, or a closed stream
                stream.flush()
        sys.stdout, sys.stderr = before


def _outlet(stream: Any) -> Any:
    if stream is None or isinstance(stream, Outlet):
        return stream
    return Outlet(stream)
