"""Lyrics files: songs as text, or as the token ids of the authors' encoder with its vocabulary.

Nobody but the authors has Melo-Lyrics. What their indexed form is can be read from code that calls itself F2-Softmax
and is the first commit of a later repository (FadedCosine/POS-Guided-Neural-Text-Generation, 211c53a): its settings,
`config/text_generation/files.yaml`, names `train/lyrics.pkl`, `test/lyrics.pkl` and a vocabulary `encoder.json`, and
`util/batch_generator.py` reads a pandas table with the columns `texts`, the token ids of a song, and `lens`, how many
they are. Ids may have been replaced by ranks of frequency, with a table from id to rank (`indexer/indexing.py`). A
pickle runs what its writer wants, so it is not read here; its table is, as JSON lines or parquet:

    python -c "import pandas; pandas.read_pickle('lyrics.pkl').to_json('train.jsonl', orient='records', lines=True)"

Guessed are: that `encoder.json` has the bytes of GPT-2 or the `▁` of SentencePiece, that a tab ends a line, and that
ids have no mark at the ends of a song. The files are below a folder `bugs`, another Korean music service than the paper
names.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from bench.errors import DataError, MissingError
from bench.tasks.core.pieces import is_blank
from bench.tasks.files.bad_rows import BadRow, BadRows
from bench.tasks.files.expected_files import find
from bench.tasks.files.lines import LONGEST_LINE, decoded, lines, unpacked
from bench.tasks.files.published import NAMES, split_files
from bench.tasks.files.records import read_all

__all__ = ["read_songs"]

BREAK = "\t"
"""What the authors' encoder has for the end of a line (`clean_line` of `indexer/encoder.py`)."""

Decode = Callable[[Sequence[int]], str]


class Song(NamedTuple):
    """A song: its number from 0, and its text."""

    number: int
    text: str


def read_songs(folder: Path, split: str, bad_rows: BadRows, advice: str) -> tuple[Path, Iterator[Song]]:
    """Return the file of a split and its songs.

    Args:
        folder: with `train.txt`, a song a line in which a tab ends a line of the song; or `train.jsonl` or parquet with
            `text`; or the same with `texts` and perhaps `lens`, beside `encoder.json` and perhaps `ranks.json`.
        split: `train`, `valid` or `test`.
        bad_rows: told about rows that cannot be used.
        advice: where to get them.

    Raises:
        MissingError: files are not there.
        DataError: a row may not be skipped, or the vocabulary is none.
    """
    if path := find(folder, [f"{name}.txt" for name in NAMES[split]]):
        return path, (Song(n - 1, text.replace(BREAK, "\n")) for n, text in lines(path, bad_rows) if not is_blank(text))
    _refuse_pickle(folder, split)
    files = split_files(folder, split, advice)
    return files[0], _records(files, bad_rows, partial(_decoder, folder))


def _refuse_pickle(folder: Path, split: str) -> None:
    """Say how to convert a split that is there as a pickle and in no other form."""
    pickles, tables = [], []
    for name in NAMES[split]:
        pickles += [f"{name}.pkl", f"{name}/lyrics.pkl"]
        tables += [f"{name}.jsonl", f"{name}.parquet"]
    pickled = find(folder, pickles)
    if pickled and not find(folder, tables):
        table = f"{folder / split}.jsonl"
        raise MissingError(
            f'{pickled}: a pickle can run anything and is not read; expected its table as {table}: python -c "import '
            f"pandas; pandas.read_pickle('{pickled}').to_json('{table}', orient='records', lines=True)\""
        )


def _decoder(folder: Path) -> Decode:
    """Return how token ids become text.

    Args:
        folder: with `encoder.json`, token to id, and, where ids were replaced by ranks, `ranks.json`, id to rank.

    Raises:
        MissingError: there is no vocabulary.
        DataError: it is none.
    """
    path = find(folder, ["encoder.json", "vocab.json"])
    if path is None:
        raise MissingError(f"{folder}: has token ids, and no encoder.json that says which tokens they are")
    vocabulary = _ids(path)
    if ranks := find(folder, ["ranks.json"]):
        old_to_new = _ids(ranks)
        vocabulary = {token: old_to_new[str(id)] for token, id in vocabulary.items() if str(id) in old_to_new}
    tokens = {id: token for token, id in vocabulary.items()}
    join = _join(tokens.values())

    def decode(ids: Sequence[int]) -> str:
        unknown = [id for id in ids if id not in tokens]
        if unknown:
            raise BadRow(f"has the token id {unknown[0]}, which {path.name} does not have")
        return join([tokens[id] for id in ids]).replace(BREAK, "\n")

    return decode


def _join(vocabulary: Iterable[str]) -> Callable[[list[str]], str]:
    """Return how tokens of a vocabulary are joined; a mark of SentencePiece says that it has no bytes."""
    from tokenizers import decoders

    if any(token.startswith("▁") for token in vocabulary):
        return lambda tokens: "".join(tokens).replace("▁", " ").removeprefix(" ")
    return decoders.ByteLevel().decode


def _ids(path: Path) -> dict[str, int]:
    """Read a table of whole numbers by text, each number once."""
    try:
        with unpacked(path) as stream:
            table = json.loads(decoded(stream.read(LONGEST_LINE + 1), LONGEST_LINE, first=True))
    except (OSError, EOFError, ValueError, RecursionError) as problem:
        raise DataError(f"{path}: expected JSON with numbers by text, found: {problem!s:.150}") from None
    if not isinstance(table, dict) or not _all_different_numbers(list(table.values())):
        raise DataError(f'{path}: expected JSON with a whole number for each text, each once, as in {{"the": 5}}')
    return table


def _all_different_numbers(values: Sequence[Any]) -> bool:
    return all(type(value) is int and value >= 0 for value in values) and len(set(values)) == len(values)


def _records(files: Sequence[Path], bad_rows: BadRows, decoder: Callable[[], Decode]) -> Iterator[Song]:
    """Songs as `text` or as `texts`; the vocabulary is read when the first ids come."""
    decode: Decode | None = None
    for path, number, record in read_all(files, bad_rows, columns={}):
        try:
            if "texts" in record.values:
                decode = decode or decoder()
                text = decode(_checked_ids(record.values))
            else:
                text = _checked_text(record.values)
            if is_blank(text):
                raise BadRow("has no word; expected a song")
        except BadRow as problem:
            bad_rows.add(path, record.row, str(problem))
            continue
        yield Song(number, text)


def _checked_ids(values: Mapping[str, Any]) -> Sequence[int]:
    ids, length = values["texts"], values.get("lens")
    if not isinstance(ids, list) or not all(type(id) is int for id in ids):
        raise BadRow(f"expected a list of token ids in the field 'texts', found {repr(ids):.60}")
    if length is not None and length != len(ids):
        raise BadRow(f"has {len(ids)} token ids in 'texts' and says {length!r:.20} in 'lens'")
    return ids


def _checked_text(values: Mapping[str, Any]) -> str:
    text = values.get("text")
    if not isinstance(text, str):
        raise BadRow(f"expected a text in the field 'text', or token ids in 'texts', found {repr(text):.60}")
    if any(character == "\0" or "\ud800" <= character <= "\udfff" for character in text):
        raise BadRow("the field 'text' has a character that is no text")
    return text
