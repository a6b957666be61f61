"""NITF: one article of the New York Times Annotated Corpus, from its XML.

Of a file are read the day (`pubdata`), the summary (`abstract`) and the paragraphs of the block `full_text`, in the
News Industry Text Format 3.3 as LDC2008T19 uses it. Nothing outside a file is ever loaded.
"""

from __future__ import annotations

import re
from typing import NamedTuple
from xml.etree import ElementTree

from bench.tasks.files.bad_rows import BadRow

__all__ = ["LARGEST", "Article", "parse"]

LARGEST = 1 << 24
"""Bytes of a file; the longest articles of the corpus are far below."""


class Article(NamedTuple):
    """What an article says of itself: its day as `YYYYMMDD` (empty if it does not), summary and paragraphs."""

    day: str
    abstract: str
    paragraphs: tuple[str, ...]


def parse(content: bytes) -> Article:
    """Read one file. White space becomes one space; summary and paragraphs are empty where there are none.

    Raises:
        BadRow: it is too large, no XML, or no article.

    >>> parse(b'<nitf><head><pubdata date.publication="20060102T000000"/></head><body><body.head><abstract><p>Bridge'
    ... b' closes (S)</p></abstract></body.head><body.content><block class="full_text"><p>The  bridge</p><p>It</p>'
    ... b'</block></body.content></body></nitf>')
    Article(day='20060102', abstract='Bridge closes (S)', paragraphs=('The bridge', 'It'))
    """
    if len(content) > LARGEST:
        raise BadRow(f"has more than {LARGEST:,} bytes; expected one article")
    if b"<!ENTITY" in content:
        raise BadRow("declares entities, which no article of the corpus does")
    try:
        root = ElementTree.fromstring(content)
    except (ElementTree.ParseError, ValueError, LookupError, RecursionError) as problem:
        raise BadRow(f"is no well-formed XML ({problem!s:.100}); get it again") from None
    if root.tag != "nitf":
        raise BadRow(f"expected an article, <nitf>, found <{root.tag!s:.40}>")
    abstract = ""
    if (element := root.find("./body/body.head/abstract")) is not None:
        abstract = _text(element)
    paragraphs: list[str] = []
    if (block := root.find("./body/body.content/block[@class='full_text']")) is not None:
        paragraphs = [_text(paragraph) for paragraph in block.iter("p")]
    return Article(_day(root), abstract, tuple(filter(None, paragraphs)))


def _day(root: ElementTree.Element) -> str:
    published = root.find("./head/pubdata")
    if published is None:
        return ""
    match = re.match(r"\d{8}", published.get("date.publication", ""))
    return match[0] if match else ""


def _text(element: ElementTree.Element) -> str:
    """Return the words of an element; paragraphs in it are apart."""
    parts = element.findall("p") or [element]
    words = " ".join("".join(part.itertext()) for part in parts).split()
    return " ".join(words)
