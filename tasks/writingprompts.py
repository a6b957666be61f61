"""WritingPrompts: continue a story from its prompt (Fan et al. 2018), as HistAlign section 5.1 and A.2 do.

Source: https://github.com/facebookresearch/fairseq/tree/main/examples/stories (files train.wp_source, train.wp_target,
...). One instance, in the form of these files:

    prompt "[ WP ] The last lamp in town will not go out ."
    story  "`` Leave it , '' Mara said . <newline> I could n't ."

What a model reads is one line, `The last lamp in town will not go out. "Leave it," Mara said. I couldn't.`, and
generation continues its first 50 tokens.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from bench.base.options import OMIT_IF_DEFAULT, Positive, Range
from bench.errors import UsageError
from bench.tasks.core.example import Example
from bench.tasks.core.manifest import Split
from bench.tasks.core.pieces import is_blank
from bench.tasks.core.recipes import SMALL_OPEN_ENDED
from bench.tasks.core.task import Task, TaskInfo
from bench.tasks.files.detokenise import detokenise
from bench.tasks.files.expected_files import find, needed
from bench.tasks.files.lines import aligned
from bench.tasks.files.published import split_files
from bench.tasks.files.records import FileRecord, read_records
from bench.tasks.samples import sample_rows

NEWLINE = re.compile(r"(?:\s*(?:<newline>|\n)\s*)+")
TAGS = re.compile(r"(?:\s*\[ ?[\w/ ]{1,12} ?\])+")


class WritingPrompts(Task):
    """Prompt and story as one text.

    The test split keeps texts of more than 50 and fewer than 1,000 words, as the authors' released script does; what is
    left out is counted. 5,000 of its rows are evaluated in the paper. Its choice is not published; ours is
    `evaluation.rows`, the same rows for every run.

    A training row is one story, and what is beyond `trainer.max_target` tokens is not learned, and counted. With
    `training_rows=blocks`, as in the preset `paper`, the training stories are joined without a token or a space between
    them, and cut into blocks of `trainer.max_target` tokens, as A.2 and the authors' script do with 512. Two things
    differ from the script: a block begins with the tokenizer's begin token, so that all of its 512 tokens are learned
    and not 511, and the last block is shorter where the script drops the remainder of each thousand stories. Validation
    and test rows are stories in both.

    Args:
        tag: keep tags before a prompt, such as `[WP]`.
        newlines: keep the ends of paragraphs; else they become spaces.
        more_than: words that a test text has more than.
        fewer_than: words that a test text has fewer than.
        prompt_tokens: tokens that generation starts from.
        training_rows: what a training row is: a story, or a block of joined stories.
    """

    name: str = "writingprompts"
    ends: ClassVar[bool] = False  # as in blocks of joined texts: where a story ends is not learned
    info: ClassVar[TaskInfo] = TaskInfo(
        source="https://github.com/facebookresearch/fairseq/tree/main/examples/stories",
        licence="not stated (texts of Reddit users)",
        sizes={"train": 272600, "valid": 15620, "test": 15138},  # 273k, 16k and 15k in HistAlign A.2
        evaluations=("likelihood", "generation"),
        metrics=(
            "perplexity",
            "diversity",
            "frequency_groups",
            "ngram_diversity",
            "mauve",
            "coherence",
            "copying",
            "cache_hits",
        ),
        open_ended=True,
        folders=("writingPrompts",),
    )
    recipes: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "small": {
            **SMALL_OPEN_ENDED,
            "decode": "nucleus=0.95+max_new_tokens=64",
            "backbone.vocabulary": 4000,
        },
        # HistAlign Table 8 and A.2, with seeds 0, 1 and 42. Weight decay is the script's; the paper gives none. Table 8
        # has 1,024 output tokens, A.2 and the script have blocks of 512.
        "paper": {
            "backbone": "gpt2",
            "methods": "mle,trime,histalign",
            "decode": "nucleus=0.95+max_new_tokens=256",
            "trainer.epochs": 3,
            "trainer.batch_size": 512,
            "trainer.precision": "bf16-mixed",  # "we use mixed precision", appendix A; theirs was fp16
            "trainer.lr": 5e-5,
            "trainer.warmup": 0.2,
            "trainer.weight_decay": 0.1,
            "trainer.max_source": 100,
            "trainer.max_target": 512,
            "task.training_rows": "blocks",
            "evaluation.rows": 5000,
            "evaluation.batch_size": 32,
        },
    }

    def __init__(
        self,
        *,
        tag: bool = False,
        newlines: bool = False,
        more_than: Annotated[int, Range(0)] = 50,
        fewer_than: int = 1000,
        prompt_tokens: Positive = 50,
        training_rows: Annotated[Literal["stories", "blocks"], OMIT_IF_DEFAULT] = "stories",
    ) -> None:
        super().__init__()
        self.tag, self.newlines, self.prompt_tokens = tag, newlines, prompt_tokens
        self.more_than, self.fewer_than = more_than, fewer_than
        self.training_blocks = training_rows == "blocks"

    @classmethod
    def check_options(cls, options: Mapping[str, Any]) -> None:
        """Refuse a rule of words that no story can keep."""
        more_than, fewer_than = options["more_than"], options["fewer_than"]
        if more_than >= fewer_than - 1:
            raise UsageError(
                f"task.more_than must be 2 or more below task.fewer_than, not {more_than} and {fewer_than}"
            )

    def read(self, folder: Path, split: str) -> Split:
        """Read the fairseq files or the hub's rows of a split."""
        path, rows = _rows(folder, split, f"get them from {self.info.source}")
        examples, left_out = self.kept(self.counted(rows, split), split)
        status = self.status_of(split, len(examples) + len(left_out))
        return Split(split, examples, status, str(path), tuple(left_out))

    def sample(self, split: str) -> Sequence[Example]:
        """Generated prompts and stories."""
        rows = []
        for number, row in enumerate(sample_rows("writingprompts", split)):
            story = " <newline> ".join(" ".join(paragraph) for paragraph in row["story"])
            texts = {"prompt": f"[ WP ] {' '.join(row['prompt'])}", "story": story}
            rows.append(FileRecord(Path("sample"), f"story {number}", number, texts))
        return self.kept(rows, split)[0]

    def kept(self, rows: Iterable[FileRecord], split: str) -> tuple[list[Example], list[tuple[str, str, str]]]:
        """Return the examples, and what the rule of words leaves out as (file, row, reason)."""
        examples: list[Example] = []
        left_out: list[tuple[str, str, str]] = []
        for row in rows:
            text = self.text_of(**row.texts)
            n_words = self.words_of(text)
            if is_blank(text):
                left_out.append((row.file.name, row.row, "has no word"))
            elif split == "test" and not self.more_than < n_words < self.fewer_than:
                reason = f"{n_words} words; a test row has more than {self.more_than}, fewer than {self.fewer_than}"
                left_out.append((row.file.name, row.row, reason))
            else:
                examples.append(Example(f"{split}/{row.number}", "", text))
        return examples, left_out

    def text_of(self, prompt: str, story: str) -> str:
        r"""Return what a model reads.

        >>> WritingPrompts().text_of("[ WP ] Run .\n", "I ca n't , '' <newline> <newline> he said .")
        'Run. I can\'t," he said.'
        >>> WritingPrompts(tag=True, newlines=True).text_of("[ WP ] Run .", "No . <newline> Why ?")
        '[WP] Run.\nNo.\nWhy?'
        """
        if not self.tag and (tags := TAGS.match(prompt)):
            prompt = prompt[tags.end() :]
        paragraphs = NEWLINE.split(f"{prompt}\n{story}")
        if not self.newlines:
            return detokenise(" ".join(paragraphs))
        return "\n".join(filter(None, map(detokenise, paragraphs)))


def _rows(folder: Path, split: str, advice: str) -> tuple[Path, Iterator[FileRecord]]:
    """Return the first file of a split and its rows; the fairseq files go before the hub's."""
    if prompts := find(folder, [f"{split}.wp_source"]):
        pairs = aligned(prompts, needed(folder, [f"{split}.wp_target"], advice))
        return prompts, (
            FileRecord(prompts, f"line {number}", number - 1, {"prompt": prompt, "story": story})
            for number, prompt, story in pairs
        )
    files = split_files(folder, split, f"or {split}.wp_source and {split}.wp_target; {advice}")
    return files[0], read_records(files, columns={"prompt": "prompt", "story": "story"})
