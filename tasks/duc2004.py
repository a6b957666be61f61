"""DUC-2004, task 1: write a headline of at most 75 bytes, trained on Gigaword (Over et al. 2007; Rush et al. 2015).

Source: https://duc.nist.gov/duc2004/ (on request). One instance, in the form it is passed around in and in our own
words; four people have written a headline each:

    {"id": "APW19980000.0001", "text": "A bridge in Orrin will stay closed until March 12, engineers said on Friday.",
     "summaries": ["Cracks keep Orrin bridge closed", "Bridge closed until March", ..., ...]}

A model trained on Gigaword reads "a bridge in orrin will stay closed until march ## , engineers said on friday .".
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from bench.errors import DataError, MissingError
from bench.tasks.core.example import Example
from bench.tasks.core.manifest import Split
from bench.tasks.core.mapped_examples import held
from bench.tasks.core.pieces import is_blank
from bench.tasks.core.recipes import SMALL
from bench.tasks.core.task import Task, TaskInfo
from bench.tasks.files.expected_files import find
from bench.tasks.files.gigaword_form import gigaword_form, one_unknown
from bench.tasks.files.lines import aligned
from bench.tasks.files.published import NAMES
from bench.tasks.files.records import read_records
from bench.tasks.gigaword import ADVICE, PAPER, SIZES, read_pairs, sample_pairs, split_pair
from bench.tasks.samples import sample_rows

REFERENCES = 4
PLACES = (".", "duc2004", "DUC2004", "sumdata/DUC2004")


class Duc2004(Task):
    """First sentence to a headline of 75 bytes.

    Training and validation rows are Gigaword's. Test: `duc2004.jsonl`, or `input.txt` and `task1_ref0.txt` to
    `task1_ref3.txt`. What is read is written as Gigaword writes it (`bench.tasks.files.gigaword_form`); the
    references stay as they are, so a `#` matches no digit of theirs, and are scored by recall of the first 75 bytes.

    Some articles are in two of the 50 clusters, with other references each time, so a row is named by its place too.
    """

    name: str = "duc2004"
    sources_repeat: bool = True
    info: ClassVar[TaskInfo] = TaskInfo(
        source="https://duc.nist.gov/duc2004/",
        licence="NIST, on request; training text LDC2012T21",
        sizes={**SIZES, "test": 500},
        evaluations=("likelihood", "generation"),
        metrics=("rouge_recall", "rouge", "perplexity"),
        folders=("gigaword/duc2004", "gigaword"),
    )
    recipes: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "small": {**SMALL, "trainer.steps": 300, "trainer.max_source": 100, "trainer.max_target": 24},
        "paper": PAPER,
    }

    def read(self, folder: Path, split: str) -> Split:
        """Read the test split below the folder, the others from Gigaword's folder."""
        rows, origin = read_test(folder) if split == "test" else read_gigaword(folder, split)
        examples = held(self.counted(rows, split))
        return Split(split, examples, self.status_of(split, len(examples)), origin)

    def sample(self, split: str) -> Sequence[Example]:
        """Generated articles about invented events; those of the test split have four headlines."""
        if split != "test":
            return sample_pairs(split)
        made = []
        for article in sample_rows("news", split):
            headlines = article["headlines"]
            made.append(Example(article["id"], gigaword_form(article["body"][0]), headlines[0], headlines))
        return made


def read_gigaword(folder: Path, split: str) -> tuple[Iterator[Example], str]:
    """Read Gigaword's rows of a split from the task's folder, one in it, or one next to it.

    Raises:
        MissingError: the split is in none of them.
        DataError: a row cannot be used.
    """
    places = [folder, folder / "gigaword", folder.parent / "gigaword"]
    if folder.parent.name == "gigaword":
        places.append(folder.parent)
    hub = [f"{stem}{end}" for stem in NAMES[split] for end in (".jsonl", ".parquet", "-*-of-*.parquet")]
    for place in places:
        if split_pair(place, split) is not None or find(place, hub) is not None:
            return read_pairs(place, split)
    raise MissingError(
        f"DUC-2004 is trained on Gigaword, whose {split} split is not in {folder} or {places[2]}; {ADVICE}"
    )


def read_test(folder: Path) -> tuple[Iterator[Example], str]:
    """Read sentences and their four headlines; return the rows and the file they are from.

    Raises:
        MissingError: there is no file of it.
        DataError: a row cannot be used; the message names file and row.
    """
    path = find(folder, [f"{place}/duc2004.jsonl" for place in PLACES])
    if path is not None:
        return _from_records(path), str(path)
    for place in PLACES:
        sentences = find(folder, [f"{place}/input.txt"])
        headlines = [find(folder, [f"{place}/task1_ref{at}.txt"]) for at in range(REFERENCES)]
        there = [file for file in headlines if file is not None]
        if sentences is not None and len(there) == REFERENCES:
            return _from_lines(sentences, there), str(sentences)
    raise MissingError(
        f"{folder}: expected duc2004.jsonl, or input.txt and task1_ref0.txt to task1_ref3.txt (.gz too), found none; "
        "ask NIST for it (https://duc.nist.gov/data.html)"
    )


def _from_records(path: Path) -> Iterator[Example]:
    """Yield the rows of one file: an id, a sentence and its headlines."""
    for record in read_records(path, columns={"id": "id", "text": "text"}):
        titles = record.values.get("summaries")
        if not (
            isinstance(titles, list)
            and len(titles) == REFERENCES
            and all(isinstance(title, str) and not is_blank(title) for title in titles)
        ):
            reason = f"expected {REFERENCES} texts in the field 'summaries', found {titles!r:.80}"
            raise DataError(f"{path}, {record.row}: {reason}")
        name = record.texts["id"].strip()
        yield _example(f"{record.number:03d}/{name}", record.texts["text"], titles)


def _from_lines(sentences: Path, headlines: Sequence[Path]) -> Iterator[Example]:
    """Yield the rows of files that go together line by line."""
    rows = [aligned(sentences, file) for file in headlines]
    for row in zip(*rows, strict=True):
        number, text, _ = row[0]
        yield _example(f"{number - 1:03d}", text, [title for _, _, title in row])


def _example(name: str, text: str, titles: Sequence[str]) -> Example:
    return Example(name, gigaword_form(one_unknown(text)), titles[0], tuple(titles))
