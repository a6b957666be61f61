"""NYT: write the summary of a newspaper article (Sandhaus 2008; the split of Durrett et al. 2016).

Source: https://catalog.ldc.upenn.edu/LDC2008T19 (licensed by the LDC). One instance, in the published form and in our
own words, shortened; a file for each article:

    data/2006/01/02/1728000.xml
    <nitf><head><docdata><doc-id id-string="1728000"/></docdata>
      <pubdata date.publication="20060102T000000"/></head>
      <body><body.head><abstract><p>Bridge over Orrin is closed after cracks are found; repairs will take month (S)</p>
      </abstract></body.head><body.content><block class="full_text"><p>The bridge over the river Orrin was closed ...
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

from bench.tasks.core.example import Example
from bench.tasks.core.manifest import Split
from bench.tasks.core.pieces import is_blank
from bench.tasks.core.recipes import SMALL, peng
from bench.tasks.core.task import Task, TaskInfo
from bench.tasks.files.bad_rows import BadRow, Skipped
from bench.tasks.files.gigaword_form import gigaword_form
from bench.tasks.files.nyt import Article, File, Rule, files_of, parse, read_rule
from bench.tasks.samples import sample_rows

LONG = 50
"""Tokens that a summary of the smaller test split has more than (Peng et al. 2019 section 4.2)."""
LONG_TEST = 3452


class NYT(Task):
    """Article to summary.

    An article is a row if it has a summary and a text; the others, most of the corpus, are left out and counted. What
    is no article is a bad row. Paragraphs are lines; a summary stays as it is, with marks like "(S)" for its length.

    Peng et al. 2019 give: the split and preprocessing of Durrett et al. 2016, 91,834 training articles and 9,000 drawn
    from the same for validation, 9,706 test articles (Table 1) of which the 3,452 with summaries of more than 50 tokens
    are evaluated, sources cut after 1,000 BPE units. Durrett et al. released the ids with their annotations
    (berkeley-doc-summarizer: articles of 2003 to 2007, those of 2007 for test). Unknown: which 9,000 were drawn; by
    what rule Durrett et al. chose among the articles that have summaries, so without their ids a split has other rows,
    and is a subset by status; how tokens were counted: here as Gigaword's are.

    Their recall at the length of the reference (Table 3) is not computed; ROUGE here is F1.

    Files: `data/YYYY/MM/DD/*.xml`, or `data/YYYY/MM.tgz` as published. Ids, where there are any beside `data`: see
    `bench.tasks.files.nyt.read_rule`.

    Args:
        test: `all` test articles, or the `long` ones, whose summaries have more than 50 tokens.
        first_year: of training articles, where no ids say which they are.
    """

    name: str = "nyt"
    may_be_empty: ClassVar[bool] = True
    info: ClassVar[TaskInfo] = TaskInfo(
        summary="write the summary of a newspaper article",
        source="https://catalog.ldc.upenn.edu/LDC2008T19",
        licence="LDC user agreement",
        sizes={"train": 91834, "valid": 9000, "test": 9706},
        evaluations=("likelihood", "generation"),
        metrics=("rouge", "rouge_limited", "copying", "perplexity"),
        folders=("nyt_corpus", "LDC2008T19"),
    )
    recipes: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "small": {**SMALL, "trainer.max_target": 60},
        "paper": {
            **peng(width=300, layers=2, vocabulary=10_000, exemplar_width=50, max_source=1000, max_target=300),
            "task.test": "long",
        },
    }

    def __init__(self, *, test: Literal["all", "long"] = "all", first_year: int = 2003) -> None:
        super().__init__()
        self.test_rows, self.first_year = test, first_year

    def read(self, folder: Path, split: str) -> Split:
        """Read the articles of a split from the corpus."""
        bad_rows, rule = self.bad_rows(split), read_rule(folder, self.first_year)
        rows: dict[str, Example] = {}
        left_out: list[Skipped] = []
        for file in files_of(folder, split, rule):
            try:
                article = parse(file.content)
                check_day(file, article, rule, split)
                if file.id in rows:
                    raise BadRow("is there twice; expected each article once")
            except BadRow as problem:
                bad_rows.add(file.path, file.row, str(problem))
                continue
            if reason := self.missing(article, split):
                left_out.append(Skipped(file.path.name, file.row, reason))
            else:
                text, summary = "\n".join(article.paragraphs), article.abstract
                rows[file.id] = Example(file.id, text, summary, (summary,))
        status, by = "subset", "day"
        if split in rule.lists:
            status, by = self.status_of(split, len(rows)), "ids"
        origin = f"{folder}; by {by}; {len(left_out):,} articles are no rows"
        return Split(split, list(rows.values()), status, origin, (*bad_rows.closed(), *left_out))

    def status_of(self, split: str, rows: int) -> str:
        """Return `official` when a split has as many rows as the paper evaluates or trains on, else `subset`."""
        if split == "test" and self.test_rows == "long":
            return "official" if rows == LONG_TEST else "subset"
        return super().status_of(split, rows)

    def missing(self, article: Article, split: str) -> str:
        """Say why an article is no row, or nothing."""
        if is_blank(article.abstract):
            return "has no summary"
        if all(map(is_blank, article.paragraphs)):
            return "has no text"
        if split == "test" and self.test_rows == "long" and len(gigaword_form(article.abstract).split()) <= LONG:
            return f"its summary has no more than {LONG} tokens"
        return ""

    def sample(self, split: str) -> Sequence[Example]:
        """Generated articles about invented events; a summary is their highlights in one line."""
        made = []
        for article in sample_rows("news", split):
            first, *others = [point.removesuffix(".") for point in article["highlights"]]
            summary = "; ".join([first, *(re.sub("^The ", "the ", point) for point in others)])
            made.append(Example(article["id"], "\n".join(article["body"]), summary, (summary,)))
        return made


def check_day(file: File, article: Article, rule: Rule, split: str) -> None:
    """Refuse an article whose own day puts it in another split than its folder does.

    Raises:
        BadRow: it does.
    """
    if article.day and rule.split_of(file.id, article.day) != split:
        raise BadRow(f"was published on {article.day} and lies in the folder of {file.day}; these are in two splits")
