"""Credentials: what counts as one, and texts without them.

By name: what follows the name of a credential. `HF_TOKEN=...`, `api_key: ...`, `--password ...`, `"secret": "..."`,
`Authorization: Bearer ...`, `https://user:password@host`, and the forms of well-known keys (`hf_...`, `sk-...`).

By value: what an environment variable with such a name holds now (or was typed under such a name), wherever it stands.
Short values must not blank ordinary words. So a value counts from 8 characters on; below 16 it also needs a digit or a
sign beside letters, and it counts only where no letter or digit touches it. Paths, truth values and the numbers of
fewer than 16 digits never count.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any
from urllib.parse import quote

__all__ = ["BLANK", "blanked", "blanked_content", "found_in", "learn", "learn_words", "names_credential", "text_of"]

BLANK = "***"
SHORTEST, LONG = 8, 16
"""Characters of a value that counts at all, and of one that counts inside a longer word too."""

SURE = {"secret", "secrets", "password", "passwords", "passwd", "passphrase", "credential", "credentials", "apikey"}
"""Words of a name that leave no doubt."""
OF_KEY = {"access", "account", "api", "auth", "encryption", "license", "private", "secret", "service", "signing", "ssh"}
OF_TOKEN = {"access", "api", "auth", "bearer", "bot", "hf", "hub", "personal", "private", "refresh", "security"} | {
    "service",
    "session",
    "user",
    "wandb",
}
"""What stands before `key` and `token` in the name of a credential: there are also padding tokens and keys of cells."""
ABOUT = {"path", "file", "dir", "folder", "sock", "home", "host", "port", "name", "type", "user", "version"}
"""Last words of names that say something about a credential, such as where it lies."""
WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")

ASSIGNED = re.compile(r"""(?P<name>\b[A-Za-z][\w.-]*+)\\?["']?\s*(?P<sign>[=:])(?P<gap>\s*)""")
VALUE = re.compile(r"""(?P<quote>\\?["'])[^\n]*?(?P=quote)|(?P<bare>[^\s"'&;,)}\]\\]+)""")
OPTION = re.compile(r"(?P<start>--(?P<name>[A-Za-z][\w-]*+)\s+)(?P<value>[^\s-]\S*+)")
HEADER = re.compile(r"""(?i)\b(authorization\\?["']?\s*[:=]\s*["']?(?:bearer|basic|token|digest)\s+)[^\s"',}]+""")
BEARER = re.compile(r"(?i)\b(bearer\s+)(?=[\w.~+/-]*\d)[\w.~+/=-]{12,}")
ADDRESS = re.compile(r"""\b([A-Za-z][A-Za-z0-9+.-]*+:/{1,3})[^\s/@"'<>]+@""")
FORMS = re.compile(
    r"\b(?:hf_[A-Za-z0-9]{20,}|sk-[\w-]{20,}|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|AKIA[0-9A-Z]{16}"
    r"|eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]*)"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"
)
FORM_MARKS = ("hf_", "sk-", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "AKIA", "eyJ", "-----BEGIN")
"""One stands in whatever `FORMS` finds; looking for letters takes a tenth of the time."""
NUMBER = re.compile(r"[+-]?[\d.]+(?:e[+-]?\d+)?", re.IGNORECASE)

_LEARNT: dict[str, str] = {}


def names_credential(name: str) -> bool:
    """Return whether what has this name is a credential.

    >>> [names_credential(name) for name in ("HF_TOKEN", "method.api_key", "accessToken", "DB_PASSWORD", "token")]
    [True, True, True, True, True]
    >>> [names_credential(name) for name in ("pad_token", "max_new_tokens", "key", "ul_token", "ppl/token", "KEY")]
    [False, False, False, False, False, False]
    """
    last = name.rpartition(".")[2]
    if "/" in name:  # a column
        return False
    if last.isupper() and "_" in last:
        return _names_variable(last)
    words = [word.lower() for word in WORD.findall(last)]
    if not words or words[-1] in ABOUT:
        return False
    if SURE.intersection(words) or words == ["token"]:
        return True
    before = words[-2:-1]
    return (words[-1] == "key" and not OF_KEY.isdisjoint(before)) or (
        words[-1] == "token" and not OF_TOKEN.isdisjoint(before)
    )


@lru_cache(maxsize=1024)
def _names_variable(name: str) -> bool:
    """Return whether an environment variable of this name holds a credential."""
    words = name.lower().split("_")
    return words[-1] not in ABOUT and bool({"token", "key", *SURE}.intersection(words))


# By value -----------------------------------------------------------------------------------------------------------


def learn(name: str, value: object) -> None:
    """Remember a value that was given under the name of a credential, for the rest of the process."""
    if isinstance(value, str) and names_credential(name) and _counts(value):
        _LEARNT[value] = name


def learn_words(words: Sequence[str]) -> None:
    """Remember the values of credentials on a command line: `name=value`, `--name=value` and `--name value`."""
    for place, word in enumerate(words):
        name, sign, value = word.partition("=")
        if sign:
            learn(name.lstrip("-"), value)
        elif word.startswith("--") and place + 1 < len(words):
            learn(word[2:], words[place + 1])


def known() -> list[tuple[str, str]]:
    """Return every known credential with the name it has, the longest first."""
    return _known(tuple(os.environ.items()), tuple(_LEARNT.items()))


