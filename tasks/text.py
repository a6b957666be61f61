"""Text: your own text, plain or jsonl, for open-ended generation: a passage is learned, a prompt is continued.

`bench run --task text --set task.path=my.txt`. One instance, cut from a line of a file; the loss is on all of it, and
generation continues its first words. `--set task.hub=owner/name task.column=text` reads a data set of the hub:

    prompt "In the beginning God created the heaven and the earth.", and then "And the earth was without form, ..."
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from bench.base.options import Positive
from bench.errors import DataError, UsageError
from bench.tasks.core.example import Example
from bench.tasks.core.manifest import Split
from bench.tasks.core.pieces import is_blank, longest_word, pieces
from bench.tasks.core.task import Task, TaskInfo
from bench.tasks.fetch.data_sets import OPTIONS, DataSet, check_together, commit_of
from bench.tasks.fetch.hub_copies import HubRows
from bench.tasks.fetch.sources import Source
from bench.tasks.files.bad_rows import BadRows
from bench.tasks.files.text import Document, Unit, held_out, read_documents
from bench.tasks.files.user_files import expanded, files_of, named, split_folders
from bench.tasks.samples import sample_rows

LEAST_REST = 8
"""Words after the prompt that an evaluated passage has at least."""


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
        valid_path: file or folder of the validation split.
        test_path: file or folder of the test split.
        field: which field of a jsonl record holds its text.
        document: what is a document in plain text: a line, lines up to a blank one, or a file.
        words: longest passage, in words.
        prompt_words: words of the prompt that generation starts from; the rest of a passage is its true continuation.
        hub: a data set of the hub, `owner/name`, or a folder: one that `save_to_disk` wrote, or one of parquet or
            jsonl files. In place of `path`; splits it does not have are held out in the same way.
        config: name of its configuration; empty for the only or default one.
        revision: its commit, branch or tag; empty for the newest one. All but a commit is shown as `unpinned`.
        train_split: what it calls the training split; empty for `train`.
        valid_split: the validation split; empty for `valid`, `validation`, `val` or `dev`.
        test_split: the test split; empty for `test`.
        column: which column of the data set holds the text, a document a row; empty for the one `field` names.
        title: name of the text, which tables show in place of `own`; it changes no number and no key.
    """

    name: str = "text"
    ends: ClassVar[bool] = False  # a passage stops in the middle of a text: there is no end to learn
    places: ClassVar[frozenset[str]] = frozenset({"path", "valid_path", "test_path", "column", "title"}) | OPTIONS
    info: ClassVar[TaskInfo] = TaskInfo(
        summary="your own text, plain or jsonl",
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
            "backbone": "small-causal",
            "decode": "topk=3+max_new_tokens=64",
            "backbone.vocabulary": 4000,
            "backbone.width": 128,
            "backbone.layers": 2,
            "trainer.steps": 300,
            "trainer.batch_size": 16,
            "trainer.lr": 2e-3,
            "trainer.warmup": 0.05,
            "trainer.weight_decay": 0.001,
            "trainer.clip": 1.0,
            "trainer.max_source": 100,
            "trainer.max_target": 320,
            "finetuned:trainer.steps": 50,
            "finetuned:trainer.lr": 3e-4,
            "evaluation.rows": 480,
            "evaluation.batch_size": 60,
        },
        # F2-Softmax section 4 and Tables 6 and 7; its epochs are not given. 700 words are about 820 tokens of a BPE of
        # 30,000, and prompt and target together stay below the 1,024 positions.
        "paper": {
            "backbone": "f2-decoder",
            "decode": "topk=3+max_new_tokens=100,greedy+max_new_tokens=100",
            "task.words": 700,
            "task.prompt_words": 40,
            "backbone.vocabulary": 30000,
            "trainer.epochs": 10,
            "trainer.batch_size": 8,
            "trainer.lr": 1e-4,
            "trainer.warmup": 0.0,
            "trainer.weight_decay": 0.001,
            "trainer.clip": 0.25,
            "trainer.max_source": 100,
            "trainer.max_target": 920,
            "finetuned:trainer.steps": 1500,
            "finetuned:trainer.lr": 1e-5,
            "evaluation.batch_size": 20,
        },
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
        column: str = "",
        title: str = "",
    ) -> None:
        super().__init__()
        self.data_set = DataSet(hub, config, revision, {"train": train_split, "valid": valid_split, "test": test_split})
        self.column = column or field
        self.title = title
        self.path, self.valid_path, self.test_path = path, valid_path, test_path
        self.field, self.document = field, document
        self.words, self.prompt_words = words, prompt_words
        self._held: Mapping[int, str] | None = None

    @classmethod
    def check_options(cls, options: Mapping[str, Any]) -> None:
        """Refuse passages that are too short, and files to evaluate on without one to train on."""
        words, prompt_words = options["words"], options["prompt_words"]
        if words < prompt_words + LEAST_REST:
            raise UsageError(
                f"task.words is at least {LEAST_REST} more than task.prompt_words, not {words} and {prompt_words}"
            )
        if (options["valid_path"] or options["test_path"]) and not options["path"]:
            raise UsageError("task.valid_path and task.test_path need task.path, the text to train on")
        check_together(options)
        if options["column"] and not options["hub"]:
            raise UsageError("task.column needs task.hub, the data set; a field of jsonl files is task.field")

    @property
    def least(self) -> int:
        """Fewest words of an evaluated passage."""
        return self.prompt_words + LEAST_REST

    def source_from(self, source: Source) -> Source:
        """Return where rows come from; `path` and `hub` go before any data folder."""
        if self.data_set.hub:
            return self.data_set.source(source)
        if not self.path:
            return source
        place = expanded(self.path)
        return Source(place, f"task.path: {place}")

    def cluster_of(self, name: str) -> str:
        """Return the document."""
        return name.rpartition("/")[0]

    def hub_rows(self) -> HubRows | None:
        """Return which data set of the hub the rows are of, or None."""
        if not self.data_set.hub or self.source.folder is None:
            return None
        return self.data_set.hub_rows(self.source.folder)

    def read(self, folder: Path, split: str) -> Split:
        """Read the documents of a split and cut them into passages; `folder` is the file itself where there is one."""
        if self.data_set.hub:
            files = split_folders(folder, self.data_set.splits)
        else:
            files = files_of(folder, self.valid_path, self.test_path)
        missing = [name for name in ("valid", "test") if name not in files]
        mine = files.get(split, files["train"])
        bad_rows = self.bad_rows(split)
        as_training = BadRows("train", bad_rows.policy)
        read_as = bad_rows
        if split not in files:  # these documents are in the training text, and are read as such
            read_as = as_training
        documents: Iterable[tuple[int, Document]] = enumerate(read_documents(mine, self.column, self.document, read_as))
        origin = named(mine)
        if missing and (split == "train" or split in missing):
            if self._held is None:
                every = read_documents(files["train"], self.column, self.document, as_training)
                self._held = held_out(every, missing, self.least)
            split_of = self._held
            documents = (numbered for numbered in documents if split_of.get(numbered[0], "train") == split)
            origin += f"; {' and '.join(missing)} held out"
        examples, short = self.rows(documents, split)
        if not examples:
            raise DataError(
                f"{origin}: the {split} split has no document of {self.least} words, {self.prompt_words} for a prompt "
                f"and {LEAST_REST} more; set task.prompt_words, or task.document (line, blank_line or file)"
            )
        return Split(split, examples, "own", origin, (*bad_rows.closed(), *short), commit_of(folder))

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
                _check_words(passage, document)
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


def _check_words(passage: str, document: Document) -> None:
    """Refuse what no tokenizer should be given as one word."""
    if longest := longest_word(passage):
        raise DataError(
            f"{document.where}: has {longest:,} characters without a space; expected text with spaces between words"
        )
