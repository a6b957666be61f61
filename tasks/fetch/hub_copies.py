"""Which copies on the hub the tasks are read from, each pinned to a commit where one is known.

Nothing here was asked of the hub itself. Every entry says what was seen and where: "code" is a public repository that
pins that commit, "page" a page of the hub, "script" the loading script that the copy was converted from. Where no
commit was seen, the branch is named; the first download resolves it and records the commit.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

__all__ = ["CONVERTED", "HUB", "ORIGIN", "HubCopy", "HubRows", "is_commit", "unpinned"]

ORIGIN = "origin.json"
"""In the folder of a copy: what it is a copy of."""
CONVERTED = "refs/convert/parquet"
"""The branch in which the hub keeps its own parquet conversion of data sets that are published as a script."""


@dataclass(frozen=True)
class HubRows:
    """Which data set of the hub rows are a copy of.

    Args:
        repository: `owner/name`.
        revision: as it was asked for: a commit, or a branch or tag; empty for the newest commit.
        commit: the commit that the rows are of.
    """

    repository: str
    revision: str
    commit: str

    @property
    def is_pinned(self) -> bool:
        """Whether the same revision means the same rows for ever."""
        return is_commit(self.revision)

    def as_dict(self) -> dict[str, str]:
        """Return plain content for a record."""
        return asdict(self)


def is_commit(revision: str) -> bool:
    """Return whether a revision is a whole commit, not a branch, a tag or nothing.

    >>> is_commit("0" * 40), is_commit("refs/convert/parquet"), is_commit("")
    (True, False, False)
    """
    return bool(re.fullmatch(r"[0-9a-f]{40}", revision))


def unpinned(revision: str) -> str:
    """Return ` (unpinned)` for a revision that may be another commit tomorrow, and nothing for a commit."""
    return "" if is_commit(revision) else " (unpinned)"


@dataclass(frozen=True)
class HubCopy:
    """Where a task's rows are on the hub.

    Args:
        repository: of data sets, `owner/name`.
        revision: a commit, or a branch where no commit is known.
        files: patterns of the parquet files of each split.
        columns: names of the text columns that are kept. Dots lead into records; `[]` at the end marks a list of texts.
        note: where the publisher's own files are, for people.
        lines: the task reads JSON lines with these columns too, besides the publisher's files.
    """

    repository: str
    revision: str
    files: Mapping[str, tuple[str, ...]]
    columns: tuple[str, ...]
    note: str
    lines: bool = True

    @property
    def page(self) -> str:
        """The address of its page."""
        return f"https://huggingface.co/datasets/{self.repository}"

    def hub_rows(self, folder: Path) -> HubRows | None:
        """Return which commit a folder is a copy of; None for files that a person put there."""
        try:
            origin = json.loads((folder / ORIGIN).read_bytes())
            if origin["repository"] != self.repository:
                return None
            return HubRows(self.repository, self.revision, str(origin["commit"]))
        except (OSError, ValueError, LookupError, TypeError):
            return None

    def described(self, folder: Path) -> str:
        """Return what a folder is a copy of, for people; nothing for files that a person put there."""
        rows = self.hub_rows(folder)
        return f"{rows.repository} at {rows.commit[:12]}{unpinned(rows.revision)}" if rows else ""


def _splits(pattern: str) -> dict[str, tuple[str, ...]]:
    return {split: (pattern.format(split=split),) for split in ("train", "validation", "test")}


HUB: Mapping[str, HubCopy] = {
    "logicnlg": HubCopy(
        # page: the tree at this commit has one file a split in data/, the same three names as main. An earlier commit
        # (e0e4917f) has two copies of the test split. script: all six columns are written as text.
        repository="kasnerz/logicnlg",
        revision="b3b9cb39ff632299e789df1db60683e5579e47dc",
        files=_splits("data/{split}-*-of-*.parquet"),
        columns=("table_id", "table", "linked_columns", "title", "ref", "template"),
        note="https://github.com/wenhuchen/LogicNLG (data/*_lm.json and all_csv)",
        lines=False,
    ),
    "xsum": HubCopy(
        # code: three repositories pin this commit; one lists data/{train,validation,test}-00000-of-00001.parquet,
        # another the columns document and id. summary: page of the data set. Before the conversion main held a script
        # and refs/convert/parquet default/SPLIT/0000.parquet.
        repository="EdinburghNLP/xsum",
        revision="7d4d486c2f8ef850b1a11aead99b894ff3dd7da9",
        files=_splits("data/{split}-*-of-*.parquet"),
        columns=("document", "summary", "id"),
        note="https://github.com/EdinburghNLP/XSum",
    ),
    "cnndm": HubCopy(
        # code: ten repositories pin this commit; seen are 3.0.0/train-0000{0,1,2}-of-00003.parquet and
        # 3.0.0/test-00000-of-00001.parquet, the columns article and id. highlights: page of the data set.
        repository="abisee/cnn_dailymail",
        revision="96df5e686bee6baa90b8bee7c28b81fa3fa6223d",
        files=_splits("3.0.0/{split}-*-of-*.parquet"),
        columns=("article", "highlights", "id"),
        note="https://github.com/abisee/cnn-dailymail (version 3.0.0: cased, not tokenised)",
    ),
    "wikitext103": HubCopy(
        # code: ten repositories pin this commit; for wikitext-103-raw-v1 a stored cache lists one parquet file of the
        # test split and train-0000{0,1}-of-00002.parquet, with 1,801,350 / 3,760 / 4,358 rows; column text. There is
        # v1 on the page, whose rare words are <unk>: the published wiki.*.tokens, whose words the official count is of.
        repository="Salesforce/wikitext",
        revision="b08601e04326c79dfdd32d625aee71d232d685c3",
        files=_splits("wikitext-103-v1/{split}-*-of-*.parquet"),
        columns=("text",),
        note="https://huggingface.co/datasets/Salesforce/wikitext (wikitext-103-v1; the publisher's own link is gone)",
    ),
    "writingprompts": HubCopy(
        # code: six repositories pin this commit; one downloads data/test-00000-of-00001-16503b0c26ed00c6.parquet,
        # one gives 272,600 / 15,620 / 15,138 rows and the two columns.
        repository="euclaise/writingprompts",
        revision="35f0aa359452ba8147b34d925684fccee26679cc",
        files=_splits("data/{split}-*-of-*.parquet"),
        columns=("prompt", "story"),
        note="https://dl.fbaipublicfiles.com/fairseq/data/writingPrompts.tar.gz",
    ),
    "gigaword": HubCopy(
        # No commit, no parquet file and not even the branch was seen: the layout is that of every conversion. script
        # and page: columns document and summary, 3,803,957 / 189,651 / 1,951 rows.
        repository="Harvard/gigaword",
        revision=CONVERTED,
        files=_splits("default/{split}/*.parquet"),
        columns=("document", "summary"),
        note="https://github.com/harvardnlp/sent-summary",
    ),
    "wikibio": HubCopy(
        # No commit was seen; default/test was, on the branch. script: the splits are train, val and test, and a table
        # is a sequence of records, which parquet keeps as a record of lists.
        repository="michaelauli/wiki_bio",
        revision=CONVERTED,
        files={
            "train": ("default/train/*.parquet",),
            "validation": ("default/val/*.parquet", "default/validation/*.parquet"),
            "test": ("default/test/*.parquet",),
        },
        columns=(
            "input_text.table.column_header[]",
            "input_text.table.content[]",
            "input_text.context",
            "target_text",
        ),
        note="https://github.com/DavidGrangier/wikipedia-biography-dataset (CC BY-SA 3.0)",
    ),
    "nsmc": HubCopy(
        # No commit was seen; code: eight files load it from this branch, with the splits train and test and the column
        # document; page: id and document are text, 150,000 / 50,000 reviews, and there is no validation split.
        repository="e9t/nsmc",
        revision=CONVERTED,
        files={"train": ("default/train/*.parquet",), "test": ("default/test/*.parquet",)},
        columns=("id", "document"),
        note="https://github.com/e9t/nsmc (CC0)",
    ),
}
