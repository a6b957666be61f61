"""Lines of a drawing: the places that they go through."""

from __future__ import annotations

import re

LINE = re.compile(r"<path class='curve ([^']*)' d='M([^']*)'")
NUMBER = re.compile(r"-?\d+")


def lines_of(markup: str) -> list[tuple[str, list[tuple[int, int]]]]:
    """Return style and places of every line in an SVG.

    >>> lines_of("<path class='curve c0' d='M37 54l47 65 47-9'/>")
    [('c0', [(37, 54), (84, 119), (131, 110)])]
    """
    found = []
    for style, path in LINE.findall(markup):
        numbers = list(map(int, NUMBER.findall(path)))
        places: list[tuple[int, int]] = []
        x = y = 0
        for across, down in zip(numbers[::2], numbers[1::2], strict=True):
            x, y = x + across, y + down
            places.append((x, y))
        found.append((style, places))
    return found
