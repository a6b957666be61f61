"""Gigaword: write the headline of a news article from its first sentence (Rush et al. 2015).

Source: https://github.com/harvardnlp/sent-summary (the text is of LDC2012T21). One instance, in the published form and
in our own words: a line of the file of sentences and the same line of the file of headlines, lower-cased, tokenised,
with `#` for each digit and `<unk>` for each rare word:

    the bridge over the river <unk> will stay closed until ## march , engineers said on friday .
    cracks keep bridge closed
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from bench.errors import MissingError
from bench.tasks.core.example import Example
from bench.tasks.core.manifest import Split
from bench.tasks.core.mapped_examples import held
from bench.tasks.core.recipes import MID, PENG, SMALL
from bench.tasks.core.task import Task, TaskInfo
from bench.tasks.fetch.hub_copies import HUB
from bench.tasks.files.expected_files import find
from bench.tasks.files.gigaword_form import gigaword_form, one_unknown
from bench.tasks.files.lines import aligned
from bench.tasks.files.published import published_rows, split_files
from bench.tasks.samples import sample_rows

PAPER: Mapping[str, Any] = {
    **PENG,
    "backbone.vocabulary": 25_000,
    "bilstm:backbone.width": 256,
    "bilstm:backbone.layers": 3,
    "bilstm:backbone.exemplar_width": 32,
    "trainer.max_source": 200,
    "trainer.max_target": 50,
}
"""Peng et al. 2019, appendix A.1. The paper gives no maximal length of a source; 200 subwords truncate few."""
SIZES: Mapping[str, int] = {"train": 3803957, "valid": 189651, "test": 1951}
PAIRS: Mapping[str, Sequence[tuple[str, str]]] = {
    "train": [("train.article.txt", "train.title.txt")],
    "valid": [("valid.article.filter.txt", "valid.title.filter.txt"), ("valid.article.txt", "valid.title.txt")],
    "test": [("input.txt", "task1_ref0.txt")],
}
PLACES: Mapping[str, Sequence[str]] = {
    "train": ("sumdata/train", "train", "."),
    "valid": ("sumdata/train", "train", "."),
    "test": ("sumdata/[Gg]iga", "[Gg]iga", "."),
}
"""Folders below the task's folder in which the files may be: those of the publisher's archive, or the folder itself."""
ADVICE = f"get sumdata from https://github.com/harvardnlp/sent-summary, or rows from https://huggingface.co/datasets/{HUB['gigaword'].repository}"


class Gigaword(Task):
    """First sentence to headline.

    Files: `train.article.txt`, `train.title.txt`, `valid.article.filter.txt`, `valid.title.filter.txt`, `input.txt` and
    `task1_ref0.txt`, packed with gzip or not, as in the publisher's archive (`sumdata/train`, `sumdata/Giga`), in
    `train` and `giga`, or side by side; or rows with document and summary as the hub has them.

    The published test files write `UNK` for an unknown word and the others `<unk>`; here all write `<unk>`. It is the
    tokenizer's unknown token, which decoding drops, so no generated text matches one.
    """

    name: str = "gigaword"
    info: ClassVar[TaskInfo] = TaskInfo(
        source="https://github.com/harvardnlp/sent-summary",
        licence="LDC2012T21 for the text",
        sizes=SIZES,
        evaluations=("likelihood", "generation"),
        metrics=("rouge", "copying", "perplexity"),
    )
    recipes: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "small": {**SMALL, "trainer.steps": 300, "trainer.max_source": 100, "trainer.max_target": 24},
        "mid": {**MID, "decode": "greedy", "trainer.steps": 100, "trainer.max_source": 100, "trainer.max_target": 24},
        "paper": PAPER,
    }

    def read(self, folder: Path, split: str) -> Split:
        """Read sentences and headlines line by line."""
        rows, origin = read_pairs(folder, split)
        examples = held(self.counted(rows, split))
        return Split(split, examples, self.status_of(split, len(examples)), origin)

    def sample(self, split: str) -> Sequence[Example]:
        """Built-in articles about invented events."""
        return sample_pairs(split)


def split_pair(folder: Path, split: str) -> tuple[Path, Path] | None:
    """Return the files of a split's sentences and headlines, or None where there are none.

    Raises:
        MissingError: only one of the two is there.
    """
    for place in PLACES[split]:
        for names in PAIRS[split]:
            sentences, headlines = (find(folder, [f"{place}/{name}"]) for name in names)
            if sentences is not None and headlines is not None:
                return sentences, headlines
            if alone := sentences or headlines:
                raise MissingError(
                    f"{folder / place}: expected {names[0]} and {names[1]} (.gz too), found only {alone.name}; {ADVICE}"
                )
    return None


def read_pairs(folder: Path, split: str) -> tuple[Iterator[Example], str]:
    """Read sentences and headlines, `UNK` written `<unk>`; evaluated rows have their headline as reference.

    Returns:
        Rows, named by split and line from 0, and the file they are from.

    Raises:
        MissingError: no file of the split was found.
        DataError: a row cannot be used; the message names file and line.
    """
    pair = split_pair(folder, split)
    rows: Iterable[tuple[int, str, str]]
    if pair is None:
        files = split_files(folder, split, ADVICE, also=[f"{place}/{PAIRS[split][0][0]}" for place in PLACES[split]])
        origin = files[0]
        records = published_rows(files, source="document", target="summary")
        rows = ((number, row.source, row.target) for number, row in enumerate(records, 1))
    else:
        origin = pair[0]
        rows = aligned(*pair)
    return _examples(split, rows), str(origin)


def _examples(split: str, rows: Iterable[tuple[int, str, str]]) -> Iterator[Example]:
    """Yield rows, given their number from 1, sentence and headline."""
    for number, sentence, headline in rows:
        headline = one_unknown(headline)
        references = () if split == "train" else (headline,)
        yield Example(f"{split}/{number - 1}", one_unknown(sentence), headline, references)


def sample_pairs(split: str) -> list[Example]:
    """Return the first sentences and the headlines of the built-in articles, in Gigaword's form."""
    made = []
    for article in sample_rows("news", split):
        title = gigaword_form(article["headlines"][0])
        made.append(Example(article["id"], gigaword_form(article["body"][0]), title, (title,)))
    return made
