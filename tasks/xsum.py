"""XSum: write the one sentence that says what an article is about (Narayan et al. 2018).

Source: https://github.com/EdinburghNLP/XSum (code MIT; the articles are the BBC's). One instance, in the published form
and in our own words; the sentence is not in the article:

    {"id": "30000001", "document": "The bridge was closed on Friday night. Engineers found cracks in two of its ...",
     "summary": "A bridge over the river Orrin will stay closed for a month after cracks were found in it."}
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from bench.errors import DataError
from bench.tasks.core.example import Example
from bench.tasks.core.manifest import Split
from bench.tasks.core.recipes import HISTALIGN, SMALL
from bench.tasks.core.task import Task, TaskInfo
from bench.tasks.fetch.hub_copies import HUB
from bench.tasks.files.expected_files import find
from bench.tasks.files.lines import read_json
from bench.tasks.files.published import MADE, evaluated_too, published_rows, split_files
from bench.tasks.samples import sample_rows

OFFICIAL = "XSum-TRAINING-DEV-TEST-SPLIT-90-5-5.json"
SPLITS = {"train": "train", "validation": "valid", "test": "test"}


class XSum(Task):
    """Article to one sentence.

    Files: `train`, `valid` (or `validation`) and `test` as .jsonl, .jsonl.gz or .parquet. Some published documents are
    empty, and stay. Where the folder has the publisher's list of ids, each row is looked up in it: rows of another
    split make this one a proxy, and so do training rows that are test rows too. A row without an id gets one made of
    its content.
    """

    name: str = "xsum"
    info: ClassVar[TaskInfo] = TaskInfo(
        source="https://github.com/EdinburghNLP/XSum",
        licence="none stated for the articles (BBC); code MIT",
        sizes={"train": 204045, "valid": 11332, "test": 11334},
        evaluations=("likelihood", "generation"),
        metrics=("rouge", "rouge_155", "entity_precision", "factcc", "dae", "copying", "perplexity", "cache_hits"),
    )
    recipes: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "small": {**SMALL},
        "paper": {**HISTALIGN, "trainer.lr": 5e-5, "trainer.steps": 15_000, "trainer.max_target": 64},
    }

    def read(self, folder: Path, split: str) -> Split:
        """Read a split and compare it with the publisher's list of ids."""
        files, examples = self._rows(folder, split)
        status = self.status_of(split, len(examples))
        reasons = []
        if official := official_splits(folder):
            reasons.append(rows_of_other_splits(examples, split, official))
        if split == "train" and status != "official":
            reasons.append(evaluated_too(examples, self._rows(folder, "test")[1]))
        if any(reasons):
            status = "proxy"
        origin = "; ".join(filter(None, [str(files[0]), *reasons]))
        return Split(split, examples, status, origin)

    def _rows(self, folder: Path, split: str) -> tuple[Sequence[Path], list[Example]]:
        files = split_files(folder, split, f"get it from https://huggingface.co/datasets/{HUB['xsum'].repository}")
        rows = published_rows(files, source="document", target="summary", empty_sources=True)
        return files, [replace(row, references=(row.target,)) for row in self.counted(rows, split)]

    def sample(self, split: str) -> Sequence[Example]:
        """Generated articles about invented events."""
        return [
            Example(row["id"], " ".join(row["body"]), row["summary"][0], row["summary"])
            for row in sample_rows("news", split)
        ]


def official_splits(folder: Path) -> Mapping[str, str]:
    """Return the split of every published id, nothing where the publisher's list is not there.

    Raises:
        DataError: it is no such list.
    """
    path = find(folder, [OFFICIAL])
    if path is None:
        return {}
    listed = read_json(path)
    has_splits = isinstance(listed, dict) and set(listed) == set(SPLITS)
    if not has_splits or not all(isinstance(ids, list) for ids in listed.values()):
        raise DataError(f"{path}: is not the publisher's list of ids under {', '.join(SPLITS)}; get it again")
    return {str(id): SPLITS[name] for name, ids in listed.items() for id in ids}


def rows_of_other_splits(examples: Sequence[Example], split: str, official: Mapping[str, str]) -> str:
    """Say how many rows the publisher has in another split or in none; nothing if every row with an id is in its own.

    >>> rows_of_other_splits([Example("1", "", ""), Example("2", "", "")], "train", {"1": "test", "2": "train"})
    '1 of 2 rows are official test rows'
    """
    kinds = {name: f"are official {name} rows" for name in SPLITS.values()}
    kinds |= {"unknown": "have an id that is in no official split", "": "have no id"}
    count = Counter(official.get(row.id, "" if row.id.startswith(MADE) else "unknown") for row in examples)
    return "; ".join(
        f"{count[kind]:,} of {len(examples):,} rows {text}"
        for kind, text in kinds.items()
        if count[kind] and kind != split
    )
