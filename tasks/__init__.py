"""Text-generation tasks, one LightningDataModule per file. Reading TASKS answers: what is there?"""

from dataclasses import dataclass

from bench.entries import Entry


@dataclass(frozen=True)
class TaskEntry(Entry):
    """A task and how its leaderboard looks.

    Args:
        columns: shown by default, in this order; `bench report --columns all` shows the rest.
        primary: the column rows are sorted by.
    """

    columns: tuple[str, ...] = ()
    primary: str = ""


TASKS: dict[str, TaskEntry] = {
    "ambiguous_template": TaskEntry(
        "bench.tasks.ambiguous_template:AmbiguousTemplate",
        "two words fit equally well; can the model name both?",
        "Chang and McCallum 2022; HistAlign section 5.1",
        columns=("acc@2/full", "acc@5/full", "acc@10/full", "acc@2/cache", "acc@5/cache", "acc@10/cache", "acc@2/head",
                 "rank/float32", "rank/float64", "ppl/token"),
        primary="acc@2/full",
    ),
    "logicnlg": TaskEntry(
        "bench.tasks.logicnlg:LogicNLG",
        "write a sentence that a table entails",
        "Chen et al. 2020; HistAlign section 5.1",
        columns=("bleu-1", "bleu-2", "bleu-3", "sentence-bleu-1", "sentence-bleu-2", "sentence-bleu-3", "ppl/word"),
        primary="bleu-3",
    ),
    "text": TaskEntry(
        "bench.tasks.text:Text",
        "continue your own text, plain or jsonl",
        columns=("ppl/word", "ppl/token", "kld", "ms-jaccard-1", "ms-jaccard-2", "ms-jaccard-3", "self-bleu-2",
                 "self-bleu-3", "distinct-1", "distinct-2", "rep", "uniq"),
        primary="kld",
    ),
}  # fmt: skip

__all__ = ["TASKS", "TaskEntry"]
