"""Text: your own text, plain or jsonl, for open-ended generation: a passage is learned, a prompt is continued.

`bench run --task text --set task.path=my.txt`. One instance, cut from a line of a file; the loss is on all of it, and
generation continues its first words. `--set task.hub=owner/name task.field=text` reads a data set of the hub:

    prompt "In the beginning God created the heaven and the earth.", and then "And the earth was without form, ..."
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple

from bench.base.options import Positive
from bench.errors import DataError, UsageError
from bench.tasks.core.example import Example
from bench.tasks.core.manifest import Split
from bench.tasks.core.pieces import is_blank, longest_word, pieces
from bench.tasks.core.recipes import F2_ENGLISH, SMALL_OPEN_ENDED
from bench.tasks.core.task import Task, TaskInfo
from bench.tasks.fetch.data_sets import DataSet, commit_of
from bench.tasks.files.lines import lines
from bench.tasks.files.records import read_records
from bench.tasks.files.user_data import LOCATIONS, UserData, check_user_data, place, split_rows
from bench.tasks.samples import sample_rows

LEAST_REST = 8
"""Words after the prompt that an evaluated passage has at least."""


TEXTS = (".txt", ".jsonl")
"""Forms of running text; each may end with .gz too."""
RECORDS = re.compile(r"\.(?:(?:jsonl|ndjson|json|csv|tsv)(?:\.gz)?|parquet)$", re.IGNORECASE)
Unit = Literal["line", "blank_line", "file"]


class Document(NamedTuple):
    """One document: its file, its place in the file, and its text, in which any white space separates words."""

    file: Path
    row: str
    text: str


class Text(Task):
    """Passages of running text: consecutive words of one document.

    Documents are cut by words, so that rows do not depend on a tokenizer. White space, line breaks among it, becomes
    one space. A row's id is `split/document/passage`, counted from 0 in the order of the files. The end of a document
    is a row if it has a prompt and 8 words more, else it is left out and counted. A document shorter than that is a
    row for training only. Text in a script without spaces needs words separated beforehand.

    Args:
        path: a text file; or a folder with a file for each split, such as `train.txt`, `valid.jsonl`, `test.txt.gz` or
            `kjv.train.txt.gz`; or a folder of files that together are one text. Documents are held out from the
            training text, 5 % of them for each split that has no file, by a hash of their words. Empty: the folder
            `text` of the data folder, else the built-in sample.
        field: which field of a jsonl record, or column of a csv or tsv file or a data set, holds a document.
        document: what is a document in plain text: a line, lines up to a blank one, or a file.
        words: longest passage, in words.
        prompt_words: words of the prompt that generation starts from; the rest of a passage is its true continuation.
        valid_path, test_path, hub, config, revision, train_split, valid_split, test_split, title: as of `Pairs`.
    """

    name: str = "text"
    user_data: UserData
    ends: ClassVar[bool] = False  # a passage stops in the middle of a text: there is no end to learn
    places: ClassVar[frozenset[str]] = LOCATIONS
    info: ClassVar[TaskInfo] = TaskInfo(
        source="",
        licence="your own",
        sizes={},
        evaluations=("likelihood", "generation"),
        metrics=("perplexity", "diversity", "frequency_groups", "ngram_diversity", "mauve", "cache_hits"),
        open_ended=True,
        folders=("lm_text",),
    )
    recipes: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "small": {  # 96 words of English are about 125 tokens of a BPE of 4,000
            **SMALL_OPEN_ENDED,
            "decode": "topk=3+max_new_tokens=64",
            "backbone.vocabulary": 4000,
            "trainer.steps": 300,
            "trainer.max_target": 320,
            "evaluation.rows": 480,
        },
        # 700 words are about 820 tokens of a BPE of 30,000; prompt and target stay below the 1,024 positions.
        "paper": {**F2_ENGLISH, "task.words": 700, "task.prompt_words": 40, "trainer.max_target": 920},
    }

    def __init__(
        self,
        *,
        path: str = "",
        valid_path: str = "",
        test_path: str = "",
        field: str = "text",
        document: Unit = "line",
        words: int = 96,
        prompt_words: Positive = 24,
        hub: str = "",
        config: str = "",
        revision: str = "",
        train_split: str = "",
        valid_split: str = "",
        test_split: str = "",
        title: str = "",
    ) -> None:
        super().__init__()
        data_set = DataSet(hub, config, revision) if hub else None
        splits = {"train": train_split, "valid": valid_split, "test": test_split}
        self.user_data = UserData(TEXTS, path, valid_path, test_path, data_set, splits)
        self.field, self.document, self.title = field, document, title
        self.words, self.prompt_words = words, prompt_words

    @classmethod
    def check_options(cls, options: Mapping[str, Any]) -> None:
        """Refuse passages that are too short, and locations that contradict each other."""
        words, prompt_words = options["words"], options["prompt_words"]
        if words < prompt_words + LEAST_REST:
            raise UsageError(
                f"task.words must be at least {LEAST_REST} more than task.prompt_words, not {words} and {prompt_words}"
            )
        check_user_data(options)

    @property
    def least(self) -> int:
        """Fewest words of an evaluated passage."""
        return self.prompt_words + LEAST_REST

    def cluster_of(self, name: str) -> str:
        """Return the document."""
        return name.rpartition("/")[0]

    def read(self, folder: Path, split: str) -> Split:
        """Read the documents of a split and cut them into passages; `folder` is the file itself where there is one."""
        remedy = (
            f" of {self.least} words or more; set task.document (line, blank_line or file), task.prompt_words, or "
            "task.valid_path and task.test_path"
        )

        def read(files: Sequence[Path]) -> Iterable[tuple[int, Document]]:
            return enumerate(self.counted(read_documents(files, self.field, self.document)))

        def place_of(numbered: tuple[int, Document]) -> float | None:
            text = numbered[1].text
            return place(text) if len(text.split(maxsplit=self.least)) >= self.least else None

        documents, origin = split_rows(self.user_data.files(folder), split, read, place_of, remedy)
        examples, short = self.rows(documents, split)
        if not examples:
            raise DataError(
                f"{origin}: the {split} split has no document of {self.least} words, {self.prompt_words} for a prompt "
                f"and {LEAST_REST} more; set task.prompt_words, or task.document (line, blank_line or file)"
            )
        return Split(split, examples, "own", origin, short, commit_of(folder))

    def sample(self, split: str) -> Sequence[Example]:
        """Generated tales."""
        texts = [" ".join(row["text"]) for row in sample_rows("text", split)]
        tales = (Document(Path("sample"), f"tale {number}", text) for number, text in enumerate(texts))
        return self.rows(enumerate(tales), split)[0]

    def rows(
        self, documents: Iterable[tuple[int, Document]], split: str
    ) -> tuple[list[Example], tuple[tuple[str, str, str], ...]]:
        """Cut numbered documents into passages: the rows, and what is too short to be one as (file, row, reason)."""
        examples: list[Example] = []
        skipped: list[tuple[str, str, str]] = []
        for number, document in documents:
            at = -1
            for at, passage in enumerate(pieces(document.text, self.words)):
                if longest := longest_word(passage):  # a BPE would learn from it for hours
                    raise DataError(
                        f"{document.file}, {document.row}: has {longest:,} characters without a space; expected text "
                        "with spaces between words"
                    )
                if is_blank(passage):
                    skipped.append((document.file.name, f"{document.row}, passage {at}", "an empty text"))
                    continue
                n_words = passage.count(" ") + 1
                if n_words >= self.least or (split == "train" and at == 0):
                    examples.append(Example(f"{split}/{number}/{at}", "", passage))
                else:
                    reason = f"{n_words} words are too few for a row; it needs {self.least}"
                    skipped.append((document.file.name, f"{document.row}, passage {at}", reason))
            if at < 0:
                skipped.append((document.file.name, document.row, "an empty text"))
        return examples, tuple(skipped)

    def prompt_and_rest(self, example: Example) -> tuple[str, str]:
        """Return what generation starts from and the true continuation, without the space between them.

        >>> Text(prompt_words=2, words=10).prompt_and_rest(Example("train/0/0", "", "to be or not to be"))
        ('to be', 'or not to be')
        """
        words = example.target.split(" ")
        return " ".join(words[: self.prompt_words]), " ".join(words[self.prompt_words :])


def read_documents(files: Sequence[Path], field: str = "text", unit: Unit = "line") -> Iterator[Document]:
    """Read documents one after another, in the order of the files; at most one is in memory.

    Args:
        files: plain text, jsonl, csv, tsv or parquet (by name), UTF-8, packed with gzip or not (by content); or the
            folder of a split of a saved data set.
        field: which field of a record holds its text; a record is always one document.
        unit: what is a document in plain text: a line that is not blank, lines up to a blank one, or a whole file.

    Raises:
        MissingError: a file cannot be opened.
        DataError: a file cannot be read as text; the message names file and line.
    """
    empty = True
    for path in files:
        if path.is_dir() or RECORDS.search(path.name):
            records = read_records(path, columns={"text": field}, options={"text": "task.field"}, may_be_empty=True)
            documents: Iterable[Document] = (Document(path, record.row, record.texts["text"]) for record in records)
        else:
            documents = _plain(path, unit)
        for document in documents:
            empty = False
            yield document
    if empty:
        raise DataError(f"{files[0] if len(files) == 1 else files[0].parent}: expected text, found none")


def _plain(path: Path, unit: Unit) -> Iterator[Document]:
    """Join lines where a document has several; a blank one ends a document for `blank_line`."""
    held: list[str] = []
    first = 0
    for number, line in lines(path):
        blank = is_blank(line)
        if unit == "line" and not blank:
            yield Document(path, f"line {number}", line)
        elif unit == "blank_line" and blank and held:
            yield Document(path, f"line {first}", "".join(held))
            held = []
        elif unit != "line" and not blank:
            if not held:
                first = number
            held.append(line)
    if held:
        yield Document(path, f"line {first}", "".join(held))
