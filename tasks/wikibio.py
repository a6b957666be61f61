"""Wikibio: write the first sentence of a biography from its infobox (Lebret et al. 2016), as AdaDec section 4.3 does.

Source: https://github.com/DavidGrangier/wikipedia-biography-dataset (CC BY-SA 3.0). One instance, a line of train.box
and one of train.summary, with tabs between tokens:

    name_1:tova name_2:lind image:<none> birth_date_1:1951 occupation_1:glass occupation_2:blower
    tova lind -lrb- born 1951 -rrb- is a swedish glass blower .
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from bench.tasks.core.example import Example
from bench.tasks.core.manifest import Split
from bench.tasks.core.pieces import is_blank
from bench.tasks.core.recipes import PENG, SMALL
from bench.tasks.core.task import Task, TaskInfo
from bench.tasks.encode.codec import Codec
from bench.tasks.encode.tokenizers import word_tokenizer
from bench.tasks.files.expected_files import find, needed
from bench.tasks.files.lines import BadRow, Checking, aligned
from bench.tasks.files.published import split_files
from bench.tasks.files.records import read_records
from bench.tasks.samples import sample_rows

EMPTY = "<none>"
"""What a field without a value has."""
Fields = tuple[tuple[str, str], ...]


class Wikibio(Task):
    """Infobox to sentence.

    A box is read as `name : tova lind | birth_date : 1951 | occupation : glass blower`: the linear form of Lebret et
    al. is a sequence of words, each with its field and its place in the field, which a plain encoder reads from the
    words around them. Fields without a value are not read. Of a box that is longer than `trainer.max_source`, fields
    that do not fit are left out whole, in the order of the box, and counted.

    AdaDec's embeddings here are fixed vectors of GloVe (A.2). They are no part of the recipe, since they must be
    fetched: `curl -LO https://nlp.stanford.edu/data/glove.840B.300d.zip`, unpack it, and
    `--set backbone.glove=glove.840B.300d.txt`. Key and record hold the hash of the file; without it `bench reproduce`
    says so under the row.
    """

    name: str = "wikibio"
    info: ClassVar[TaskInfo] = TaskInfo(
        source="https://huggingface.co/datasets/michaelauli/wiki_bio",
        licence="CC BY-SA 3.0",
        sizes={"train": 582659, "valid": 72831, "test": 72831},
        evaluations=("likelihood", "generation"),
        metrics=("perplexity", "overlap", "rouge"),
    )
    recipes: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "small": {**SMALL, "trainer.max_source": 160, "trainer.max_target": 48},
        # AdaDec section 4.3 and A.2: words, not BPE, and a softmax of its own. How long a box may be is not given.
        "paper": {
            **PENG,
            "methods": "seq2seq,attexp,adadec,adadec_attexp",
            "backbone.vocabulary": 50_000,
            "bilstm:backbone.width": 300,
            "bilstm:backbone.layers": 3,
            "bilstm:backbone.exemplar_width": 50,
            "trainer.select": "rouge-4",
            "trainer.max_source": 400,
            "trainer.max_target": 40,
            "bilstm:backbone.tokens": "words",
            "bilstm:backbone.tied": False,
        },
    }

    def read(self, folder: Path, split: str) -> Split:
        """Read boxes and first sentences, or the hub's rows; a row's target is its first sentence."""
        advice = "bench list --data wikibio --fetch downloads a copy from the hub"
        if boxes := find(folder, [f"{split}.box"]):
            path, rows = boxes, _from_lines(boxes, needed(folder, [f"{split}.summary"], advice), split)
        else:
            files = split_files(folder, split, f"or {split}.box and {split}.summary; {advice}")
            path, rows = files[0], _from_records(files, split)
        examples = list(self.counted(rows, split))
        return Split(split, examples, self.status_of(split, len(examples)), str(path))

    def sample(self, split: str) -> Sequence[Example]:
        """Generated people."""
        made = []
        for number, row in enumerate(sample_rows("wikibio", split)):
            named = [field.split(" = ") for field in row["fields"]]
            fields = tuple((name.replace(" ", "_"), value) for name, value in named if value)
            made.append(_example(split, number, fields, " ".join(row["sentence"])))
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


def _example(split: str, number: int, box: Fields, sentence: str) -> Example:
    return Example(f"{split}/{number}", "", sentence, (sentence,), {"box": box})


def fields_of(box: str) -> Fields:
    r"""Join the tokens of a published box to fields, in the order of their first tokens.

    Raises:
        BadRow: a token has no field.

    >>> fields_of("name_1:tova\tname_2:lind\timage:<none>\thome_page_1:http://x")
    (('name', 'tova lind'), ('home_page', 'http://x'))
    """
    words: dict[str, list[str]] = {}
    for token in filter(None, box.split("\t")):
        place, colon, word = token.partition(":")
        name, _, position = place.rpartition("_")
        if not colon or not place.strip():
            raise BadRow(f"expected field_1:word between tabs, found '{token:.60}'")
        if word.strip() not in ("", EMPTY):
            if not name or not position.isdecimal():  # no number: the field has one word
                name = place
            words.setdefault(name, []).append(word.strip())
    return tuple((name, " ".join(texts)) for name, texts in words.items())


def _from_lines(boxes: Path, sentences: Path, split: str) -> Iterator[Example]:
    """Yield the rows of files that go together line by line."""
    for number, box, sentence in aligned(boxes, sentences):
        with Checking(boxes, f"line {number}"):
            yield _example(split, number - 1, fields_of(box), " ".join(sentence.split()))


def _from_records(files: Sequence[Path], split: str) -> Iterator[Example]:
    """Yield rows with a record `input_text` that has a `table`, and all sentences of `target_text`, one a line."""
    for record in read_records(files, columns={"text": "target_text"}):
        with Checking(record.file, record.row):
            sentences = [line for line in record.texts["text"].splitlines() if not is_blank(line)]
            yield _example(split, record.number, _table(record.values), " ".join(sentences[0].split()))


def _table(values: Mapping[str, Any]) -> Fields:
    """Return the fields of a hub row.

    >>> _table({"input_text": {"table": {"column_header": ["name", "image"], "content": ["tova lind", "<none>"]}}})
    (('name', 'tova lind'),)
    """
    match values.get("input_text"):
        case {"table": {"column_header": list(names), "content": list(texts)}} if len(names) == len(texts) and all(
            isinstance(text, str) for text in (*names, *texts)
        ):
            cells = [(name.strip(), " ".join(text.split())) for name, text in zip(names, texts, strict=True)]
            return tuple((name, text) for name, text in cells if name and text not in ("", EMPTY))
        case _:
            raise BadRow("expected input_text.table with column_header and content, two lists of texts, equally long")
