"""Kinds: what `bench new` can begin, and where each belongs in a checkout of this project."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from bench.base.entries import all_names
from bench.metrics import METRICS
from bench.models import ALIASES, GROUPS, METHODS
from bench.models.backbones import BACKBONES
from bench.tasks import TASKS

__all__ = ["KINDS", "Kind"]


@dataclass(frozen=True)
class Kind:
    """One kind of entry.

    Args:
        folder: of its files in a checkout; the table is in `__init__.py` of the room.
        room: whose `__init__.py` has the table.
        table: name of the table.
        line: its line there.
        taken: names that it may not have.
        imported: names that its file imports, which it may not be called.
        given: what is imported from its file by its test.
        is_class: whether it is a class, which is named in capitals.
        next: what to do with it next; `$asked` is what is typed.
        columns: what a task of one's own says of its leaderboard, which a built-in one has in the table.
        entry_import: what a metric imports, elsewhere than in a checkout.
        entry: its entry there.
    """

    folder: str
    room: str
    table: str
    line: str
    taken: Iterable[str]
    imported: frozenset[str]
    given: str
    is_class: bool
    next: tuple[str, ...]
    columns: str = ""
    entry_import: str = ""
    entry: str = ""


KINDS = {
    "method": Kind(
        folder="models",
        room="models",
        table="METHODS",
        line='    "$name": MethodEntry("bench.models.$name:$class", "to be described", "Lin et al. 2017"),\n',
        taken=(*all_names(METHODS), *ALIASES, *GROUPS),
        imported=frozenset({"Annotated", "Any", "Backbone", "ClassVar", "Objective", "Range", "Rows", "Tensor"}),
        given="$class, focal",
        is_class=True,
        next=("bench check $asked", "bench run --task logicnlg --method mle,$asked"),
    ),
    "task": Kind(
        folder="tasks",
        room="tasks",
        table="TASKS",
        line='    "$name": TaskEntry(\n'
        '        "bench.tasks.$name:$class",\n'
        '        "to be described",\n'
        '        columns=("chrf", "bleu", "ppl/word"),\n'
        '        primary="chrf",\n'
        "    ),\n",
        taken=all_names(TASKS),
        imported=frozenset({"Any", "ClassVar", "Example", "Mapping", "Path", "Sequence", "Split", "Task", "TaskInfo"}),
        given="$class",
        is_class=True,
        next=("bench check $asked", "bench run --task $asked --method mle"),
        columns='\n        columns=("chrf", "bleu", "ppl/word"),\n        primary="chrf",',
    ),
    "metric": Kind(
        folder="metrics",
        room="metrics",
        table="METRICS",
        line='    "$name": MetricEntry(\n'
        '        "bench.metrics.$name:${name}_scores",\n'
        '        "to be described",\n'
        '        columns=("=$column",),\n'
        '        kind="generation",\n'
        '        gold=("target",),\n'
        "    ),\n",
        taken=all_names(METRICS),
        imported=frozenset({"ordered", "ratio", "score_of_sums", "annotations"}),
        given="${name}_scores",
        is_class=False,
        next=(
            "bench check $asked",
            "bench run --task logicnlg --method mle --metrics $asked",
            "bench score results --metrics $asked",
        ),
        entry_import="from bench import Metric\n",
        entry="\n\n$name = Metric(\n"
        '    f"{__name__}:${name}_scores",\n'
        '    "words of texts over words of references",\n'
        '    columns=("=$column",),\n'
        '    kind="generation",\n'
        '    gold=("target",),\n'
        ")\n",
    ),
    "backbone": Kind(
        folder="models/backbones",
        room="models/backbones",
        table="BACKBONES",
        line='    "$name": BackboneEntry("bench.models.backbones.$name:$name", "to be described"),\n',
        taken=all_names(BACKBONES),
        imported=frozenset({"annotations", "seed_of", "torch", "weights"}),
        given="$name",
        is_class=False,
        next=("bench check $asked", "bench run --task logicnlg --method mle --backbone $asked"),
    ),
}
