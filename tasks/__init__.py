"""Text-generation tasks, one LightningDataModule per file. Reading TASKS answers: what is there?"""

from dataclasses import dataclass
from typing import Any

from bench.base.registry import Entry, Resolved, find
from bench.errors import UsageError


@dataclass(frozen=True)
class TaskEntry(Entry):
    """A task and how its leaderboard looks.

    Args:
        columns: shown by default, in this order; `bench report --metric '*'` shows the rest.
        primary: the column rows are sorted by.
        title: the name that its publishers write; empty where that is the task's.
    """

    columns: tuple[str, ...] = ()
    primary: str = ""
    title: str = ""


def _names(text: str) -> tuple[str, ...]:
    """Return the names of columns that a text has between spaces."""
    return tuple(text.split())


OPEN_ENDED = _names(
    "ppl/word ppl/token kld ms-jaccard-1 ms-jaccard-2 ms-jaccard-3 self-bleu-2 self-bleu-3 distinct-1 distinct-2 rep "
    "uniq"
)

SUMMARY = ("rouge-1", "rouge-2", "rouge-l", "rouge-lsum", "ppl/word", "ppl/token")
FAITHFUL = _names("rouge-1 rouge-2 rouge-l rouge-lsum p_ent[*,level2,mean] factcc dae novel-2 ppl/word ppl/token")

TASKS: dict[str, TaskEntry] = {
    "ambiguous_template": TaskEntry(
        "bench.tasks.ambiguous_template:AmbiguousTemplate",
        "two words fit equally well; can the model name both?",
        "Chang and McCallum 2022; HistAlign section 5.1",
        columns=_names(
            "acc@2/full acc@5/full acc@10/full acc@2/cache acc@5/cache acc@10/cache acc@2/head rank/float32 "
            "rank/float64 ppl/token"
        ),
        primary="acc@2/full",
        title="Ambiguous Template",
    ),
    "logicnlg": TaskEntry(
        "bench.tasks.logicnlg:LogicNLG",
        "write a sentence that a table entails",
        "Chen et al. 2020; HistAlign section 5.1",
        columns=_names(
            "bleu-1 bleu-2 bleu-3 sentence-bleu-1 sentence-bleu-2 sentence-bleu-3 nli-acc tapex-acc tapas-acc ppl/word"
        ),
        primary="bleu-3",
        title="LogicNLG",
    ),
    "wikitext103": TaskEntry(
        "bench.tasks.wikitext103:WikiText103",
        "continue an encyclopedia's articles",
        "Merity et al. 2017; F2-Softmax section 4.1",
        columns=OPEN_ENDED,
        primary="kld",
        title="WikiText-103",
    ),
    "xsum": TaskEntry(
        "bench.tasks.xsum:XSum",
        "write one sentence about a news article",
        "Narayan et al. 2018; HistAlign section 5.1",
        columns=(*FAITHFUL, "rouge-{1,2,l}/1.5.5"),
        primary="rouge-l",
        title="XSum",
    ),
    "cnndm": TaskEntry(
        "bench.tasks.cnndm:CNNDM",
        "write the highlights of a news article",
        "See et al. 2017; HistAlign section 5.1",
        columns=FAITHFUL,
        primary="rouge-l",
        title="CNN/DailyMail",
    ),
    "gigaword": TaskEntry(
        "bench.tasks.gigaword:Gigaword",
        "write the headline of a first sentence",
        "Rush et al. 2015; Peng et al. 2019 section 4.2",
        columns=("rouge-1", "rouge-2", "rouge-l", "rep", "ppl/word", "ppl/token"),
        primary="rouge-l",
        title="Gigaword",
    ),
    "duc2004": TaskEntry(
        "bench.tasks.duc2004:Duc2004",
        "write a headline of 75 bytes, four references",
        "Over et al. 2007; Rush et al. 2015",
        columns=_names(
            "rouge-1-r rouge-2-r rouge-l-r rouge-1-r/jackknife rouge-2-r/jackknife rouge-l-r/jackknife rouge-l "
            "ppl/token"
        ),
        primary="rouge-l-r",
        title="DUC-2004",
    ),
    "nyt": TaskEntry(
        "bench.tasks.nyt:NYT",
        "write the summary of a newspaper article",
        "Sandhaus 2008; Peng et al. 2019 section 4.2",
        columns=("rouge-{1,2,l}-r/limited", *SUMMARY),
        primary="rouge-l",
        title="New York Times",
    ),
    "writingprompts": TaskEntry(
        "bench.tasks.writingprompts:WritingPrompts",
        "continue a story from its prompt",
        "Fan et al. 2018; HistAlign section 5.1",
        columns=("mauve{,[*]}", "mauve{,[*]}/sd", "ngram-diversity", "coherence{,[*]}", *OPEN_ENDED),
        primary="kld",
        title="WritingPrompts",
    ),
    "wikibio": TaskEntry(
        "bench.tasks.wikibio:Wikibio",
        "write the first sentence of a biography from its infobox",
        "Lebret et al. 2016; Peng et al. 2019 section 4.3",
        columns=("bleu", "chrf", "rouge-1", "rouge-2", "rouge-l", "ppl/word", "ppl/token"),
        primary="bleu",
        title="WikiBio",
    ),
    "lyrics": TaskEntry(
        "bench.tasks.lyrics:Lyrics",
        "continue the lyrics of Korean songs",
        "Choi et al. 2020 section 4.1 (Melo-Lyrics)",
        columns=OPEN_ENDED,
        primary="kld",
        title="Melo-Lyrics",
    ),
    "text": TaskEntry(
        "bench.tasks.text:Text",
        "continue your own text, plain or jsonl",
        columns=OPEN_ENDED,
        primary="kld",
        title="Your text",
    ),
    "pairs": TaskEntry(
        "bench.tasks.pairs:Pairs",
        "your own sources and targets, jsonl, csv, tsv or parquet",
        columns=("chrf", "bleu", "rouge-1", "rouge-2", "rouge-l", "ppl/word", "ppl/token"),
        primary="chrf",
        title="Your pairs",
    ),
    "chat": TaskEntry(
        "bench.tasks.chat:Chat",
        "your own conversations, jsonl or parquet, in the model's chat template",
        columns=("exact-match", "rouge-l", "ppl/word", "ppl/token"),
        primary="exact-match",
        title="Your conversations",
    ),
}

