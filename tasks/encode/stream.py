"""Stream: running text as one row of tokens, cut into blocks to learn and windows to continue.

F2-Softmax section 4.1.4 evaluates so: the test set is "batchified", that is laid out in columns, and of each stretch
of 150 tokens the first 50 are the prefix of a continuation of 100.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import overload

import numpy as np

from bench.base.options import Positive, check_fields
from bench.tasks.encode.codec import Codec
from bench.tasks.encode.encoded import Encoded
from bench.tasks.encode.token_store import Array, Part, TokenStore, gathered

__all__ = ["Cuts", "Stream", "blocks", "windows"]


@dataclass(frozen=True)
class Stream:
    """How running text is cut.

    Args:
        prefix: tokens a generation starts from.
        continuation: tokens after them that it is compared with.
        columns: the evaluated text is laid out in so many columns of equal length before it is cut into windows.

    Raises:
        UsageError: one of them is below 1.
    """

    prefix: Positive = 50
    continuation: Positive = 100
    columns: Positive = 1

    def __post_init__(self) -> None:
        check_fields(self)


class Cuts(Sequence[Encoded]):
    """Rows cut out of a stream where they are asked for; nothing is copied before.

    Args:
        documents: the stream, one row a document, its tokens as target.
        begin: the token every row begins with.
        names: id of each row.
        places: [rows, 3]: where a row starts, where what it learns or continues starts, and where it stops.
    """

    def __init__(self, documents: TokenStore, begin: int, names: Sequence[str], places: Array) -> None:
        self.documents, self.begin, self.names, self.places = documents, np.array([begin], np.int32), names, places
        self.starts, self.middles, self.stops = np.ascontiguousarray(places.T)
        self.n_sources, self.n_targets = 1 + self.middles - self.starts, self.stops - self.middles
        self.n_both = self.n_sources + self.n_targets

    def __len__(self) -> int:
        return len(self.places)

    @overload
    def __getitem__(self, item: int) -> Encoded: ...

    @overload
    def __getitem__(self, item: slice) -> list[Encoded]: ...

    def __getitem__(self, item: int | slice) -> Encoded | list[Encoded]:
        if isinstance(item, slice):
            return [self[at] for at in range(*item.indices(len(self)))]
        start, middle, stop = self.places[item].tolist()
        tokens, (n_words, n_bytes) = self.documents.tokens, self._sizes[item].tolist()
        source = np.concatenate((self.begin, tokens[start:middle]))
        return Encoded(self.names[item], source, tokens[middle:stop], n_words=n_words, n_bytes=n_bytes)

    @cached_property
    def _sizes(self) -> Array:
        """Words and bytes of what each row learns, [rows, 2].

        Those of a document are shared out evenly over its tokens, in whole numbers: sums over documents are exact.
        """
        table = self.documents.table  # [documents, 7]
        ends: Array = np.append(0, np.cumsum(table[:, 2]))  # [documents + 1]
        edges = self.places[:, 1:]  # [rows, 2]: where what is learned starts and stops
        document = np.searchsorted(ends, edges, "right").clip(1, len(table)) - 1  # [rows, 2]
        sizes = []
        for column in (5, 6):  # words, bytes
            sums: Array = np.append(0, np.cumsum(table[:, column]))
            within, tokens = edges - ends[document], np.maximum(1, table[document, 2])
            at = sums[document] + within * table[document, column] // tokens
            sizes.append(at[:, 1] - at[:, 0])
        return np.stack(sizes, 1)

    def matrix(self, numbers: Array, part: Part, fill: int) -> tuple[Array, Array]:
        """Return some rows padded at the right, [B, longest] int64, and their lengths, [B]."""
        tokens = self.documents.tokens
        if part == "target":
            return gathered(tokens, self.middles[numbers], self.n_targets[numbers], fill), self.n_targets[numbers]
        sizes = {"source": self.n_sources, "both": self.n_both}[part]
        lengths = sizes[numbers]
        return gathered(tokens, self.starts[numbers], lengths - 1, fill, int(self.begin[0])), lengths

    def n_source(self, numbers: Array) -> Array:
        """Return how many source tokens some rows have, [B]."""
        return np.asarray(self.n_sources[numbers])

    def n_target(self, numbers: Array) -> Array:
        """Return how many target tokens some rows have, [B]."""
        return np.asarray(self.n_targets[numbers])

    def have_exemplars(self, numbers: Array) -> bool:
        """Return whether some rows have an exemplar: none has."""
        return False

    @property
    def lengths(self) -> None:
        """Rows are equally long: there is nothing to sort by."""

    @property
    def n_truncated(self) -> int:
        """How many rows were cut: none."""
        return 0

    def target_counts(self, vocabulary: int) -> Array:
        """Count how often each token is a target, [vocabulary]."""
        counts = np.zeros(vocabulary, np.int64)
        for _, middle, stop in self.places.tolist():
            counts += np.bincount(self.documents.tokens[middle:stop], minlength=vocabulary)
        return counts


def blocks(documents: TokenStore, split: str, codec: Codec) -> Cuts:
    """Cut consecutive blocks of `codec.max_target` tokens, every token learned once; the last one may be shorter."""
    starts = np.arange(0, len(documents.tokens), codec.max_target)  # [rows]
    stops = np.append(starts[1:], len(documents.tokens))[: len(starts)]
    names = [f"{split}/block/{number}" for number in range(len(starts))]
    return Cuts(documents, codec.tokenizer.bos_token_id, names, np.stack((starts, starts, stops), 1))


def windows(documents: TokenStore, split: str, codec: Codec, stream: Stream) -> Cuts:
    """Cut prefix and true continuation of each window, column by column.

    A window at the end of a column has a shorter continuation; one without any is left out.
    """
    length, width = len(documents.tokens) // stream.columns, stream.prefix + stream.continuation
    within = np.arange(0, max(0, length - stream.prefix), width)  # [windows of a column]
    starts = (np.arange(stream.columns)[:, None] * length + within).ravel()  # [rows]
    stops = starts + np.minimum(width, length - np.tile(within, stream.columns))
    names = [f"{split}/window/{column}/{n}" for column in range(stream.columns) for n in range(len(within))]
    return Cuts(documents, codec.tokenizer.bos_token_id, names, np.stack((starts, starts + stream.prefix, stops), 1))
