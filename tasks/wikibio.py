"""Wikibio: write the first sentence of a biography from its infobox (Lebret et al. 2016), as AdaDec section 4.3 does.

Source: https://github.com/DavidGrangier/wikipedia-biography-dataset (CC BY-SA 3.0). One instance, a line of train.box
and one of train.summary, with tabs between tokens:

    name_1:tova name_2:lind image:<none> birth_date_1:1951 occupation_1:glass occupation_2:blower
    tova lind -lrb- born 1951 -rrb- is a swedish glass blower .
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from bench.tasks.core.example import Example
from bench.tasks.core.manifest import Split
from bench.tasks.core.recipes import SMALL, peng
from bench.tasks.core.task import Task, TaskInfo
from bench.tasks.encode.codec import Codec
from bench.tasks.encode.words import word_tokenizer
from bench.tasks.fetch.hub_copies import HUB
from bench.tasks.files.wikibio import Fields, Person, read_people
from bench.tasks.samples import sample_rows


class Wikibio(Task):
    """Infobox to sentence.

    A box is read as `name : tova lind | birth_date : 1951 | occupation : glass blower`: the linear form of Lebret et
    al. is a sequence of words that know their field and place in it, which a plain encoder is told by the words around
    them. Fields without a value are not read. Of a box that is longer than `trainer.max_source`, fields that do not fit
    are left out whole, in the order of the box, and counted.

    AdaDec's embeddings here are fixed vectors of GloVe (A.2). They are no part of the recipe, since they must be
    fetched: `curl -LO https://nlp.stanford.edu/data/glove.840B.300d.zip`, unpack it, and
    `--set backbone.glove=glove.840B.300d.txt`. Key and record hold the hash of the file; without it `bench reproduce`
    says so under the row.
    """

    name: str = "wikibio"
    info: ClassVar[TaskInfo] = TaskInfo(
        summary="write the first sentence of a biography from its infobox",
        source="https://github.com/DavidGrangier/wikipedia-biography-dataset",
        licence="CC BY-SA 3.0",
        sizes={"train": 582659, "valid": 72831, "test": 72831},
        evaluations=("likelihood", "generation"),
        metrics=("perplexity", "overlap", "rouge"),
        hub=HUB["wikibio"].repository,
        folders=("wikipedia-biography-dataset",),
    )
    recipes: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "small": {**SMALL, "trainer.max_source": 160, "trainer.max_target": 48},
        # AdaDec section 4.3 and A.2: words, not BPE, and a softmax of its own. How long a box may be is not given.
        "paper": {
            **peng(
                width=300,
                layers=3,
                vocabulary=50000,
                exemplar_width=50,
                max_source=400,
                max_target=40,
                select="rouge-4",
                methods="seq2seq,attexp,adadec,adadec_attexp",
            ),
            "bilstm:backbone.tokens": "words",
            "bilstm:backbone.tied": False,
        },
    }

    def __init__(self) -> None:
        super().__init__()

    def read(self, folder: Path, split: str) -> Split:
        """Read the published files or the hub's rows; a row's target is its first sentence."""
        bad_rows = self.bad_rows(split)
        path, rows = read_people(folder, split, bad_rows, f"get it from {self.info.source}")
        examples = [_example(split, person) for person in rows]
        return Split(split, examples, self.status_of(split, len(examples)), str(path), bad_rows.closed())

    def sample(self, split: str) -> Sequence[Example]:
        """Generated people."""
        made = []
        for number, row in enumerate(sample_rows("wikibio", split)):
            named = [field.split(" = ") for field in row["fields"]]
            fields = tuple((name.replace(" ", "_"), value) for name, value in named if value)
            made.append(_example(split, Person(number, fields, " ".join(row["sentence"]))))
        return made

    def word_tokenizer(self, vocabulary: int) -> Any:
        """Return a tokenizer of the words as published, between spaces, the most frequent ones of the training text."""
        return word_tokenizer(self.training_texts(), vocabulary, between_spaces=True)

    def source_text(self, example: Example, codec: Codec) -> tuple[str, int]:
        """Linearise the box; fields that do not fit are left out, and counted."""
        parts = linear(example.fields["box"])
        if codec.tokenizer is None:
            return "".join(parts), 0
        kept, room = [], codec.max_source
        for part, ids in zip(parts, codec.ids(parts), strict=True):
            if len(ids) <= room:
                kept.append(part)
                room -= len(ids)
        return "".join(kept).removeprefix(" | "), len(parts) - len(kept)


def linear(box: Fields) -> list[str]:
    """Return the fields as texts to be joined.

    >>> "".join(linear((("name", "tova lind"), ("birth_date", "1951"))))
    'name : tova lind | birth_date : 1951'
    """
    texts = [f"{name} : {value}" for name, value in box]
    return texts[:1] + [f" | {text}" for text in texts[1:]]


def _example(split: str, person: Person) -> Example:
    return Example(f"{split}/{person.number}", "", person.sentence, (person.sentence,), {"box": person.fields})
