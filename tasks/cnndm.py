"""CNN/DM: write the highlights of a news article, one sentence a line (Hermann et al. 2015; See et al. 2017).

Source: https://huggingface.co/datasets/abisee/cnn_dailymail, version 3.0.0: cased, not tokenised. One instance, in the
published form and in our own words:

    {"id": "f001d...", "article": "(CNN)The bridge over the river Orrin was closed on Friday. Engineers found ...",
     "highlights": "Bridge over the Orrin closed on Friday .\\nRepairs will take a month ."}

The line breaks stay in target and reference, because ROUGE-Lsum takes each line for a sentence.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from bench.tasks.core.example import Example
from bench.tasks.core.manifest import Split
from bench.tasks.core.recipes import HISTALIGN, SMALL
from bench.tasks.core.task import Task, TaskInfo
from bench.tasks.files.published import evaluated_too, published_rows, split_files
from bench.tasks.samples import sample_rows

ALSO = {
    "train": ("ctrlsum_train.jsonl",),
    "valid": ("validation_subset.jsonl", "ctrlsum_val.jsonl"),
    "test": ("ctrlsum_test.jsonl",),
}
"""What parts of the data are called that other projects have published."""

MARK = re.compile(r"\A\s*(?:[A-Z]{2}[\w .,'’-]{0,50}\s)?\(CNN\)\s*(?:--?\s*)?")


class CNNDM(Task):
    """Article to highlights.

    Files: `train`, `valid` (or `validation`) and `test` as .jsonl, .jsonl.gz or .parquet, whole or in the hub's parts,
    with the columns article, highlights and id. In some copies of parts of it the highlights of a row are joined by
    spaces to one line and ids are missing; such rows are read, and the origin of the split names the consequence.

    The paper preset is 512 tokens to 128 (HistAlign Table 8); `--set trainer.max_target=64` for 512 to 64.

    Args:
        strip_cnn: leave out the agency mark at the start of an article, "(CNN)" or "MIAMI, Florida (CNN) -- ".
    """

    name: str = "cnndm"
    info: ClassVar[TaskInfo] = TaskInfo(
        source="https://huggingface.co/datasets/abisee/cnn_dailymail",
        licence="none stated for the articles (CNN, Daily Mail); code MIT",
        sizes={"train": 287113, "valid": 13368, "test": 11490},
        evaluations=("likelihood", "generation"),
        metrics=("rouge", "entity_precision", "factcc", "dae", "copying", "perplexity", "cache_hits"),
    )
    recipes: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "small": {**SMALL, "trainer.max_target": 60},
        "paper": {**HISTALIGN, "trainer.lr": 3e-5, "trainer.steps": 20_000, "trainer.max_target": 128},
    }

    def __init__(self, *, strip_cnn: bool = False) -> None:
        super().__init__()
        self.strip_cnn = strip_cnn

    def read(self, folder: Path, split: str) -> Split:
        """Read a split; training rows that are test rows too make it a proxy."""
        files, examples = self._rows(folder, split)
        status = self.status_of(split, len(examples))
        notes = []
        if examples and not any("\n" in row.target for row in examples):
            notes.append("no highlights have a line break, so ROUGE-Lsum is ROUGE-L")
        test = self._rows(folder, "test")[1] if split == "train" and status != "official" else []
        if shared := evaluated_too(examples, test):
            status = "proxy"
            notes.append(shared)
        return Split(split, examples, status, "; ".join([str(files[0]), *notes]))

    def _rows(self, folder: Path, split: str) -> tuple[Sequence[Path], list[Example]]:
        advice = f"get version 3.0.0 from {self.info.source}"
        files = split_files(folder, split, advice, also=ALSO[split], places=("", "3.0.0", "data"))
        rows = published_rows(files, source="article", target="highlights")
        examples = []
        for row in self.counted(rows, split):
            article = without_mark(row.source) if self.strip_cnn else row.source
            examples.append(Example(row.id, article, row.target, (row.target,)))
        return files, examples

    def sample(self, split: str) -> Sequence[Example]:
        """Generated articles about invented events."""
        made = []
        for article in sample_rows("news", split):
            highlights = "\n".join(re.sub(r"\.$", " .", sentence) for sentence in article["highlights"])
            made.append(Example(article["id"], " ".join(article["body"]), highlights, (highlights,)))
        return made


def without_mark(text: str) -> str:
    """Return an article without the agency mark it starts with.

    >>> without_mark("(CNN)The bridge"), without_mark("MIAMI, Florida (CNN) -- The bridge"), without_mark("He (CNN) is")
    ('The bridge', 'The bridge', 'He (CNN) is')
    """
    return MARK.sub("", text, count=1)
