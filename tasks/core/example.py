"""Example: one row of a task, as it was published or generated, before any tokenizer has seen it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Example:
    """One row: what a model reads, what it should write, and whatever else its task knows about it.

    Args:
        id: stable name of the row, unique in its split; scores, samples and subsets refer to it.
        source: the text a model is conditioned on; empty where there is none or where the task makes it from `fields`.
        target: the text a model is trained to write.
        references: every text the output is compared with, the target among them; empty where nothing is compared.
        fields: what only some tasks have, such as a table. Left out of the hash because a mapping has none.

    >>> Example("rivers/0", source="", target="the aldra is the longest river").references
    ()
    """

    id: str
    source: str
    target: str
    references: tuple[str, ...] = ()
    fields: Mapping[str, Any] = field(default_factory=dict, hash=False)
