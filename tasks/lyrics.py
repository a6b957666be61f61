"""Melo-Lyrics: continue the lyrics of Korean songs, as F2-Softmax sections 4.1.1 and 4.1.4 do (Choi et al. 2020).

The authors have not released the songs. One instance is a song, in plain text a line of the file, with tabs between the
lines of the song:

    비가 오는 창가에 앉아<tab>너의 이름을 불러 본다<tab>비가 오는 창가에 앉아<tab>아직 너를 기다린다

Its text has an empty line at the end. A model learns blocks of consecutive tokens, and is evaluated on blocks of the
whole split and on stretches of 150 tokens, of which it is given 50. F2-Softmax's code has blocks and one stretch of
each song by itself, and leaves out songs of fewer than 50 tokens in training and of 150 or fewer in generation; the
paper says only that the test set is batchified. Words are separated by spaces (eojeol).
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from bench.base.options import Positive
from bench.tasks.core.example import Example
from bench.tasks.core.manifest import Split
from bench.tasks.core.pieces import is_blank
from bench.tasks.core.recipes import F2_KOREAN, SMALL_STREAM
from bench.tasks.core.task import Task, TaskInfo
from bench.tasks.encode.stream import Stream
from bench.tasks.files.lines import lines
from bench.tasks.files.published import NAMES, split_files
from bench.tasks.files.records import read_records
from bench.tasks.samples import sample_rows


class Lyrics(Task):
    """Songs as one running text.

    Files: `train.txt`, `valid.txt` and `test.txt` (.gz too), a song a line in which a tab ends a line of the song, as
    in F2-Softmax's code; or .jsonl or .parquet with a column `text`.

    Args:
        prefix: tokens a generation starts from.
        continuation: tokens after them that it is compared with.
        columns: the evaluated text is laid out in so many columns before it is cut. F2-Softmax's code takes 32 times
            the batch size, in which the paper has 16 (Table 7).
    """

    name: str = "lyrics"
    ends: ClassVar[bool] = False
    info: ClassVar[TaskInfo] = TaskInfo(
        source="https://aclanthology.org/2020.emnlp-main.737",
        licence="not released (lyrics are their writers')",
        sizes={"train": 430837, "valid": 23935, "test": 23935},
        evaluations=("likelihood", "generation"),
        metrics=("perplexity", "diversity", "frequency_groups"),
        language="ko",
        open_ended=True,
        folders=("melo-lyrics", "korean/lyrics"),
    )
    recipes: ClassVar[Mapping[str, Mapping[str, Any]]] = {"small": SMALL_STREAM, "paper": F2_KOREAN}

    def __init__(self, *, prefix: Positive = 50, continuation: Positive = 100, columns: Positive = 512) -> None:
        super().__init__()
        self.stream = Stream(prefix, continuation, columns)

    def read(self, folder: Path, split: str) -> Split:
        """Read the songs of a split."""
        also = [f"{name}.txt" for name in NAMES[split]]
        files = split_files(folder, split, "the authors have not released them", also=also)
        if files[0].name.removesuffix(".gz").endswith(".txt"):
            texts = [(n - 1, text.replace("\t", "\n")) for n, text in lines(files[0]) if not is_blank(text)]
        else:
            texts = [(row.number, row.texts["text"]) for row in read_records(files, columns={"text": "text"})]
        examples = [Example(f"{split}/{number}", "", text_of(text)) for number, text in self.counted(texts, split)]
        return Split(split, examples, self.status_of(split, len(examples)), str(files[0]))

    def sample(self, split: str) -> Sequence[Example]:
        """Generated songs."""
        songs = sample_rows("lyrics", split)
        return [Example(f"{split}/{song['id']}", "", text_of("\n".join(song["lines"]))) for song in songs]


def text_of(song: str) -> str:
    r"""Return a song's text with one empty line at its end.

    >>> text_of(" 비가 온다\r\n너를 부른다\n")
    '비가 온다\n너를 부른다\n\n'
    """
    return "\n".join(line.strip() for line in song.strip().splitlines()) + "\n\n"
