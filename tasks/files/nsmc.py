"""NSMC files: films with their reviews, from JSON lines, the publisher's folder or the publisher's tables."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from bench.errors import DataError, MissingError
from bench.tasks.core.held_out import held_out, place
from bench.tasks.core.pieces import is_blank
from bench.tasks.files.bad_rows import BadRow, BadRows
from bench.tasks.files.expected_files import find
from bench.tasks.files.lines import LONGEST_LINE, decoded, lines, unpacked
from bench.tasks.files.published import split_files
from bench.tasks.files.records import read_records

__all__ = ["Films", "read_films"]

N_FILMS = 14_730
"""Films of the publisher's folder `raw`."""

N_REVIEWS = {"train": 150_000, "test": 50_000}
"""Reviews of the publisher's tables."""

RAW = re.compile(r"\d+\.json(?:\.gz)?")
HEADER = ["id", "document", "label"]


class Film(NamedTuple):
    """A film, or one review without its film: where it stands, its id, what decides its split, and its reviews."""

    file: Path
    row: str
    id: str
    place: str
    reviews: tuple[str, ...]


@dataclass(frozen=True)
class Films:
    """The films of a split, their status, where they are from, and what has no word, as (file, row, reason)."""

    films: Sequence[Film]
    status: str
    origin: str
    left_out: tuple[tuple[str, str, str], ...] = ()


def read_films(folder: Path, split: str, bad_rows: BadRows, advice: str) -> Films:
    """Read the films of a split.

    Args:
        folder: with `raw/` or its files, with `ratings_train.txt` and `ratings_test.txt`, or with `train.jsonl` and the
            like, whose rows have `movie_id` and `reviews`, or `id` and `document` as on the hub.
        split: `train`, `valid` or `test`. Where there is no file for validation, it takes 5 % of the training rows.
        bad_rows: told about rows that cannot be used.
        advice: where to get them.

    Raises:
        MissingError: files are not there.
        DataError: a row may not be skipped, or there are too few rows for all splits.
    """
    if raw_files := _raw_files(folder):
        return _worded(_raw(folder, raw_files, split, bad_rows))
    tables = find(folder, ["ratings_train.txt"]) is not None
    files_of, read = _record_files, _records
    if tables:
        files_of, read = _rating_files, _ratings
    by_split = {name: files_of(folder, name, advice) for name in ("train", "valid", "test")}
    shares = split != "test" and not by_split["valid"]
    files = by_split["train"] if shares else by_split[split]
    if not files:
        raise MissingError(f"{folder}: has no file for the {split} split; {advice}")
    if shares:
        if split != "train":
            bad_rows = BadRows("train", bad_rows.policy)
        films = _share(list(read(files, bad_rows)), ["valid"], split, files[0])
        return _worded(Films(films, "subset", f"{files[0]}; valid held out"))
    films = list(read(files, bad_rows))
    status = "subset"
    if tables and len(films) == N_REVIEWS.get(split):
        status = "official"
    return _worded(Films(films, status, str(files[0])))


def _worded(films: Films) -> Films:
    """Leave out films without a word, by rule."""
    kept: list[Film] = []
    left_out: list[tuple[str, str, str]] = []
    for film in films.films:
        if not all(map(is_blank, film.reviews)):
            kept.append(film)
        else:
            left_out.append((film.file.name, film.row, "has no word"))
    return replace(films, films=kept, left_out=tuple(left_out))


def _share(films: Sequence[Film], splits: Sequence[str], split: str, path: Path) -> list[Film]:
    chosen = held_out([place(film.place) for film in films], splits)
    if chosen is None:
        raise DataError(
            f"{path}: expected more than {len(splits)} different rows, to hold out one for "
            f"{' and one for '.join(splits)}; found {len(films)}"
        )
    return [film for number, film in enumerate(films) if chosen.get(number, "train") == split]


# The publisher's folder -------------------------------------------------------------------------------------------


def _raw_files(folder: Path) -> list[Path]:
    if (folder / "raw").is_dir():
        folder = folder / "raw"
    return sorted(path for path in folder.glob("*.json*") if RAW.fullmatch(path.name))


