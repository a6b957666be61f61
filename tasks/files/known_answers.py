"""Known answers: claims of which people have said whether their evidence supports them, to try verifiers on.

`tables`: LogicNLG's pairs of a true sentence and one with an entity or number changed
(`{val,test}_lm_pos_neg.json` of https://github.com/wenhuchen/LogicNLG, MIT).
`summaries`: sentences of summaries of XSum and CNN/DM with three judgements each (`mturk_{xsum,cnndm}.jsonl` of
https://github.com/W4ngatang/qags; Wang et al. 2020), the answer of most counted.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.errors import DataError, MissingError
from bench.tasks.fetch.sources import resolve
from bench.tasks.files.expected_files import find
from bench.tasks.files.lines import lines
from bench.tasks.files.logicnlg import read_pairs

__all__ = ["ANSWERS", "Known"]

NEWS = ("xsum", "cnndm")


@dataclass(frozen=True)
class Known:
    """A claim, what it is about, and whether it is true.

    Args:
        id: unlike others.
        text: the claim.
        gold: the evidence, named as a task names it for metrics: `source`, or `table`, `title` and `columns`.
        is_true: what people said.
    """

    id: str
    text: str
    gold: dict[str, Any]
    is_true: bool


def table_answers(data_dir: Path | None = None) -> list[Known]:
    """Return LogicNLG's pairs of the test split, or of valid where test has none, a true and a false one in turn.

    Raises:
        MissingError: there is no folder of LogicNLG, or the file is not in it.
        DataError: it cannot be used.
    """
    folder = resolve("logicnlg", data_dir).folder
    if folder is None:
        raise MissingError("needs LogicNLG's files: name them with --data-dir or BENCH_DATA (a folder with logicnlg/)")
    answers = []
    for example, answer in read_pairs(folder):
        fields = example.fields
        table = {"header": list(fields["table"].header), "rows": [list(row) for row in fields["table"].rows]}
        gold = {"table": table, "title": fields["title"], "columns": fields["columns"], "source": ""}
        answers.append(Known(example.id, example.target, gold, answer))
    return answers


def summary_answers(data_dir: Path | None = None) -> list[Known]:
    """Return the judged sentences of every file of them that is here.

    Raises:
        MissingError: there is none.
        DataError: one cannot be used.
    """
    answers: list[Known] = []
    for task in NEWS:
        folder = resolve(task, data_dir).folder
        path = folder and find(folder, [f"qags_mturk_{task}.jsonl", f"mturk_{task}.jsonl"])
        if path:
            answers += _judged(path, task)
    if not answers:
        raise MissingError(
            "needs mturk_xsum.jsonl or mturk_cnndm.jsonl of github.com/W4ngatang/qags in the folder xsum/ or cnndm/ "
            "below --data-dir or BENCH_DATA"
        )
    return answers


def _judged(path: Path, task: str) -> Iterator[Known]:
    for number, line in lines(path):
        try:
            row = json.loads(line)
            source, sentences = str(row["article"]), list(row["summary_sentences"])
            for at, sentence in enumerate(sentences):
                said = [answer["response"] for answer in sentence["responses"]]
                yes = said.count("yes")
                if yes + said.count("no") != len(said) or 2 * yes == len(said):
                    raise ValueError(f"expected an odd number of yes and no, got {said}")
                yield Known(f"{task}/{number}/{at}", str(sentence["sentence"]), {"source": source}, 2 * yes > len(said))
        except (ValueError, KeyError, TypeError) as problem:
            raise DataError(f"{path}, line {number}: expected an article with judged sentences: {problem!r}") from None


ANSWERS: dict[str, Callable[[Path | None], Sequence[Known]]] = {
    "tables": table_answers,
    "summaries": summary_answers,
}
