"""LogicNLG: write a sentence that a table entails (Chen et al. 2020).

Source: https://github.com/wenhuchen/LogicNLG (MIT). One instance, as published:

    table 2-18424778-6.html.csv, title "black ice (album)", linked columns [0, 1]
    region | date | label | format | catalog
    "Black Ice was released in 6 Country in 2008"
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

from bench.tasks.core.example import Example
from bench.tasks.core.manifest import Split
from bench.tasks.core.recipes import BART, MID, SMALL
from bench.tasks.core.task import Task, TaskInfo
from bench.tasks.encode.codec import Codec
from bench.tasks.files.logicnlg import Train, has_only_the_proxy, read_split
from bench.tasks.files.tables import MARKERS, Table, linearise
from bench.tasks.samples import sample_rows


class LogicNLG(Task):
    """Table to text.

    Args:
        train: `official` reads train_lm.json; `proxy` trains on TabFact statements about part of the same tables,
            lower-cased, and lower-cases the other splits too; `auto` is `official` where there is such a file, else
            `proxy`. Results of the proxy are marked as such.
        style: `plog` writes tables with markers, ranks, sums and averages (PLOG's numerical pre-computation, as the
            HistAlign paper does, A.4); `compact` is a short plain form for small models.
    """

    name: str = "logicnlg"
    info: ClassVar[TaskInfo] = TaskInfo(
        source="https://github.com/wenhuchen/LogicNLG",
        licence="MIT (tables from Wikipedia, CC BY-SA)",
        sizes={"train": 28450, "valid": 4260, "test": 4305},
        evaluations=("likelihood", "generation"),
        metrics=("table_bleu", "tapex", "tapas", "nli", "perplexity", "cache_hits"),
    )
    recipes: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "small": {
            **SMALL,
            "task.style": "compact",
            "trainer.steps": 300,
            "trainer.max_source": 96,
            "evaluation.rows": 1000,
            "histalign:method.alpha": 0.5,
            "finetuned:trainer.steps": 100,
        },
        "mid": {
            **MID,
            "decode": "greedy",
            "task.style": "compact",
            "trainer.steps": 65,
            "trainer.max_source": 120,
            "trainer.max_target": 40,
            "histalign:method.alpha": 0.5,
        },
        # HistAlign Table 8 and A.4; weight decay and the precision of `released` from the authors' script.
        "paper": {
            "backbone": "bart-large",
            "methods": "mle,trime,histalign",
            "decode": BART,
            "trainer.epochs": 10,
            "trainer.batch_size": 64,
            "trainer.lr": 5e-5,
            "trainer.warmup": 0.0,
            "trainer.weight_decay": 0.01,
            "trainer.max_source": 500,
            "trainer.max_target": 200,
            "trainer.precision": "bf16-mixed",
            "trime.released:trainer.precision": "32-true",
            "histalign.released:trainer.precision": "32-true",
            "histalign:method.alpha": 0.5,
        },
    }

    def __init__(
        self, *, train: Literal["auto", "official", "proxy"] = "auto", style: Literal["plog", "compact"] = "plog"
    ) -> None:
        super().__init__()
        self.train_from, self.style = train, style
        self.markers = MARKERS if style == "plog" else ()

    def read(self, folder: Path, split: str) -> Split:
        """Read the published files."""
        train: Train = "official"
        if self.proxy(folder):
            train = "proxy"
        examples = read_split(folder, split, train)
        status = self.status_of(split, len(examples))
        if split == "train" and train == "proxy":
            status = "proxy"
        return Split(split, examples, status, str(folder))

    def proxy(self, folder: Path) -> bool:
        """Return whether other statements about the same tables stand in for the training split."""
        if self.train_from == "auto":
            return has_only_the_proxy(folder)
        return self.train_from == "proxy"

    def sample(self, split: str) -> Sequence[Example]:
        """Generated tables and statements that are true of them, each with its program in `fields`."""
        examples = []
        for row in sample_rows("logicnlg", split):
            table_id = f"{row['id']}.csv"
            table = Table(tuple(row["header"]), tuple(map(tuple, row["rows"])))
            references = tuple(text for text, _, _ in row["statements"])
            for number, (text, columns, logic) in enumerate(row["statements"]):
                fields = {
                    "table": table,
                    "title": row["title"],
                    "columns": tuple(columns),
                    "table_id": table_id,
                    "logic": tuple(logic),
                }
                examples.append(Example(f"{table_id}/{number}", "", text, references, fields))
        return examples

    def cluster_of(self, name: str) -> str:
        """Return the table."""
        return name.rpartition("/")[0]

    def source_text(self, example: Example, codec: Codec) -> tuple[str, int]:
        """Linearise the linked columns; cells that do not fit are left out whole, and counted."""
        budget = None
        if codec.tokenizer is not None:
            budget = codec.max_source
        return linearise(
            example.fields["table"],
            example.fields["title"],
            example.fields["columns"],
            style=self.style,
            cost=lambda text: len(codec.ids([text])[0]),
            budget=budget,
        )