def _raw(folder: Path, files: Sequence[Path], split: str, bad_rows: BadRows) -> Films:
    """Read one file a film; its name is the film's number."""
    films = []
    for path in files:
        number = path.name.split(".")[0]
        films.append(Film(path, "the whole file", number, number, ()))
    films = _share(films, ["valid", "test"], split, folder)
    read: list[Film] = []
    for film in films:
        try:
            read.append(film._replace(reviews=_reviews(_json(film.file))))
        except BadRow as problem:
            bad_rows.add(film.file, film.row, str(problem))
    status = "subset"
    if len(files) == N_FILMS:
        status = "own"
    return Films(read, status, f"{files[0].parent}, split by film")


def _json(path: Path) -> Any:
    try:
        with unpacked(path) as stream:
            content = stream.read(LONGEST_LINE + 1)
    except (OSError, EOFError, ValueError) as problem:
        raise BadRow(f"cannot be read ({problem!s:.100})") from None
    try:
        return json.loads(decoded(content, LONGEST_LINE, first=True))
    except BadRow:
        raise
    except (ValueError, RecursionError) as problem:
        raise BadRow(f"expected JSON, found: {problem!s:.100}") from None


# Rows -------------------------------------------------------------------------------------------------------------


def _rating_files(folder: Path, split: str, advice: str) -> tuple[Path, ...]:
    """Return the publisher's table of a split, nothing where there is none."""
    path = find(folder, [f"ratings_{split}.txt"])
    return () if path is None else (path,)


def _record_files(folder: Path, split: str, advice: str) -> tuple[Path, ...]:
    """Return the files of a split as JSON lines or parquet; only those of training must be there."""
    try:
        return split_files(folder, split, advice)
    except MissingError:
        if split == "train":
            raise
        return ()


def _records(files: Sequence[Path], bad_rows: BadRows) -> Iterator[Film]:
    """Yield the rows of JSON lines or parquet: a film with its reviews, or a review alone."""
    seen: dict[str, str] = {}
    for path in files:
        for record in read_records(path, bad_rows, columns={}, optional={"film": "movie_id", "id": "id"}):
            film, name = record.texts["film"], record.texts["film"] or record.texts["id"]
            try:
                if "reviews" not in record.values and "document" not in record.values:
                    raise BadRow("expected the fields movie_id and reviews, or id and document")
                review = record.values.get("document") or ""
                texts = _reviews(record.values.get("reviews", [review]))
                _check_name(name, seen)
            except BadRow as problem:
                bad_rows.add(path, record.row, str(problem))
                continue
            seen[name] = record.row
            yield Film(path, record.row, name, film or " ".join(texts), texts)


def _ratings(files: Sequence[Path], bad_rows: BadRows) -> Iterator[Film]:
    """Yield the rows of a table without quoting: id, document and label between tabs."""
    seen: dict[str, str] = {}
    for path in files:
        for number, line in lines(path, bad_rows):
            cells = line.rstrip("\r\n").split("\t")
            if number == 1 and cells == HEADER:
                continue
            try:
                if len(cells) != len(HEADER):
                    raise BadRow(f"expected {', '.join(HEADER)} between tabs, found {len(cells)} cells")
                _check_name(cells[0], seen)
            except BadRow as problem:
                bad_rows.add(path, f"line {number}", str(problem))
                continue
            seen[cells[0]] = f"line {number}"
            yield Film(path, f"line {number}", cells[0], cells[1], (cells[1],))


def _check_name(name: str, seen: Iterable[str]) -> None:
    if not name or len(name) > 100:
        raise BadRow(f"expected an id of 1 to 100 characters, found '{name:.40}'")
    if name in seen:
        raise BadRow(f"has the id '{name}' of a row before it; expected each id once")


def _reviews(reviews: Any) -> tuple[str, ...]:
    """Return the texts of reviews.

    >>> _reviews([{"rating": 9, "review": "좋아요"}, "굿"])
    ('좋아요', '굿')
    """
    expected = "expected a list of reviews, each a text or a record with a text 'review'"
    if not isinstance(reviews, list):
        raise BadRow(f"{expected}, found {repr(reviews):.60}")
    texts: list[str] = []
    for review in reviews:
        text = review
        if isinstance(review, dict):
            text = review.get("review")
        if not isinstance(text, str):
            raise BadRow(f"{expected}, found {repr(review):.60}")
        if bad := re.search("[\0\ud800-\udfff]", text):
            raise BadRow(f"a review has the character {bad[0]!r}, which is no text")
        texts.append(text)
    return tuple(texts)
