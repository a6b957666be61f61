"""Scale: how large the models of a verdict are, how long they were trained and on what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from bench.leaderboards.claim.claim_files import Claim, ClaimFile, Run
from bench.leaderboards.claim.evidence import PartEvidence
from bench.leaderboards.published.papers import paper_table
from bench.leaderboards.row import TableRow
from bench.leaderboards.table import Table, task_title
from bench.models.backbones import is_pretrained

__all__ = ["PAPER", "Scale", "at_papers_scale", "number", "off_scale", "scale_of"]

PAPER = "paper"  # the preset of the papers' own settings


@dataclass(frozen=True)
class Scale:
    """What the rows of a verdict are.

    Args:
        parameters: of the models.
        weights: `from scratch`, `pretrained` or both.
        lengths: of the trainings, for people; that of a fine-tuned model with the one that it starts from.
        text: the data that they were trained on.
        seeds: of the comparisons.
    """

    parameters: tuple[int, ...]
    weights: str
    lengths: tuple[str, ...]
    text: str
    seeds: tuple[int, ...]

    @property
    def words(self) -> str:
        """It in one line.

        >>> Scale((974336, 1487497), "from scratch", ("300 steps",), "King James Bible", (8, 5)).words
        '974k to 1.49M parameters from scratch, 300 steps, King James Bible, 5 to 8 seeds'
        """
        return f"{self.models}, {self.text}, {ranged([str(n) for n in sorted(self.seeds)])} seeds"

    @property
    def models(self) -> str:
        """Sizes, weights and lengths alone."""
        sizes = ranged([number(size) for size in sorted(self.parameters)])
        return f"{sizes} parameters {self.weights}, {' and '.join(self.lengths)}"


def number(size: int) -> str:
    """Return a number of parameters for people.

    >>> number(459136), number(1487497), number(124_000_000)
    ('459k', '1.49M', '124M')
    """
    return f"{size / 1000:.0f}k" if size < 10**6 else f"{size / 10**6:.3g}M"


def ranged(texts: Sequence[str]) -> str:
    """Return sorted texts as a range."""
    return texts[0] if texts[0] == texts[-1] else f"{texts[0]} to {texts[-1]}"


def scale_of(parts: Sequence[PartEvidence]) -> Scale | None:
    """Return the scale of the rows of a claim; None where nothing was compared or no row has a trained model."""
    found = [(row, part.table) for part in parts if part.effect for row in part.rows if part.table and row.parameters]
    if not found:
        return None
    weights = {"pretrained" if is_pretrained(row.backbone) else "from scratch" for row, _ in found}
    return Scale(
        tuple(dict.fromkeys(row.parameters for row, _ in found if row.parameters)),
        " and ".join(sorted(weights)),
        tuple(dict.fromkeys(_length(row) for row, _ in found)),
        " and ".join(dict.fromkeys(_text(table) for _, table in found)),
        tuple(dict.fromkeys(len(part.effect.by_seed) for part in parts if part.effect)),
    )


def _length(row: TableRow) -> str:
    """Return how long a row was trained."""
    trainer, start = row.config["trainer"], row.config.get("start")
    own = f"{trainer['steps']:,}" if trainer["steps"] else f"{trainer.get('epochs', 0):g} epochs"
    unit = " steps" if trainer["steps"] else ""
    return f"{start['trainer']['steps']:,} + {own}{unit}" if start else f"{own}{unit}"


def _text(table: Table) -> str:
    """Return the name of what models were trained on, and whether that is all of it."""
    title, status = task_title(table.task, table.data_title), table.status.get("train", "official")
    if status == "official" or table.data_title:
        return title
    return {"own": "a text without a name", "subset": f"a subset of {title}"}.get(status, f"{title}, {status} data")


def at_papers_scale(claim: Claim, file: ClaimFile) -> tuple[Claim, Mapping[str, Run]]:
    """Return a claim and its runs as they are looked for in the preset of the papers.

    The runs of a file are small. In the papers' preset a claim is about the task of its table with the settings of its
    recipe; the settings that tell small runs apart fall away.
    """
    runs = {name: replace(run, preset=PAPER, where={}, sets=()) for name, run in file.runs.items()}
    if claim.table and (task := paper_table(claim.table).rows[0][0].task):
        runs = {name: replace(run, task=task) for name, run in runs.items()}
    return replace(claim, parts=tuple(part.without_settings for part in claim.parts)), runs


def off_scale(claim: Claim, parts: Sequence[PartEvidence], preset: str) -> str:
    """Return why the rows of a claim are not those of the paper's table, or nothing where they are."""
    if preset != PAPER:
        return "not the paper's settings"
    if not claim.table:
        return "no table of the paper has it"
    for part in parts:
        if part.table is None or part.table.watermark:
            return part.table.watermark if part.table is not None else "nothing is stored"
        if any(claim.backbone not in ("", row.backbone) for row in part.rows if row.backbone):
            return f"the paper's backbone is {claim.backbone}"
    return ""
