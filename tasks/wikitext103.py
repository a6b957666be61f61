"""WikiText-103: continue an encyclopedia's articles (Merity et al. 2017), as F2-Softmax sections 4.1.1 and 4.1.4 do.

Source: https://huggingface.co/datasets/Salesforce/wikitext (CC BY-SA). One instance is an article with the line ends,
spaces and marks of the published file:

    " \\n = Homarus gammarus = \\n \\n Homarus gammarus , known as the European lobster or common lobster , is ..."

A model learns blocks of consecutive tokens, whatever article they are of. It is evaluated on blocks of the whole split,
and on stretches of 150 tokens, of which it is given 50.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

from bench.base.options import Positive
from bench.errors import DataError
from bench.tasks.core.example import Example
from bench.tasks.core.manifest import Split
from bench.tasks.core.pieces import is_blank
from bench.tasks.core.recipes import F2_ENGLISH, F2_METHODS, MID, SMALL_STREAM
from bench.tasks.core.task import Task, TaskInfo
from bench.tasks.encode.stream import Stream
from bench.tasks.files.expected_files import find
from bench.tasks.files.lines import lines
from bench.tasks.files.published import split_files
from bench.tasks.files.records import read_records
from bench.tasks.samples import sample_rows

TITLE = re.compile(r" = [^=].* = ?\n?")
TRAINING = ("wiki.train.tokens", "train.txt", "train.jsonl", "train.parquet", "train-*-of-*.parquet")
"""Names that the training file may have."""

VALID_SHARE = 10
"""Of so many articles of the validation file one stays for validation where the others stand in for training."""


class WikiText103(Task):
    """Articles as one running text.

    Args:
        train: `official` reads the training file; `proxy` trains on nine tenths of the validation articles, and
            validates on the others; `auto` is `official` where there is such a file, else `proxy`. Results of the proxy
            are marked as such.
        prefix: tokens a generation starts from.
        continuation: tokens after them that it is compared with.
        columns: the evaluated text is laid out in so many columns before it is cut. F2-Softmax's code takes 32 times
            the batch size, in which the paper has 8 (Table 7).
    """

    name: str = "wikitext103"
    ends: ClassVar[bool] = False
    info: ClassVar[TaskInfo] = TaskInfo(
        source="https://huggingface.co/datasets/Salesforce/wikitext",
        licence="CC BY-SA",
        sizes={"train": 28475, "valid": 60, "test": 60},
        evaluations=("likelihood", "generation"),
        metrics=("perplexity", "diversity", "frequency_groups", "ngram_diversity", "mauve", "cache_hits"),
        open_ended=True,
        folders=("wikitext-103", "wikitext/wikitext-103"),
    )
    recipes: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "small": {
            **SMALL_STREAM,
            "decode": "topk=3+max_new_tokens=64",
            "backbone.vocabulary": 4000,
            "trainer.steps": 300,
            "evaluation.rows": 480,
        },
        "mid": {
            **MID,
            "decode": "topk=20+max_new_tokens=64",
            "task.columns": 1,
            "trainer.steps": 65,
            "trainer.max_source": 100,
            "trainer.max_target": 128,
        },
        # 1,024 positions with the token that every block begins with
        "paper": {**F2_ENGLISH, "methods": F2_METHODS, "trainer.max_target": 1023},
    }

    def __init__(
        self,
        *,
        train: Literal["auto", "official", "proxy"] = "auto",
        prefix: Positive = 50,
        continuation: Positive = 100,
        columns: Positive = 256,
    ) -> None:
        super().__init__()
        self.train_from = train
        self.stream = Stream(prefix, continuation, columns)

    def read(self, folder: Path, split: str) -> Split:
        """Read the published file of a split and cut it at the titles of articles."""
        proxy = split != "test" and self.proxy(folder)
        name, advice = "valid" if proxy else split, f"get wikitext-103-v1 from {self.info.source}"
        files = split_files(folder, name, advice, also=[f"wiki.{name}.tokens", f"{name}.txt"])
        path = files[0]
        texts = [text for text in self.counted(articles(read_lines(files)), split) if not is_blank(text)]
        if not texts:
            raise DataError(f"{path}: expected articles, found no text; get it again")
        if proxy:
            stays = split == "valid"
            texts = [text for number, text in enumerate(texts) if (number % VALID_SHARE == 0) == stays]
        examples = [Example(f"{split}/{number}", "", text) for number, text in enumerate(texts)]
        status = "proxy" if proxy else self.status_of(split, len(examples))
        return Split(split, examples, status, str(path))

    def proxy(self, folder: Path) -> bool:
        """Return whether validation articles stand in for training."""
        if self.train_from == "auto":
            return all(find(folder / place, TRAINING) is None for place in ("", "data"))
        return self.train_from == "proxy"

    def sample(self, split: str) -> Sequence[Example]:
        """Generated articles about things there are not."""
        rows = enumerate(sample_rows("wikitext103", split))
        return [Example(f"{split}/{number}", "", sample_text(row["lines"])) for number, row in rows]

    def words_of(self, text: str) -> int:
        """Return the official count, in which a line end is a word."""
        return len(text.split()) + text.count("\n")


def sample_text(sentences: Sequence[Sequence[str]]) -> str:
    """Join the sentences of each line, with a blank line before and after every heading and one at the end.

    >>> sample_text([("= Orrin =",), ("It is a river .", "It is long .")])
    ' \\n = Orrin = \\n \\n It is a river . It is long . \\n \\n'
    """
    text = ""
    for parts in sentences:
        line = f" {' '.join(parts)} \n"
        if parts[0].startswith("= "):
            line = f" \n{line} \n"
        text += line
    return text + " \n"


def read_lines(files: Sequence[Path]) -> Iterator[str]:
    """Yield lines that end as the published ones do, from the published file or from rows with a `text`."""
    texts: Iterable[str] = (line for _, line in lines(files[0]))
    if ".jsonl" in files[0].name or ".parquet" in files[0].name:
        rows = read_records(files, columns={"text": "text"}, may_be_empty=True)
        texts = (row.texts["text"] or " \n" for row in rows)  # a blank line of the published file is "" on the hub
    return (text.replace("\r\n", "\n") for text in texts)


def articles(lines_of_file: Iterable[str]) -> Iterator[str]:
    """Join lines to articles: one begins at a title, which has an empty line before and after it.

    So the published files have 60 articles each; two lines of the test file that only look like titles are none. Text
    before the first title, maybe an article whose title is the first line, is a document of its own.

    >>> list(articles([" \\n", " = A = \\n", " \\n", " a \\n", " \\n", " = B = \\n", " \\n", " = b = \\n"]))
    [' \\n = A = \\n \\n a \\n', ' \\n = B = \\n \\n = b = \\n']
    """
    held: list[str] = []
    for line in lines_of_file:
        held.append(line)
        empty = [not text.strip() for text in held[-3:]]
        if empty == [True, False, True] and TITLE.fullmatch(held[-2]):
            before, held = "".join(held[:-3]), held[-3:]
            if before.strip():
                yield before
    if held:
        yield "".join(held)
