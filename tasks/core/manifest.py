"""Manifests: what the rows of a split are, so that a number can say which rows it comes from."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from bench.base.keys import canonical
from bench.errors import DataError
from bench.tasks.core.example import Example


@dataclass(frozen=True)
class Split:
    """The rows of one split and where they come from.

    Args:
        examples: the rows, in file order.
        status: `official` (as many rows as published), `subset` (fewer or more), `proxy` (another text standing
            in), `own` (a user's own text, which nobody has published as a split), `sample` (made by this project).
            Everything but `official` is a watermark wherever a number shows.
        origin: the folder or generator, for people.
        skipped: rows of the source that could not be used, as (file, row, reason); in a test split only what is too
            short by the task's own rule.
        commit: of a data set of the hub, as `owner/name@commit`; empty for any other.
    """

    name: str
    examples: Sequence[Example]
    status: str
    origin: str
    skipped: tuple[tuple[str, str, str], ...] = ()
    commit: str = ""

    def manifest(self, examples: Iterable[Example] | None = None) -> Manifest:
        """Count and hash the rows.

        Args:
            examples: the same rows, where somebody counts them as they come.
        """
        digest, size = hashlib.sha256(), 0
        if examples is None:
            examples = self.examples
        for example in examples:
            row = canonical(row_content(example)) + b"\n"
            digest.update(row)
            size += len(row)
        n_rows, n_skipped = len(self.examples), len(self.skipped)
        return Manifest(self.name, self.status, n_rows, size, digest.hexdigest(), n_skipped, self.commit)


@dataclass(frozen=True)
class Manifest:
    """Rows, bytes and SHA-256 of the canonical rows of a split, and the commit of the hub they are from."""

    split: str
    status: str
    rows: int
    bytes: int
    sha256: str
    skipped: int = 0
    commit: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Return the content for a stored file or a key; rows that are not of the hub have no commit there."""
        content = asdict(self)
        if not self.commit:
            del content["commit"]
        return content


def refuse_repeated_ids(task: str, split: Split) -> None:
    """Refuse a split in which two rows have one id: its stored rows could not be told apart.

    Raises:
        DataError: naming the id, its rows and where they are from.
    """
    row_of: dict[str, int] = {}
    for number, example in enumerate(split.examples, 1):
        if example.id in row_of:
            raise DataError(
                f"{task}, {split.name}: rows {row_of[example.id]:,} and {number:,} of {split.origin} have the id "
                f"'{example.id:.80}'; expected each id once"
            )
        row_of[example.id] = number


def row_content(example: Example) -> dict[str, Any]:
    """Return what identifies a row: everything a model or a metric can see of it."""
    return {
        "id": example.id,
        "source": example.source,
        "target": example.target,
        "references": example.references,
        "fields": {name: plain(value) for name, value in example.fields.items()},
    }


def plain(value: Any) -> Any:
    """Turn a field's value into JSON content.

    >>> plain({"pair": ("a", "b")})
    {'pair': ['a', 'b']}
    """
    if isinstance(value, str):  # first: most values of most rows are text
        return value
    if isinstance(value, dict):
        return {str(name): plain(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [part if isinstance(part, str) else plain(part) for part in value]
    if hasattr(value, "__dataclass_fields__"):
        return {name: plain(getattr(value, name)) for name in value.__dataclass_fields__}
    return value
