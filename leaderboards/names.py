"""Names of rows: what differs between rows of one method and backbone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from bench.leaderboards.row import TableRow


def name_settings(rows: Sequence[TableRow]) -> None:
    """Set the settings of each row: what differs from other rows of its method and backbone."""
    alike: dict[tuple[str, str], list[TableRow]] = defaultdict(list)
    for row in rows:
        alike[row.method, row.backbone].append(row)
    for group in alike.values():
        flat = [_flat(row.config) for row in group]
        unlike = _unlike(flat)
        several = len({row.decoding for row in group}) > 1
        for row, settings in zip(group, flat, strict=True):
            parts = [f"{name}={_short(name, settings.get(name))}" for name in unlike]
            if several:
                parts.append(row.decoding)
            row.settings = ", ".join(parts)


def short_decoding(decoding: str) -> str:
    """Return a decoding without the length of its texts and without `posterior:`, a method's own distribution.

    >>> short_decoding("posterior:topk=3+max_new_tokens=64")
    'topk=3'
    """
    parts = decoding.removeprefix("posterior:").split("+")
    return "+".join(part for part in parts if not part.startswith("max_new_tokens="))


def _unlike(flat: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the names of the settings that are not the same everywhere."""
    names = dict.fromkeys(name for settings in flat for name in settings)
    return [name for name in names if len({str(settings.get(name)) for settings in flat}) > 1]


def _short(name: str, value: Any) -> str:
    """Return the value of a setting for people; an option of a method or backbone that nobody set has none."""
    if value is None and name.startswith(("method.", "backbone.")):
        return "default"
    if name.endswith("sha256"):
        return str(value)[:8]
    return str(value)


def _flat(config: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """Return nested settings by dotted name, `_options` left out of section names."""
    flat: dict[str, Any] = {}
    for name, value in config.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{before}{name.removesuffix('_options')}.")
        else:
            flat[before + name] = value
    return flat
