"""Stream: running text as one row of tokens, cut into blocks to learn and windows to continue.

F2-Softmax section 4.1.4 evaluates so: the test set is "batchified", that is laid out in columns, and of each stretch
of 150 tokens the first 50 are the prefix of a continuation of 100.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bench.tasks.encode.codec import Codec
from bench.tasks.encode.token_store import NO_EXEMPLAR, Array, TokenStore, ids_of


@dataclass(frozen=True)
class Stream:
    """How running text is cut.

    Args:
        prefix: tokens a generation starts from.
        continuation: tokens after them that it is compared with.
        columns: the evaluated text is laid out in so many columns of equal length before it is cut into windows.
    """

    prefix: int = 50
    continuation: int = 100
    columns: int = 1


def blocks(documents: TokenStore, split: str, codec: Codec) -> TokenStore:
    """Cut consecutive blocks of `codec.max_target` tokens, every token learned once; the last one may be shorter."""
    starts = np.arange(0, len(documents.tokens), codec.max_target)  # [rows]
    stops = np.append(starts[1:], len(documents.tokens))[: len(starts)]
    names = [f"{split}/block/{number}" for number in range(len(starts))]
    return _cut(documents, codec.bos, names, starts, starts, stops)


def windows(documents: TokenStore, split: str, codec: Codec, stream: Stream) -> TokenStore:
    """Cut prefix and true continuation of each window, column by column.

    A window at the end of a column has a shorter continuation; one without any is left out.
    """
    length, width = len(documents.tokens) // stream.columns, stream.prefix + stream.continuation
    within = np.arange(0, max(0, length - stream.prefix), width)  # [windows of a column]
    starts = (np.arange(stream.columns)[:, None] * length + within).ravel()  # [rows]
    stops = starts + np.minimum(width, length - np.tile(within, stream.columns))
    names = [f"{split}/window/{column}/{n}" for column in range(stream.columns) for n in range(len(within))]
    return _cut(documents, codec.bos, names, starts, starts + stream.prefix, stops)


def _cut(
    documents: TokenStore, first: int, names: Sequence[str], starts: Array, middles: Array, stops: Array
) -> TokenStore:
    """Return rows cut out of a stream; no token is copied.

    Args:
        documents: the stream, one row a document, its tokens as target.
        first: the token that every row begins with.
        names: id of each row.
        starts: where each row starts, [rows].
        middles: where what it learns or continues starts, [rows].
        stops: where it stops, [rows].
    """
    words, sizes = (_shared_out(documents.table, column, middles, stops) for column in (5, 6))
    none = np.zeros(len(names), np.int64)
    columns = (starts, 1 + middles - starts, stops - middles, none + NO_EXEMPLAR, none, words, sizes)
    return TokenStore(documents.tokens, np.stack(columns, 1), ids_of(names), first)


def _shared_out(table: Array, column: int, starts: Array, stops: Array) -> Array:
    """Return the words or bytes of stretches of a stream, [stretches].

    Those of a document are shared out evenly over its tokens, in whole numbers: sums over documents are exact.
    """
    ends: Array = np.append(0, np.cumsum(table[:, 2]))  # [documents + 1]
    edges = np.stack((starts, stops))  # [2, stretches]
    document = np.searchsorted(ends, edges, "right").clip(1, len(table)) - 1
    sums: Array = np.append(0, np.cumsum(table[:, column]))
    within, tokens = edges - ends[document], np.maximum(1, table[document, 2])
    at = sums[document] + within * table[document, column] // tokens
    return np.asarray(at[1] - at[0])
