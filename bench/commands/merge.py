"""`bench merge A B`: copies the cells of store A into store B; nothing there is overwritten."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from bench.cli_options import json_option


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `bench merge`."""
    parser.add_argument("source", type=Path, metavar="A", help="the store that is copied; only read")
    parser.add_argument("into", type=Path, metavar="B", help="the store that takes what it lacks")
    parser.add_argument("--dry-run", action="store_true", help="say what would be copied")
    json_option(parser)


def run(given: argparse.Namespace) -> int:
    """Copy; return 0, or 1 where files are in conflict or damaged."""
    from bench.base.outward import plain
    from bench.store.merging import merge

    merged = merge(given.source, given.into, write=not given.dry_run)
    if given.json:
        damaged = [str(error.path) for error in merged.damaged]
        content = {"copied": merged.copied, "same": merged.same, "conflicts": merged.conflicts, "damaged": damaged}
        print(json.dumps(content, indent=1))
    else:
        verb = "copied"
        if given.dry_run:
            verb = "would copy"
        print(f"{verb} {len(merged.copied)} files, {merged.same} were there, {len(merged.conflicts)} conflicts")
    for name in merged.conflicts:
        print(plain(f"bench: conflict: {name}: '{given.into}' has another one, which stays"), file=sys.stderr)
    for error in merged.damaged:
        print(plain(f"bench: not copied: {error}"), file=sys.stderr)
    return int(bool(merged.conflicts or merged.damaged))
