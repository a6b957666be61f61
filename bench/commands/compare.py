"""`bench compare`: what two trained cells differ in, and whether that is the objective alone."""

from __future__ import annotations

import argparse
import difflib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.errors import MissingError, StoreError, UsageError, did_you_mean
from bench.leaderboards.audit import FLAG, OBJECTIVE, Difference, Record, audit, only_the_objective
from bench.leaderboards.render.grid import plain
from bench.store.store import CellFolder, Store

LONGEST = 60
"""Characters of a value."""


def compare(given: argparse.Namespace) -> int:
    """Print the differences; return 0 where only the objective differs, else 1."""
    one, other = (cell_of(name, Path(given.results)) for name in (given.one, given.other))
    found = audit(record_of(one), record_of(other))
    fair = only_the_objective(found)
    if given.json:
        print(json.dumps({"one": str(one.path), "other": str(other.path), "only_the_objective": fair,
                          "differences": [{**vars(d), "expected": d.expected} for d in found]}, indent=1))  # fmt: skip
    else:
        print(text(one, other, found))
    return 0 if fair else 1


def cell_of(name: str, results: Path) -> CellFolder:
    """Return the cell of a folder, or of a key or its beginning.

    Raises:
        MissingError: there is no such trained cell.
        UsageError: several keys begin so.
    """
    if (Path(name) / "trained.json").is_file():
        return CellFolder(Path(name))
    held = {cell.path.name: cell for cell in Store(results).cells() if (cell.path / "trained.json").is_file()}
    alike = [cell for key, cell in held.items() if key == name] or [
        cell for key, cell in held.items() if len(name) >= 4 and key.startswith(name)]  # fmt: skip
    if len(alike) > 1:
        raise UsageError(f"{len(alike)} cells in '{results}' have a key that begins with '{name}'; type more of it")
    if not alike:
        near = did_you_mean(name, difflib.get_close_matches(name, held, n=1))
        raise MissingError(
            f"no trained cell '{name}': it is no folder with trained.json, and no key in '{results}'{near}"
        )
    return alike[0]


def record_of(cell: CellFolder) -> Record:
    """Read what is stored of a cell."""
    content = cell.trained()
    assert content is not None
    path = cell.path / "trained.json"
    try:
        provenance = json.loads(path.read_text(encoding="utf-8"))["provenance"]
    except (OSError, ValueError, KeyError) as error:
        raise StoreError(f"'{path}' cannot be read: {type(error).__name__}: {error}") from error
    return Record(content, provenance, [score["of"] for score in cell.all_scores()])


def text(one: CellFolder, other: CellFolder, found: Sequence[Difference]) -> str:
    """Return the differences for people, group by group."""
    said = [f"A {'/'.join(one.path.parts[-3:])}", f"B {'/'.join(other.path.parts[-3:])}"]
    group = ""
    for difference in found:
        if difference.group != group:
            group = difference.group
            said.append(f"\n{group}" + ("" if not difference.expected else "  (expected)" if group == OBJECTIVE
                                        else "  (measured; does not count)"))  # fmt: skip
        said.append(f"  {difference.name}: {shown(difference.one)} | {shown(difference.other)}")
    flagged = list(dict.fromkeys(difference.group for difference in found if not difference.expected))
    said.append("")
    if flagged:
        said.append(f"{FLAG}: {', '.join(flagged)}")
    else:
        said.append("only the objective differs" if any(d.group == OBJECTIVE for d in found) else "nothing differs")
    return "\n".join(plain(line) for part in said for line in part.split("\n"))


def shown(value: Any) -> str:
    """Return a value, cut where it is long.

    >>> shown(0.5), shown("a" * 80)[-3:]
    ('0.5', 'aa…')
    """
    said = json.dumps(value, ensure_ascii=False) if isinstance(value, (dict, list)) else str(value)
    return said if len(said) <= LONGEST else said[: LONGEST - 1] + "…"
