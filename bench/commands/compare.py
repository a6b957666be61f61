"""`bench compare`: every setting in which two runs differ, and whether it is the objective alone."""

import argparse
import json
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from bench.base.printable import one_line, shortened
from bench.cli_options import add_options, say_damaged, trained_run
from bench.leaderboards.audit import EXPECTED, FLAG, OBJECTIVE, Difference, audit, facts_of, only_the_objective
from bench.store.store import CellFolder, Store

LONGEST = 60
"""Greatest number of characters shown of a value."""


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `bench compare`."""
    parser.add_argument("first", metavar="A", help="TASK/METHOD of one run, TASK/METHOD/KEY, its key or its folder")
    parser.add_argument("second", metavar="B", help="likewise")
    add_options(parser, "--results")


def run(given: argparse.Namespace) -> int:
    """Print the differences; return 0 where only the objective differs and nothing is damaged, else 1."""
    store = Store(Path(given.results))
    first, second = trained_run(given.first, store), trained_run(given.second, store)
    differences = audit(facts_of(store, first), facts_of(store, second))
    print(text(first, second, differences))
    return max(say_damaged(store), int(not only_the_objective(differences)))


def text(first: CellFolder, second: CellFolder, differences: Sequence[Difference]) -> str:
    """Return the differences for people, group by group, and whether a comparison of the two is one of objectives."""
    lines = [f"A {'/'.join(first.path.parts[-3:])}", f"B {'/'.join(second.path.parts[-3:])}"]
    for group, of_group in groupby(differences, key=lambda difference: difference.group):
        note = "" if group not in EXPECTED else "  (expected)" if group == OBJECTIVE else "  (measured; does not count)"
        lines += ["", f"{group}{note}"]
        lines += [f"  {one.name}: {shown(one.first)} | {shown(one.second)}" for one in of_group]
    groups = dict.fromkeys(difference.group for difference in differences)
    if flagged := [group for group in groups if group not in EXPECTED]:
        verdict = f"{FLAG}: {', '.join(flagged)}"
    else:
        verdict = "only the objective differs" if OBJECTIVE in groups else "nothing differs"
    return "\n".join(map(one_line, [*lines, "", verdict]))


def shown(value: Any) -> str:
    """Return a value, cut where it is long.

    >>> shown(0.5), shown("a" * 80)[-3:]
    ('0.5', 'aa…')
    """
    text = json.dumps(value, ensure_ascii=False) if isinstance(value, (dict, list)) else str(value)
    return shortened(text, LONGEST)
