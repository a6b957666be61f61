"""Superseded: rows of a method's older code, which are left out where its newer code stands in the same table."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from bench.leaderboards.groups import Group

OTHER_CELLS = ("start", "second")
"""Cells that a cell is made of: whose weights it starts from, and its second model."""


def leave_out_superseded(group: Group) -> dict[str, set[str]]:
    """Take the rows of older code out of a group where the newest of that method, backbone and decoding has a row.

    Two versions of a method are two methods under one name: side by side they would be ranked, tested and averaged as
    if somebody had compared them. An older row with nothing newer stays, for it is all there is. A method of the user's
    own has a hash in place of a version, of which none is older.

    Returns:
        The keys of the cells that were taken out, by reason.
    """
    alike: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for key, row in group.rows.items():
        alike[row.method, row.backbone, row.decoding].append(key)
    cells: dict[str, set[str]] = defaultdict(set)
    for (method, _, _), keys in alike.items():
        versions = [versions_of(group.rows[key].config) for key in keys]
        for key, own in zip(keys, versions, strict=True):
            newer = [other for other in versions if is_older(own, other)]
            if newer:
                reason = f"cells of older code are left out: {method}, {difference(own, newer[0])}"
                cells[reason] |= group.rows.pop(key).keys
    return cells


def is_older(versions: Mapping[str, int], others: Mapping[str, int]) -> bool:
    """Whether no part of some code is newer than that of other code, and one is older; both as `versions_of` has them.

    >>> is_older({"code": 2}, {"code": 3}), is_older({"code": 2}, {}), is_older({"code": 2}, {"code": 2})
    (True, False, False)
    """
    if versions == others or versions.keys() != others.keys():
        return False
    return all(version <= others[part] for part, version in versions.items())


def versions_of(config: Mapping[str, Any], before: str = "") -> dict[str, int]:
    """Return the version of every method that a row's cells are made of, by where it stands in its configuration.

    >>> versions_of({"code": {"version": 2}, "start": {"code": {"version": 1}}})
    {'code': 2, 'start.code': 1}
    """
    found = {}
    code = config.get("code", {})
    if "version" in code:
        found[f"{before}code"] = int(code["version"])
    for part in OTHER_CELLS:
        if part in config:
            found |= versions_of(config[part], f"{before}{part}.")
    return found


def difference(versions: Mapping[str, int], newer: Mapping[str, int]) -> str:
    """Say which versions differ, for people.

    >>> difference({"code": 2, "start.code": 1}, {"code": 3, "start.code": 1})
    'version 2 where version 3 stands too'
    """
    parts = []
    for part, version in versions.items():
        if version != newer[part]:
            of = part.removesuffix("code").removesuffix(".")
            parts.append(f"{of} version {version} where version {newer[part]} stands too".lstrip())
    return ", ".join(parts)
