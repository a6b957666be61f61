"""Pairs: your own sources and targets; what is read decides what is written.

`bench run --task pairs --set task.path=my.jsonl`. One instance, a line of a jsonl file; csv, tsv and parquet have
columns of these names:

    {"source": "How many hours are two days?", "target": "Two days are 48 hours."}

`--set task.hub=owner/name task.source=document task.target=summary` reads a data set of the hub.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple

from bench.errors import DataError, UsageError
from bench.tasks.core.example import Example
from bench.tasks.core.manifest import Split
from bench.tasks.core.pieces import longest_word
from bench.tasks.core.recipes import HISTALIGN, MID, SMALL
from bench.tasks.core.task import Task, TaskInfo
from bench.tasks.fetch.data_sets import DataSet, commit_of
from bench.tasks.files.records import FORMATS, read_records
from bench.tasks.files.user_data import LOCATIONS, UserData, check_user_data, place, split_rows
from bench.tasks.samples import sample_rows


class TextPair(NamedTuple):
    """A row: its number from 0, and its texts; a source of `chat` is the messages before an answer."""

    number: int
    source: Any
    target: str


class Pairs(Task):
    """Rows of two texts. A row's id is `split/number`, counted from 0 through the files.

    Texts are in any language: metrics that do not fit the letters of the references have no value.

    Args:
        path: a file (jsonl, csv, tsv or parquet, by its name); or a folder with a file for each split, such as
            `train.csv`, `valid.csv`, `test.csv.gz`; or a folder of files that together are one set. Rows are held out
            from the training rows, 5 % of them for each split that has no file, by a hash of their source, so that rows
            of one source stay together. Empty: the folder `pairs` of the data folder, else the built-in sample.
        valid_path: file or folder of the validation split.
        test_path: file or folder of the test split.
        source: the column that is read.
        target: the column that is written.
        references: with `same_source` the targets of all rows of an evaluated split that have one source are
            references of each of them, as each is a right answer; with `own` a row has its own target.
        hub: a data set of the hub, `owner/name`, or a folder that `save_to_disk` wrote, in place of `path`; splits it
            does not have are held out in the same way.
        config: name of its configuration; empty for the only or default one.
        revision: its commit, branch or tag; empty for the newest one. All but a commit is shown as `unpinned`.
        train_split: what it calls the training split; empty for `train`.
        valid_split: the validation split; empty for `valid`, `validation`, `val` or `dev`.
        test_split: the test split; empty for `test`.
        title: name of the rows, which tables show in place of `own`; it changes no number and no key.
    """

    name: str = "pairs"
    user_data: UserData
    places: ClassVar[frozenset[str]] = LOCATIONS
    info: ClassVar[TaskInfo] = TaskInfo(
        source="",
        licence="your own",
        sizes={},
        evaluations=("likelihood", "generation"),
        metrics=("perplexity", "rouge", "overlap"),
    )
    recipes: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "small": {**SMALL, "trainer.max_source": 96, "trainer.max_target": 48, "evaluation.rows": 480},
        "mid": {**MID, "trainer.steps": 150, "trainer.max_source": 192, "trainer.max_target": 64, "decode": "greedy"},
        # HistAlign's settings for XSum (Table 8); blocked trigrams would keep F2-Softmax from decoding by eq. 7.
        "paper": {
            **HISTALIGN,
            "methods": "",
            "decode": "beam=4",
            "trainer.lr": 5e-5,
            "trainer.steps": 15_000,
            "trainer.max_target": 64,
        },
    }

    def __init__(
        self,
        *,
        path: str = "",
        valid_path: str = "",
        test_path: str = "",
        source: str = "source",
        target: str = "target",
        references: Literal["same_source", "own"] = "same_source",
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
        self.user_data = UserData(FORMATS, path, valid_path, test_path, data_set, splits)
        self.columns = {"source": source, "target": target}
        self.title = title
        self.references, self.sources_repeat = references, references == "same_source"

    @classmethod
    def check_options(cls, options: Mapping[str, Any]) -> None:
        """Refuse columns that are not two, and locations that contradict each other."""
        check_user_data(options)
        source, target = options["source"], options["target"]
        if not source or not target or source == target:
            raise UsageError(f"task.source and task.target are two columns, not '{source}' and '{target}'")

    def read(self, folder: Path, split: str) -> Split:
        """Read the rows of a split; `folder` is the file itself where there is one."""
        files = self.user_data.files(folder)
        remedy = "; set task.valid_path and task.test_path"
        rows, origin = split_rows(files, split, self._rows, lambda row: place(self.group_of(row)), remedy)
        examples = self._examples(split, list(rows))
        return Split(split, examples, "own", origin, commit=commit_of(folder))

    def sample(self, split: str) -> Sequence[Example]:
        """Generated questions and answers."""
        rows = enumerate(sample_rows("pairs", split))
        return self._examples(split, [TextPair(n, " ".join(row["source"]), " ".join(row["target"])) for n, row in rows])

    def group_of(self, row: TextPair) -> str:
        """Return the text by which a row is held out; rows of one text stay together."""
        return str(row.source)

    def _rows(self, files: Sequence[Path]) -> list[TextPair]:
        names = {name: f"task.{name}" for name in self.columns}
        rows: list[TextPair] = []
        for row in self.counted(read_records(files, columns=self.columns, options=names)):
            if longest := max(map(longest_word, row.texts.values())):
                reason = f"has {longest:,} characters without a space; expected text with spaces between words"
                raise DataError(f"{row.file}, {row.row}: {reason}")
            rows.append(TextPair(row.number, row.texts["source"].strip(), row.texts["target"].strip()))
        if not rows:
            raise DataError(f"{files[0]}: expected rows with {' and '.join(self.columns.values())}, found none")
        return rows

    def _examples(self, split: str, rows: Sequence[TextPair]) -> list[Example]:
        targets: dict[str, dict[str, None]] = {}
        if self.references == "same_source" and split != "train":
            for row in rows:
                targets.setdefault(row.source, {})[row.target] = None
        return [
            Example(f"{split}/{number}", source, target, tuple(targets.get(source, {target: None})))
            for number, source, target in rows
        ]
