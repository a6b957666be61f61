"""TAPAS table: what TAPAS reads of a table, made once for all sentences about it (Herzig et al. 2020, section 2).

The released `TapasTokenizer` does all of it again for every sentence; the result here equals its own. A table that does
not fit has its cells cut first, each to as many pieces as will do, and loses rows from its end only where one word of
every cell is too much.
"""

from __future__ import annotations

import importlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.metrics.faithfulness.table_cells import TableText

__all__ = ["TapasTable"]

Ints = NDArray[np.int64]
FEWEST = 0.7
"""Share of a column's cells with a number, or with a date, from which on the column is one of them."""


class TapasTable:
    """One table, ready for sentences.

    Args:
        table: as `table_cells.table_texts` returns.
        tokenizer: a `TapasTokenizer`.

    Raises:
        ValueError: more columns than the tokenizer numbers, or a row with more or fewer cells than the header.
    """

    def __init__(self, table: TableText, tokenizer: Any) -> None:
        self.tokenizer, self.released = tokenizer, importlib.import_module(type(tokenizer).__module__)
        height, width = len(table.rows), len(table.header)
        if width >= tokenizer.max_column_id:
            raise ValueError(f"expected fewer than {tokenizer.max_column_id} columns, got {width}")
        if odd := [row for row, cells in enumerate(table.rows) if len(cells) != width]:
            raise ValueError(f"expected {width} cells in every row, got {len(table.rows[odd[0]])} in row {odd[0]}")
        names = [""] * width if tokenizer.strip_column_names else table.header
        pieces = [[tokenizer.tokenize(cell) for cell in row] for row in (names, *table.rows)]
        self.longest = max((len(cell) for row in pieces for cell in row), default=0)
        self.rows = min(height, tokenizer.max_row_id - 1)
        self._place(pieces)
        self.numbers = [self._numbers([row[column] for row in table.rows]) for column in range(width)]
        self.ranks = np.zeros((height + 1, width, 2), dtype=np.int64)
        for (row, column), both in self._ranks():
            self.ranks[row + 1, column] = both

    def _place(self, pieces: Sequence[Sequence[Sequence[str]]]) -> None:
        """Number every piece: its id, row (0 is the header), column from 0, and where its word begins in its cell."""
        flat = [(row, column, begin, piece) for row, cells in enumerate(pieces) for column, cell in enumerate(cells)
                for begin, piece in zip(begins(cell), cell, strict=True)]  # fmt: skip
        ids = self.tokenizer.convert_tokens_to_ids([piece for *_, piece in flat])
        self.ids = np.array(ids, dtype=np.int64)
        places = np.array([place[:3] for place in flat], dtype=np.int64).reshape(-1, 3)
        self.row, self.column, self.begin = places.T
        counts = np.zeros((len(pieces), self.longest + 2), dtype=np.int64)
        np.add.at(counts, (self.row, self.begin + 1), 1)
        self.cost = counts.cumsum(axis=0).cumsum(axis=1)
        """Pieces of the header and so many rows, in words that begin before so many pieces."""

    def _numbers(self, cells: Sequence[str]) -> dict[int, Any]:
        """Return a column's numbers, or its dates where they are as many or more, by row; none below `FEWEST`."""
        kinds: list[dict[int, Any]] = [{}, {}]  # dates, numbers
        for row, cell in enumerate(cells):
            for span in self.released.parse_text(self.released.normalize_for_match(cell)):
                for value in span.values:
                    kinds[value.date is None].setdefault(row, value)
        most = max(kinds, key=len)
        return most if len(most) >= len(cells) * FEWEST else {}

    def _ranks(self) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
        """Yield row and column of a number, and its place in its column from the lowest and the highest, from 1."""
        for column, numbers in enumerate(self.numbers):
            key = self._key(numbers.values())
            if key is None:
                continue
            rows = defaultdict(list)
            for row, number in numbers.items():
                rows[key(number)].append(row)
            for rank, value in enumerate(sorted(rows), start=1):
                yield from (((row, column), (rank, len(rows) - rank + 1)) for row in rows[value])

    def _key(self, numbers: Iterable[Any]) -> Any:
        """Return what a column's numbers or dates are compared by; None of none, and where they are not of one kind."""
        try:
            return self.released.get_numeric_sort_key_fn(numbers) if (numbers := list(numbers)) else None
        except ValueError:
            return None

    def encode(self, sentence: str, longest: int) -> dict[str, list[Any]]:
        """Return what the model is given of a sentence and this table.

        Args:
            sentence: without the tokenizer's special tokens.
            longest: pieces in all.

        Returns:
            `input_ids` and `attention_mask` `[T]`; `token_type_ids` `[T, 7]`: segment, column, row, previous answer,
            rank, rank from the highest, relation to the sentence's numbers.

        Raises:
            ValueError: sentence and header alone are longer.
        """
        words = self.tokenizer.tokenize(sentence)
        least, most = self.tokenizer.min_question_length, self.tokenizer.max_question_length
        if (most is not None and len(words) > most) or (least is not None and len(words) < least):
            sentence, words = "", []
        rows, pieces = self.fit(longest - len(words) - 2)
        kept = np.flatnonzero((self.row <= rows) & (self.begin < pieces))
        ids = self.tokenizer.build_inputs_with_special_tokens(
            self.tokenizer.convert_tokens_to_ids(words), self.ids[kept].tolist()
        )
        if len(ids) > longest:
            raise ValueError(f"expected a sentence and header of at most {longest} pieces, got {len(ids)}; shorten it")
        row, column = self.row[kept], self.column[kept]
        types = np.zeros((len(ids), 7), dtype=np.int64)
        types[len(words) + 2 :] = np.stack(
            [np.ones_like(row), column + 1, row, np.zeros_like(row), *self.ranks[row, column].T,
             self._relations(sentence)[row, column]], axis=1
        )  # fmt: skip
        return {"input_ids": ids, "attention_mask": [1] * len(ids), "token_type_ids": types.tolist()}

    def fit(self, budget: int) -> tuple[int, int]:
        """Return how many rows are kept, and before which piece of its cell a word must begin."""
        trim, rows = self.tokenizer.cell_trim_length, self.rows
        most = self.longest if trim < 0 else min(self.longest, trim)
        while True:
            pieces = next((n for n in range(most) if self.cost[rows, n + 1] > budget), most)
            if pieces == most or (pieces and trim < 0):
                return rows, pieces or 1
            rows -= 1
            if rows < 1:
                return rows, 1

    def _relations(self, sentence: str) -> Ints:
        """Return for each cell which of equal, less and greater some number of the sentence is, as bits."""
        found = np.zeros(self.ranks.shape[:2], dtype=np.int64)
        first = self.released.Relation.EQ.value
        for span in self.released.add_numeric_values_to_question(sentence).numeric_spans:
            for number in span.values:
                for column, numbers in enumerate(self.numbers):
                    if not numbers or (key := self._key([*numbers.values(), number])) is None:
                        continue
                    for row, other in numbers.items():
                        relation = self.released.get_numeric_relation(number, other, key)
                        if relation is not None:
                            found[row + 1, column] |= 1 << (relation.value - first)
        return found


def begins(cell: Sequence[str]) -> Iterator[int]:
    """Yield for each piece of a cell where its word begins; -1 where the cell begins inside a word.

    >>> list(begins(["river", "##s", "and", "##es"]))
    [0, 0, 2, 2]
    """
    begin = -1
    for place, piece in enumerate(cell):
        begin = begin if piece.startswith("##") else place
        yield begin
