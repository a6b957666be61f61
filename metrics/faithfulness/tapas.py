"""TAPAS-Acc: the share of sentences that a table verifier classifies as entailed (Eisenschlos et al. 2020; PLOG).

The model reads at most 512 pieces of sentence and table. `TapasTable` gives the same input as the released
`TapasTokenizer` in a fourteenth of its time (7 and 93 s for LogicNLG's test split): it prepares a table once for all
its sentences.
"""

from __future__ import annotations

import importlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.metrics.faithfulness import verifiers
from bench.metrics.faithfulness.checkpoints import choose
from bench.metrics.faithfulness.table_cells import Cells, TableText, table_texts, with_tables
from bench.metrics.faithfulness.verifiers import Verifier
from bench.metrics.score import Family, Gold, Row

__all__ = ["TapasTable", "load_tapas", "tapas", "tapas_family", "tapas_scores"]

CHECKPOINT = "google/tapas-large-finetuned-tabfact"
MAX_LENGTH = 512
MIN_SHARE = 0.7
"""Share of a column's cells with a number, or with a date, from which on the column is one of them."""
Ints = NDArray[np.int64]


def load_tapas(checkpoint: str = CHECKPOINT) -> Verifier:
    """Load the verifier; arguments and errors as for `verifiers.load`."""
    from transformers import TapasForSequenceClassification, TapasTokenizer

    classes = TapasForSequenceClassification, TapasTokenizer
    return verifiers.load(checkpoint, *classes, "entailed", position=1)


def tapas(tables: Sequence[TableText], sentences: Sequence[str], verifier: Verifier) -> list[bool]:
    """Return for each sentence whether its table entails it; there are as many tables as sentences."""
    largest = [size - 1 for size in verifier.model.config.type_vocab_sizes]
    encoded = []
    known: dict[int, TapasTable] = {}
    for table, sentence in zip(tables, sentences, strict=True):
        if id(table) not in known:  # several sentences are about one table
            known[id(table)] = TapasTable(table, verifier.tokenizer)
        pair = known[id(table)].encode(verifiers.plain_text(sentence, verifier.tokenizer), MAX_LENGTH)
        # More than 255 rows fit only where a row is one piece; the model has no type for those.
        pair["token_type_ids"] = [list(map(min, types, largest)) for types in pair["token_type_ids"]]
        encoded.append(pair)
    return verifiers.verdicts(verifier, encoded)


def tapas_family(*, checkpoint: str | None = None, cells: Cells = "plog") -> Family:
    """Return the family that scores sentences by the share that their tables entail.

    Rows, gold and arguments are those of `tapex.tapex_family`, with the variable BENCH_TAPAS.
    """

    def decide(rows: Sequence[Row], gold: Gold) -> tuple[Verifier, list[list[bool]]]:
        fields = with_tables(rows, gold)
        verifier = verifiers.loaded(load_tapas, choose(checkpoint, "BENCH_TAPAS", CHECKPOINT))
        verdicts = tapas(table_texts(fields, cells), [row["text"] for row in rows], verifier)
        return verifier, [[verdict] for verdict in verdicts]

    options = f"tapas-acc|cells:{cells}|rows:dropped_to_fit|max:{MAX_LENGTH}"
    return verifiers.verdict_family("tapas-acc", options, decide)


tapas_scores = tapas_family()
"""The share of sentences that TAPAS classifies as entailed by the table."""