@lru_cache(maxsize=1)
def _known(environment: tuple[tuple[str, str], ...], learnt: tuple[tuple[str, str], ...]) -> list[tuple[str, str]]:
    """Return the credentials of an environment beside those that were learnt, which are (value, name)."""
    found = dict(learnt)
    for name, value in environment:
        if _names_variable(name.upper()):
            parts = [value.strip(), *(line.strip() for line in value.splitlines()[1:] if len(line.strip()) >= LONG)]
            found |= {part: name for part in parts if _counts(part)}
        elif "@" in value and (user := re.search(r"://[^\s/@:]*:([^\s/@]+)@", value)) and _counts(user[1]):
            found[user[1]] = name
    return sorted(((name, value) for value, name in found.items()), key=lambda pair: -len(pair[1]))


def _counts(value: str) -> bool:
    """Return whether a value is long and odd enough to be looked for in any text."""
    value = value.strip()
    if len(value) < SHORTEST or value.startswith(("/", "~", "./", "../")):
        return False
    return len(value) >= LONG or not (value.isalpha() or NUMBER.fullmatch(value))


def found_in(texts: Iterable[str]) -> str:
    """Return the name of the first known credential whose value stands in one of some texts, or nothing."""
    patterns = _patterns()
    if not patterns:
        return ""
    for text in texts:
        for name, pattern in patterns:
            if pattern.search(text):
                return name
    return ""


def text_of(content: Any) -> Iterator[str]:
    """Yield every text in bytes, a text or a JSON content, keys too."""
    if isinstance(content, bytes):
        yield content.decode("utf-8", "replace")
    elif isinstance(content, str):
        yield content
    elif isinstance(content, Mapping):
        for name, value in content.items():
            yield str(name)
            yield from text_of(value)
    elif isinstance(content, list | tuple):
        for value in content:
            yield from text_of(value)


def _patterns() -> list[tuple[str, re.Pattern[str]]]:
    """Return the name of every known credential, and what finds its value."""
    return [(name, _pattern(value)) for name, value in known()]


def _pattern(value: str) -> re.Pattern[str]:
    """Return what finds a value: as it is, in an address, in JSON and as Python shows it."""
    forms = {value, quote(value, safe="", errors="surrogateescape"), json.dumps(value)[1:-1], repr(value)[1:-1]}
    either = "|".join(re.escape(form) for form in sorted(forms, key=len, reverse=True))
    if len(value) >= LONG:
        return re.compile(either)
    return re.compile(rf"(?<![^\W_])(?:{either})(?![^\W_])")


# Texts without them -------------------------------------------------------------------------------------------------


def blanked(text: str) -> str:
    """Return a text with `***` in place of every credential.

    >>> blanked("HF_TOKEN=abc, see https://me:pw@host/x and max_new_tokens=64")
    'HF_TOKEN=***, see https://***@host/x and max_new_tokens=64'
    """
    return _blanked(text, _patterns())


def _blanked(text: str, patterns: Iterable[tuple[str, re.Pattern[str]]]) -> str:
    for _, pattern in patterns:
        text = pattern.sub(BLANK, text)
    if any(mark in text for mark in FORM_MARKS):
        text = FORMS.sub(BLANK, text)
    if ":/" in text:
        text = ADDRESS.sub(rf"\1{BLANK}@", text)
    lower = text.lower()
    if "author" in lower or "bearer" in lower:
        text = BEARER.sub(rf"\1{BLANK}", HEADER.sub(rf"\1{BLANK}", text))
    if "=" in text or ":" in text:
        text = _without_values(text)
    return OPTION.sub(_without_option, text)


def _without_values(text: str) -> str:
    """Return a text with `name=***` for every assignment to the name of a credential.

    After `=` any value is one; after `:`, or with a blank before it, only what looks like one: prose has colons.
    """
    parts, done = [], 0
    for found in ASSIGNED.finditer(text):
        if found.end() < done or not names_credential(found["name"]):
            continue
        value = VALUE.match(text, found.end())
        if value is None:
            continue
        is_sure = value["quote"] or (found["sign"] == "=" and not found["gap"])
        if not is_sure and not _looks_odd(value["bare"]):
            continue
        quote_sign = value["quote"] or ""
        parts += [text[done : found.end()], quote_sign, BLANK, quote_sign]
        done = value.end()
    return "".join([*parts, text[done:]])


def _without_option(found: re.Match[str]) -> str:
    """Return `--name ***` for an option with the name of a credential, else the text as it is."""
    if names_credential(found["name"]):
        return f"{found['start']}{BLANK}"
    return found[0]


def _looks_odd(value: str) -> bool:
    """Return whether a value is no word and no number."""
    if NUMBER.fullmatch(value):
        return False
    return len(value) >= 24 or (len(value) >= 6 and any(letter.isdigit() for letter in value))


def blanked_content(content: Any) -> Any:
    """Return a JSON content without credentials; numbers stay whatever their name."""
    return _blanked_content(content, _patterns())


def _blanked_content(content: Any, patterns: list[tuple[str, re.Pattern[str]]]) -> Any:
    if isinstance(content, str):
        return _blanked(content, patterns)
    if isinstance(content, Mapping):
        cleaned = {}
        for name, value in content.items():
            if isinstance(value, str) and names_credential(str(name)):
                value = BLANK
            cleaned[name] = _blanked_content(value, patterns)
        return cleaned
    if isinstance(content, list | tuple):
        return [_blanked_content(value, patterns) for value in content]
    return content
