"""Manifests: what the rows of a split are, so that a number can say which rows it comes from."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import orjson

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
        skipped: rows of the source that the task's own rule leaves out, such as short texts, as (file, row, reason).
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
            examples: the same rows as an iterator that reports progress.
        """
        digest, size = hashlib.sha256(), 0
        if examples is None:
            examples = self.examples
        for example in examples:
            row = row_json(example) + b"\n"
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
    """Refuse a split in which two rows have one id: their stored predictions would have one name.

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


TEXT = frozenset({str})
FLAT = frozenset({str, tuple, int, float, bool, type(None)})
"""Types of values that JSON writes as it writes `plain(value)`; most tasks have no others."""


def row_json(example: Example) -> bytes:
    """Return what identifies a row, everything a model or a metric can see of it, as canonical JSON.

    Rows of texts alone are written by orjson, in a third of the time; it writes numbers otherwise than `canonical`.
    """
    fields = example.fields
    row = {
        "id": example.id,
        "source": example.source,
        "target": example.target,
        "references": example.references,
        "fields": fields,
    }
    if only_texts((example.references, *fields.values())):
        try:
            return orjson.dumps(row, option=orjson.OPT_SORT_KEYS)
        except orjson.JSONEncodeError:  # half of a surrogate pair, or fields in a mapping that is no dict
            return canonical(row)
    if not FLAT.issuperset(map(type, fields.values())):
        row["fields"] = {name: plain(value) for name, value in fields.items()}
    return canonical(row)


def only_texts(values: Iterable[Any]) -> bool:
    """Return whether each value is a text or a tuple of texts."""
    for value in values:  # a plain loop is faster than `all`, and a task has many rows
        if type(value) is not str and (type(value) is not tuple or not TEXT.issuperset(map(type, value))):
            return False
    return True


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
        if TEXT.issuperset(map(type, value)):  # such as a row of a table, for speed
            return list(value)
        return [plain(part) for part in value]
    if hasattr(value, "__dataclass_fields__"):
        return {name: plain(getattr(value, name)) for name in value.__dataclass_fields__}
    return value


# The published rows, where they have been read whole ---------------------------------------------------------------

# SHA-256 of the canonical rows with the task's default options. LogicNLG has two: its proxy training rows are
# lower-cased, and then so are the others.
PUBLISHED_ROWS: dict[tuple[str, str], tuple[str, ...]] = {
    ("logicnlg", "valid"): (
        "40a4f29f1b540b2297e90c26fa62b49f035b3c2f24d96d9e9d71f305eced4c9c",
        "0d34e2368add14fb9cd4dbd90e14e4395f74700151434c4f91e98995d65f923b",
    ),
    ("logicnlg", "test"): (
        "6a5015de66d2aa4a68fa45e14a788dcdf57524cf7739a078b1411b6d4bdc799b",
        "ec6793c230cef1ff5bb91763aa413c0494a62b0459dea0bfe58cfcc26c6416d2",
    ),
    ("wikitext103", "valid"): ("2141b3ae9d616f00874fa2709f98ad4181c48fde516d8d04dfd9aca912cc775e",),
    ("wikitext103", "test"): ("bea2d97f29cd27120a3d6f795003e9bbfa0f9894abe8b71190b2e901b41109b1",),
    ("gigaword", "test"): ("81b8bb54254cabd387487ba33fe936c3ab93287bc42d50b8ec013bb42a959ac0",),
}


def known_rows(task: str, split: str) -> tuple[str, ...]:
    """Return the hashes that a split's rows may have to be the published ones; nothing where none is known."""
    return PUBLISHED_ROWS.get((task, split), ())


def as_published(task: str, split: Split) -> Split:
    """Return a split; one that has as many rows as published, and others, is a proxy."""
    known = known_rows(task, split.name)
    if split.status != "official" or not known or split.manifest().sha256 in known:
        return split
    return replace(split, status="proxy", origin=f"{split.origin}; as many rows as published, but others")