KNOWN_TEXTS = {
    "eba0e5ae2c3d9a2578d3439aceace492ab4ca8a6c1461cbecf54f6398eab62fa": "King James Bible",
}
"""Public texts that were trained on as a user's own, by the SHA-256 of their training rows."""


def find_task(name: str) -> Resolved:
    """Return the class of a task: built in, or a user's own.

    Raises:
        UsageError: there is none of this name, or the class is no task.
        MissingError: its module or file is not there.
    """
    return find(name, TASKS, "task", parents=["bench.tasks.core.task:Task"], check=check_task)


def check_task(name: str, value: Any) -> None:
    """Refuse a task that is incomplete.

    Raises:
        UsageError: it lacks what every task has.
    """
    if missing := sorted(value.__abstractmethods__):
        raise UsageError(f"'{name}' should define {' and '.join(missing)}; see tasks/README.md")
    for attribute in ("info", "recipes"):
        if not hasattr(value, attribute):
            raise UsageError(f"'{name}' should have a class attribute `{attribute}`; see tasks/README.md")
    if "small" not in value.recipes:
        raise UsageError(f"'{name}' should have a recipe 'small'; its recipes are: {', '.join(value.recipes)}")
    info = value.info
    if info.primary and info.primary not in info.columns:
        raise UsageError(f"'{name}' has the primary column '{info.primary}', which is not among its columns")


__all__ = ["KNOWN_TEXTS", "TASKS", "TaskEntry", "check_task", "find_task"]
