"""Migrations: a stored record of an older schema becomes one of today's when it is read; its file stays as it is.

A new schema is a higher `SCHEMA`, one function from the schema before, its line in `MIGRATIONS`, and a test of it. The
functions are applied one after another, so each knows two schemas only.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from bench.base.version import __version__

__all__ = ["MIGRATIONS", "SCHEMA", "NewerSchema", "check_schema", "migrated"]

Record = dict[str, Any]
"""`kind` and `content` of a stored record; of a rows file also `rows`."""

SCHEMA = 1
"""Of what this version writes."""

MIGRATIONS: Mapping[int, Callable[[Record], Record]] = {}
"""By the schema that a function reads; it returns the record in the next one: `{1: from_1_to_2, 2: from_2_to_3}`."""

VERSION = re.compile(r"[0-9][0-9A-Za-z.+-]{0,30}")


class NewerSchema(ValueError):
    """A record was written by a later version.

    Args:
        schema: of the record.
        version: that wrote it, empty where the record does not say.
    """

    def __init__(self, schema: int, version: str) -> None:
        self.version = version
        writer = ""
        if version:
            writer = f", written by version {version}"
        super().__init__(
            f"it has schema {schema}{writer}; this is version {__version__}, which reads up to schema {SCHEMA}"
        )

    @property
    def todo(self) -> str:
        """What to do: the file is good."""
        if self.version:
            return f"install it with pip install 'objective-bench>={self.version}'; the file is good, keep it"
        return "install a later version with pip install --upgrade objective-bench; the file is good, keep it"


def check_schema(schema: object, provenance: object) -> int:
    """Return the schema of a record that this version can read.

    Args:
        schema: as it is stored.
        provenance: of the record, which says the version that wrote it.

    Raises:
        NewerSchema: it is a later one.
        ValueError: it is no schema.
    """
    if not isinstance(schema, int) or schema < 1:
        raise ValueError(f"its schema is {schema!r:.40}, expected a whole number from 1 to {SCHEMA}")
    if schema > SCHEMA:
        version = None
        if isinstance(provenance, Mapping):
            version = provenance.get("bench")
        if version == __version__:
            raise ValueError(f"its schema is {schema}, and version {version}, which wrote it, has none above {SCHEMA}")
        if not isinstance(version, str) or not VERSION.fullmatch(version):
            version = ""
        raise NewerSchema(schema, version)
    return schema


def migrated(record: Record, schema: int) -> Record:
    """Return a record of some schema in today's.

    Args:
        record: `kind` and `content`, of a rows file also `rows`; not changed.
        schema: of the record.

    Raises:
        ValueError: there is no way from its schema to today's.
    """
    for step in range(schema, SCHEMA):
        if step not in MIGRATIONS:
            raise ValueError(f"it has schema {schema}, and this version has no way from schema {step} to {step + 1}")
        record = MIGRATIONS[step](record)
    return record