class TapasTable:
    """What TAPAS reads of a table, made once for all sentences about it (Herzig et al. 2020, section 2).

    The cells of a table that does not fit are cut first, all to the same number of pieces, and rows are dropped from
    its end only where one word of every cell is too much.

    Args:
        table: as `table_cells.table_texts` returns.
        tokenizer: a `TapasTokenizer`.

    Raises:
        ValueError: more columns than the tokenizer numbers, or a row has another number of cells than the header.
    """

    def __init__(self, table: TableText, tokenizer: Any) -> None:
        self.tokenizer, self.released = tokenizer, importlib.import_module(type(tokenizer).__module__)
        height, width = len(table.rows), len(table.header)
        if width >= tokenizer.max_column_id:
            raise ValueError(f"expected fewer than {tokenizer.max_column_id} columns, got {width}")
        if odd := [row for row, cells in enumerate(table.rows) if len(cells) != width]:
            raise ValueError(f"expected {width} cells in every row, got {len(table.rows[odd[0]])} in row {odd[0]}")
        names = table.header
        if tokenizer.strip_column_names:
            names = [""] * width
        pieces = [list(map(tokenizer.tokenize, row)) for row in (names, *table.rows)]
        self.longest = max((len(cell) for row in pieces for cell in row), default=0)
        self.rows = min(height, tokenizer.max_row_id - 1)
        self._place(pieces)
        self.numbers = []
        for column in range(width):
            self.numbers.append(self._numbers([row[column] for row in table.rows]))
        self.ranks = np.zeros((height + 1, width, 2), dtype=np.int64)
        for (row, column), ranks in self._ranks():
            self.ranks[row + 1, column] = ranks

    def _place(self, pieces: Sequence[Sequence[Sequence[str]]]) -> None:
        """Number every piece: its id, row (0 is the header), column from 0, and where its word begins in its cell."""
        flat: list[str] = []
        places: list[tuple[int, int, int]] = []
        for row, cells in enumerate(pieces):
            for column, cell in enumerate(cells):
                flat += cell
                places += [(row, column, begin) for begin in begins(cell)]
        self.ids = np.array(self.tokenizer.convert_tokens_to_ids(flat), dtype=np.int64)
        self.row, self.column, self.begin = np.array(places, dtype=np.int64).reshape(-1, 3).T
        counts = np.zeros((len(pieces), self.longest + 2), dtype=np.int64)
        np.add.at(counts, (self.row, self.begin + 1), 1)
        self.cost = counts.cumsum(axis=0).cumsum(axis=1)
        """`[rows, pieces]` pieces of the header and the first rows, in words that begin before that piece."""

    def _numbers(self, cells: Sequence[str]) -> dict[int, Any]:
        """Return a column's numbers, or its dates where they are as many or more, by row; none below `MIN_SHARE`."""
        kinds: list[dict[int, Any]] = [{}, {}]  # dates, numbers
        for row, cell in enumerate(cells):
            for span in self.released.parse_text(self.released.normalize_for_match(cell)):
                for value in span.values:
                    kinds[value.date is None].setdefault(row, value)
        most = max(kinds, key=len)
        if len(most) < len(cells) * MIN_SHARE:
            return {}
        return most

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
        """Return the sort key of a column's numbers or dates; None without any, and for mixed kinds."""
        values = list(numbers)
        if not values:
            return None
        try:
            return self.released.get_numeric_sort_key_fn(values)
        except ValueError:
            return None

    def encode(self, sentence: str, longest: int) -> dict[str, list[Any]]:
        """Return the input of the model for a sentence and this table.

        Args:
            sentence: without the tokenizer's special tokens.
            longest: largest number of pieces.

        Returns:
            `input_ids` and `attention_mask` `[T]`; `token_type_ids` `[T, 7]`: segment, column, row, previous answer,
            rank, rank from the highest, relation to the sentence's numbers.

        Raises:
            ValueError: sentence and header alone are longer.
        """
        words = self.tokenizer.tokenize(sentence)
        shortest, largest = self.tokenizer.min_question_length, self.tokenizer.max_question_length
        if (largest is not None and len(words) > largest) or (shortest is not None and len(words) < shortest):
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
        segment, previous_answer = np.ones_like(row), np.zeros_like(row)
        rank, rank_from_highest = self.ranks[row, column].T
        relation = self._relations(sentence)[row, column]
        of_table = [segment, column + 1, row, previous_answer, rank, rank_from_highest, relation]
        types[len(words) + 2 :] = np.stack(of_table, axis=1)  # [pieces of the table, 7]
        return {"input_ids": ids, "attention_mask": [1] * len(ids), "token_type_ids": types.tolist()}

    def fit(self, budget: int) -> tuple[int, int]:
        """Return how many rows are kept, and before which piece of its cell a word must begin."""
        trim, rows = self.tokenizer.cell_trim_length, self.rows
        most = self.longest
        if trim >= 0:
            most = min(self.longest, trim)
        while True:
            pieces = next((n for n in range(most) if self.cost[rows, n + 1] > budget), most)
            if pieces == most or (pieces and trim < 0):
                return rows, pieces or 1
            rows -= 1
            if rows < 1:
                return rows, 1

    def _relations(self, sentence: str) -> Ints:
        """Return for each cell, as bits, whether some number of the sentence is equal, less or greater."""
        relations = np.zeros(self.ranks.shape[:2], dtype=np.int64)  # [rows + 1, columns]
        for span in self.released.add_numeric_values_to_question(sentence).numeric_spans:
            for number in span.values:
                for column, numbers in enumerate(self.numbers):
                    self._relate(number, numbers, relations[1:, column])
        return relations

    def _relate(self, number: Any, numbers: Mapping[int, Any], relations: Ints) -> None:
        """Set the bit of each cell of a column `[rows]` for its relation to a number of the sentence."""
        key = self._key([*numbers.values(), number])
        if not numbers or key is None:
            return
        first = self.released.Relation.EQ.value
        for row, in_table in numbers.items():
            relation = self.released.get_numeric_relation(number, in_table, key)
            if relation is not None:
                relations[row] |= 1 << (relation.value - first)


def begins(cell: Sequence[str]) -> Iterator[int]:
    """Yield for each piece of a cell where its word begins; -1 where the cell begins inside a word.

    >>> list(begins(["river", "##s", "and", "##es"]))
    [0, 0, 2, 2]
    """
    begin = -1
    for place, piece in enumerate(cell):
        if not piece.startswith("##"):
            begin = place
        yield begin
