"""Word vectors from a text file, one word a line: GloVe's format."""

from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor

from bench.errors import DataError, MissingError, UsageError

HOW_TO_GET = (
    "curl -LO https://nlp.stanford.edu/data/glove.840B.300d.zip && unzip glove.840B.300d.zip, 2 GB, then --set "
    "backbone.glove=glove.840B.300d.txt"
)
"""How to have the vectors of Peng et al. 2019, A.2: GloVe, 840B tokens, 300 numbers a word (licence: PDDL)."""


def read_glove(path: str, vocabulary: Mapping[str, int], width: int) -> dict[int, Tensor]:
    """Return the vectors of a vocabulary's words that a file has.

    Args:
        path: lines of a word and its numbers, with single spaces between.
        vocabulary: token id of each word; a file's other words are passed over, as are tokens with spaces in them.
        width: numbers of a vector.

    Returns:
        Token id -> vector [width], for the words that the file has.

    Raises:
        MissingError: when there is no such file.
        UsageError: when its vectors are of another width, or none of the words is in it.
        DataError: for a line that is no word with its vector.
    """
    vectors: dict[int, Tensor] = {}
    if not Path(path).is_file():
        raise MissingError(f"no word vectors at '{path}'; give backbone.glove a file. The paper's: {HOW_TO_GET}")
    with Path(path).open(encoding="utf-8", errors="replace", newline="\n") as lines:
        for at, line in enumerate(lines, start=1):
            if at == 1 and (found := len(line.split()) - 1) != width:
                raise UsageError(
                    f"'{path}' has vectors of {found} numbers and backbone.embedding_width is {width}: "
                    "give both the same width"
                )
            token = vocabulary.get(line[: line.find(" ")])
            numbers = [] if token is None else line.split()[1:]
            if token is None or len(numbers) > width:  # more numbers: a token of several words
                continue
            try:
                vectors.setdefault(token, torch.tensor([float(text) for text in numbers]).view(width))
            except (ValueError, RuntimeError) as error:
                raise DataError(
                    f"'{path}' line {at}: expected a word and {width} numbers, got '{line[:80].strip()}'"
                ) from error
    if not vectors:
        raise UsageError(
            f"'{path}' has none of the {len(vocabulary)} words of the vocabulary; give backbone.glove a file of their "
            "language"
        )
    return vectors
