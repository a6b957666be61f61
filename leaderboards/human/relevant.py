"""Relevant sentences: the part of a long source that raters read, after HistAlign B.2.

"We select ten most relevant sentences from the document by cosine similarity of the sentence embedding [...] for each
summary and then combine and show all the selected relevant sentences from each summary." The less relevant ones become
an ellipsis. Sentences stand line by line, in the order of the source (figure 4).

How the authors cut a document into sentences is not stated; here a sentence ends at the end of a line, or behind one of
`.!?` and closing quotes where white space and no small letter follow. Titles and initials end none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["ELLIPSIS", "ENCODER", "MOST", "Embed", "relevant", "sentences"]

ENCODER = "sentence-transformers/all-mpnet-base-v2"
"""The encoder of HistAlign B.2."""
MOST = 10
"""Sentences for each summary (HistAlign B.2)."""
ELLIPSIS = "..."

Embed = Callable[[Sequence[str]], npt.NDArray[Any]]
"""Texts -> a vector of each, [n, D]."""

END = re.compile(r"""(?<=[.!?])["'”’)\]]*\s+(?=[^\sa-z])""")
OPEN = re.compile(r"(?:\b(?:Mr|Mrs|Ms|Dr|Prof|St|Sen|Rep|Gen|Col|Lt|Sgt|Gov|Jr|Sr|vs|No)|\b[A-Z])\.$")
"""What a sentence does not end with: a title or an initial."""


def sentences(text: str) -> list[str]:
    """Cut a text into sentences, without empty ones.

    >>> sentences('He met Mr. J. Lind. "Why?" he said. It was 3.5 m.\\nAll left')
    ['He met Mr. J. Lind.', '"Why?" he said.', 'It was 3.5 m.', 'All left']
    """
    found: list[str] = []
    for line in text.splitlines():
        start = 0
        for end in END.finditer(line):
            if not OPEN.search(line[start : end.start()]):
                found.append(line[start : end.end()])
                start = end.end()
        found.append(line[start:])
    return [sentence.strip() for sentence in found if sentence.strip()]


def relevant(source: str, texts: Sequence[str], embed: Embed, most: int = MOST) -> str:
    """Return the sentences of a source that are most like one of the texts, a line each.

    Of each text the `most` sentences with the largest cosine to it are taken, of equal ones the first; what no text has
    taken becomes a line with an ellipsis, one for neighbours. A text without a character takes none.

    Args:
        source: that the texts were written from.
        texts: all that are shown together.
        embed: gives the vectors of sentences and texts.
        most: sentences for each text.

    >>> letters = lambda texts: np.array([[text.count("a"), text.count("b"), 1.0] for text in texts])
    >>> relevant("Aa a. Bb b. Ba. C.", ["a a a", "b b"], letters, most=1)
    'Aa a.\\nBb b.\\n...'
    """
    parts, texts = sentences(source), [text for text in texts if text.strip()]
    if not parts:
        return source
    taken: set[int] = set()
    if texts:
        vectors = _units(embed([*parts, *texts]))  # [S + n, D]
        cosines = vectors[len(parts) :] @ vectors[: len(parts)].T  # [n, S]
        order = np.argsort(-cosines, axis=1, kind="stable")
        taken = set(order[:, :most].ravel().tolist())
    lines: list[str] = []
    for place, part in enumerate(parts):
        if place in taken:
            lines.append(part)
        elif lines[-1:] != [ELLIPSIS]:
            lines.append(ELLIPSIS)
    return "\n".join(lines)


def _units(vectors: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return vectors [n, D] with length 1 in float64; a vector of zeros stays."""
    vectors = np.asarray(vectors, dtype=np.float64)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit: npt.NDArray[Any] = vectors / np.maximum(lengths, np.finfo(np.float64).tiny)
    return unit
