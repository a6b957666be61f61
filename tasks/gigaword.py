"""Gigaword: write the headline of a news article from its first sentence (Rush et al. 2015).

Source: https://github.com/harvardnlp/sent-summary (the text is of LDC2012T21). One instance, in the published form and
in our own words: a line of the file of sentences and the same line of the file of headlines, lower-cased, tokenised,
with `#` for each digit and `<unk>` for each rare word:

    the bridge over the river <unk> will stay closed until ## march , engineers said on friday .
    cracks keep bridge closed
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from bench.tasks.core.example import Example
from bench.tasks.core.manifest import Split
from bench.tasks.core.recipes import MID, SMALL, peng
from bench.tasks.core.task import Task, TaskInfo
from bench.tasks.fetch.hub_copies import HUB
from bench.tasks.files.gigaword import SIZES, read_pairs, sample_pairs

PAPER = peng(width=256, layers=3, vocabulary=25_000, exemplar_width=32, max_source=200, max_target=50)
"""Peng et al. 2019, appendix A.1. How long a source may be is not given; 200 subwords cut hardly any."""


class Gigaword(Task):
    """First sentence to headline.

    Files: `train.article.txt`, `train.title.txt`, `valid.article.filter.txt`, `valid.title.filter.txt`, `input.txt` and
    `task1_ref0.txt`, packed with gzip or not, as in the publisher's archive (`sumdata/train`, `sumdata/Giga`), in
    `train` and `giga`, or side by side; or rows with document and summary as the hub has them.

    The published test files write `UNK` for an unknown word and the others `<unk>`; here all write `<unk>`. It is the
    tokenizer's unknown token, so a text that a model writes comes back without it, and never matches one.
    """

    name: str = "gigaword"
    info: ClassVar[TaskInfo] = TaskInfo(
        summary="write the headline of a first sentence",
        source="https://github.com/harvardnlp/sent-summary",
        licence="LDC2012T21 for the text",
        sizes=SIZES,
        evaluations=("likelihood", "generation"),
        metrics=("rouge", "copying", "perplexity"),
        hub=HUB["gigaword"].repository,
    )
    recipes: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "small": {**SMALL, "trainer.steps": 300, "trainer.max_source": 100, "trainer.max_target": 24},
        "mid": {**MID, "decode": "greedy", "trainer.steps": 100, "trainer.max_source": 100, "trainer.max_target": 24},
        "paper": PAPER,
    }

    def __init__(self) -> None:
        super().__init__()

    def read(self, folder: Path, split: str) -> Split:
        """Read sentences and headlines line by line."""
        bad_rows = self.bad_rows(split)
        examples, origin = read_pairs(folder, split, bad_rows)
        return Split(split, examples, self.status_of(split, len(examples)), origin, bad_rows.closed())

    def sample(self, split: str) -> Sequence[Example]:
        """Generated articles about invented events."""
        return sample_pairs(split)
