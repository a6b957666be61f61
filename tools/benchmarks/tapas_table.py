"""TAPAS input of several sentences of one table against the released tokenizer, which reads the table for each.

    python tools/benchmarks/tapas_table.py [--tables 10] [--sentences 5] [--rows 15] [--repeats 5]

One process, one thread, the two in turn; medians in milliseconds a pair, their ratio, and how many inputs differ.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import pandas
from transformers import TapasTokenizer

from bench.metrics.faithfulness.table_cells import TableText
from bench.metrics.faithfulness.tapas_table import TapasTable

WORDS = ["the", "a", "of", "in", "was", "is", "it", "river", "aldra", "sorn", "rose", "fell", "year", "length", "long"]
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "[EMPTY]"]
LONGEST = 512


def tokenizer_of(folder: Path) -> Any:
    """A tokenizer of few words and all letters; how its pieces look does not matter to the time."""
    letters = "abcdefghijklmnopqrstuvwxyz0123456789"
    pieces = dict.fromkeys([*SPECIAL, *WORDS, *letters, *(f"##{letter}" for letter in letters)])
    (folder / "vocab.txt").write_text("\n".join(pieces) + "\n", encoding="utf-8")
    return TapasTokenizer.from_pretrained(folder)


def pairs_of(tables: int, sentences: int, rows: int) -> list[tuple[TableText, list[str]]]:
    """Tables of words, two columns of numbers and a year, with sentences of twelve words and a number."""
    draw = random.Random(0)
    found = []
    for _ in range(tables):
        cells = [[" ".join(draw.choices(WORDS, k=2)), str(draw.randint(1, 99)), str(draw.randint(1900, 2020)),
                  f"{draw.random():.2f}"] for _ in range(rows)]  # fmt: skip
        texts = [" ".join([*draw.choices(WORDS, k=12), str(draw.randint(1, 99))]) for _ in range(sentences)]
        found.append((TableText(["region", "length", "year", "share"], cells), texts))
    return found


def main() -> None:
    """Print one line."""
    given = argparse.ArgumentParser()
    for name, size in (("tables", 10), ("sentences", 5), ("rows", 15), ("repeats", 5)):
        given.add_argument(f"--{name}", type=int, default=size)
    asked = given.parse_args()
    pairs = pairs_of(asked.tables, asked.sentences, asked.rows)
    with tempfile.TemporaryDirectory() as folder:
        tokenizer = tokenizer_of(Path(folder))

    def ours() -> list[dict[str, Any]]:
        made = [(TapasTable(table, tokenizer), texts) for table, texts in pairs]
        return [table.encode(text, LONGEST) for table, texts in made for text in texts]

    def theirs() -> list[dict[str, Any]]:
        frames = [(pandas.DataFrame(table.rows, columns=table.header, dtype=object), texts) for table, texts in pairs]
        return [dict(tokenizer(table=frame, queries=text, truncation=True, max_length=LONGEST))
                for frame, texts in frames for text in texts]  # fmt: skip

    differing = sum(one != other for one, other in zip(ours(), theirs(), strict=True))
    times: dict[str, list[float]] = {"ours": [], "theirs": []}
    for _ in range(asked.repeats):
        for name, work in (("ours", ours), ("theirs", theirs)):
            started = time.perf_counter()
            work()
            times[name].append(1000 * (time.perf_counter() - started) / (asked.tables * asked.sentences))
    one, other = (statistics.median(some) for some in times.values())
    print(f"ours {one:.2f} ms, released {other:.2f} ms a pair: {other / one:.1f}x; {differing} inputs differ")


if __name__ == "__main__":
    main()
