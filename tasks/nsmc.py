"""NSMC: continue reviews of films in Korean; the open stand-in for the Korean lyrics of F2-Softmax section 4.1.1.

Source: https://github.com/e9t/nsmc (CC0 1.0). One instance is a film with its reviews, here as JSON:

    {"movie_id": "7", "reviews": [{"rating": 9, "review": "등대 장면이 좋았어요"}, {"rating": 3, "review": "졸렸다"}]}

Its text has a review a line and an empty line at the end. As in the paper, a model learns blocks of consecutive tokens
and is evaluated on blocks of the whole split, and on stretches of 150 tokens, of which it is given 50. A word is what
stands between spaces (eojeol).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from bench.base.options import Positive
from bench.tasks.core.example import Example
from bench.tasks.core.manifest import Split
from bench.tasks.core.stream_recipes import f2_korean, small
from bench.tasks.core.task import Task, TaskInfo
from bench.tasks.encode.stream import Stream
from bench.tasks.fetch.hub_copies import HUB
from bench.tasks.files.nsmc import read_films
from bench.tasks.samples import sample_rows


class NSMC(Task):
    """Films as one running text.

    Read are films, split by file (`train.jsonl`, ...) or, from the publisher's folder `raw`, by a hash of the film's
    number (90/5/5); or the publisher's reviews without films, `ratings_train.txt` and `ratings_test.txt`, where each
    review is a document of its own and 5 % of those for training are for validation. Nobody has published a split by
    film: all films are `own`, fewer `subset`.

    Args:
        prefix: tokens a generation starts from.
        continuation: tokens after them that it is compared with.
        columns: the evaluated text is laid out in so many columns before it is cut. F2-Softmax's code takes 32 times
            the batch size, in which the paper has 16 for lyrics (Table 7).
    """

    name: str = "nsmc"
    ends: ClassVar[bool] = False
    info: ClassVar[TaskInfo] = TaskInfo(
        summary="continue reviews of films, in Korean",
        source="https://github.com/e9t/nsmc",
        licence="CC0 1.0",
        sizes={},
        evaluations=("likelihood", "generation"),
        metrics=("perplexity", "diversity", "frequency_groups"),
        language="ko",
        hub=HUB["nsmc"].repository,
        open_ended=True,
        folders=("korean/nsmc_raw",),
    )
    recipes: ClassVar[Mapping[str, Mapping[str, Any]]] = {"small": small(), "paper": f2_korean()}

    def __init__(self, *, prefix: Positive = 50, continuation: Positive = 100, columns: Positive = 512) -> None:
        super().__init__()
        self.stream = Stream(prefix, continuation, columns)

    def read(self, folder: Path, split: str) -> Split:
        """Read the films or reviews of a split."""
        bad_rows = self.bad_rows(split)
        films = read_films(folder, split, bad_rows, f"get raw/ from {self.info.source}")
        examples = [Example(f"{split}/{film.id}", "", text_of(film.reviews)) for film in films.films]
        return Split(split, examples, films.status, films.origin, (*bad_rows.closed(), *films.left_out))

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
