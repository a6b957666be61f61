"""NSMC: continue reviews of films in Korean; the open stand-in for the Korean lyrics of F2-Softmax section 4.1.1.

Source: https://github.com/e9t/nsmc (CC0 1.0). One instance is a film with its reviews, here as JSON:

    {"movie_id": "7", "reviews": [{"rating": 9, "review": "등대 장면이 좋았어요"}, {"rating": 3, "review": "졸렸다"}]}

Its text has a review a line and an empty line at the end. As in the paper, a model learns blocks of consecutive tokens
and is evaluated on blocks of the whole split, and on stretches of 150 tokens, of which it is given 50. Words are
separated by spaces (eojeol).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from bench.errors import MissingError
from bench.tasks.core.example import Example
from bench.tasks.core.manifest import Split
from bench.tasks.core.pieces import is_blank
from bench.tasks.core.task import TaskInfo
from bench.tasks.files.lines import BadRow, Checking
from bench.tasks.files.published import split_files
from bench.tasks.files.records import checked_text, read_records
from bench.tasks.files.user_data import place, split_rows
from bench.tasks.lyrics import Lyrics
from bench.tasks.samples import sample_rows


class Film(NamedTuple):
    """A film, or one review without its film.

    Args:
        file: that it is read from.
        row: its place in the file, for messages.
        id: of the film or the review.
        place: the text whose hash decides whether it is held out.
        reviews: texts.
    """

    file: Path
    row: str
    id: str
    place: str
    reviews: Sequence[str]


ADVICE = "bench list --data nsmc --fetch downloads a copy from the hub"


class NSMC(Lyrics):
    """Films as one running text, with the options and settings of `lyrics`.

    Files: `train.jsonl`, `valid.jsonl` and `test.jsonl` (.gz or .parquet too), whose rows have `movie_id` and
    `reviews`, or `id` and `document` as on the hub, where each review is a document of its own. Without a file for
    validation, 5 % of the training rows are held out for it. Nobody has published a split by film.
    """

    name: str = "nsmc"
    info: ClassVar[TaskInfo] = replace(
        Lyrics.info,
        source="https://huggingface.co/datasets/e9t/nsmc",
        licence="CC0 1.0",
        sizes={},
        folders=("korean/nsmc_raw",),
    )

    def read(self, folder: Path, split: str) -> Split:
        """Read the films or reviews of a split; what has no word is left out by rule."""
        by_split = {name: self._files(folder, name) for name in ("train", "valid", "test")}
        files = {name: found for name, found in by_split.items() if found or name != "valid"}
        if not files.get(split, files["train"]):
            raise MissingError(f"{folder}: has no file for the {split} split; {ADVICE}")
        rows, origin = split_rows(files, split, _films, lambda film: place(film.place))
        examples, left_out = [], []
        for film in self.counted(rows):
            if all(map(is_blank, film.reviews)):
                left_out.append((film.file.name, film.row, "has no word"))
            else:
                examples.append(Example(f"{split}/{film.id}", "", text_of(film.reviews)))
        return Split(split, examples, "subset", origin, tuple(left_out))

    def _files(self, folder: Path, split: str) -> Sequence[Path]:
        """Return the files of a split; only those of training must be there."""
        try:
            return split_files(folder, split, ADVICE)
        except MissingError:
            if split == "train":
                raise
            return ()

    def sample(self, split: str) -> Sequence[Example]:
        """Generated reviews of films there are not."""
        made = []
        for film in sample_rows("nsmc", split):
            reviews = [" ".join(review) for review in film["reviews"]]
            made.append(Example(f"{split}/{film['id']}", "", text_of(reviews)))
        return made


def text_of(lines: Sequence[str]) -> str:
    r"""Return the text of a document: one line each, an empty one at the end; no review is an empty line.

    >>> text_of(["좋았어요 ", "", "두 번  봤다\n"])
    '좋았어요\n두 번  봤다\n\n'
    """
    kept = [" ".join(line.splitlines()).strip() for line in lines]
    return "".join(f"{line}\n" for line in kept if line) + "\n"


def _films(files: Sequence[Path]) -> Iterator[Film]:
    """Yield the rows of JSON lines or parquet: a film with its reviews, or a review alone."""
    seen: set[str] = set()
    for record in read_records(files, columns={}, optional={"film": "movie_id", "id": "id"}):
        film, name = record.texts["film"], record.texts["film"] or record.texts["id"]
        with Checking(record.file, record.row):
            if "reviews" not in record.values and "document" not in record.values:
                raise BadRow("expected the fields movie_id and reviews, or id and document")
            texts = _reviews(record.values.get("reviews", [record.values.get("document") or ""]))
            if not name or len(name) > 100:
                raise BadRow(f"expected an id of 1 to 100 characters, found '{name:.40}'")
            if name in seen:
                raise BadRow(f"has the id '{name}' of a row before it; expected each id once")
            seen.add(name)
            yield Film(record.file, record.row, name, film or " ".join(texts), texts)


def _reviews(reviews: Any) -> Sequence[str]:
    """Return the texts of reviews.

    >>> _reviews([{"rating": 9, "review": "좋아요"}, "굿"])
    ['좋아요', '굿']
    """
    if not isinstance(reviews, list):
        raise BadRow(f"expected a list of reviews, found {repr(reviews):.60}")
    texts = [review.get("review") if isinstance(review, dict) else review for review in reviews]
    return [checked_text(text, "review", may_be_empty=True) for text in texts]
