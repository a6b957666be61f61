"""`bench store`: the state of stored runs, whether they are right, and copies of them."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.base.printable import number_of, one_line
from bench.cli_options import add_options, say_damaged, stored_runs, task_names, trained_run
from bench.errors import MissingError, StoreError, UsageError, each_once
from bench.store.files import run_folders
from bench.store.reading import CellRecords, read_cells
from bench.store.store import Store

if TYPE_CHECKING:
    from bench.verify import Verification


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options of each action of `bench store`."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    status = actions.add_parser("status", help="the state of every run", allow_abbrev=False)
    add_options(status, "--results", "--task", "--json")
    check = actions.add_parser("verify", help="compute values and keys again", allow_abbrev=False)
    add_options(check, "cells", "--json")
    join = actions.add_parser("join", help="copy the runs of stores into another", allow_abbrev=False)
    join.add_argument("source", nargs="+", type=Path, metavar="FROM", help="a store or snapshot; only read")
    join.add_argument("into", type=Path, metavar="INTO", help="the store that they are copied into")
    snapshot = actions.add_parser("snapshot", help="records and statistics as three small tables", allow_abbrev=False)
    snapshot.add_argument("folder", type=Path, metavar="FOLDER", help="new; every command that reads a store reads it")
    snapshot.add_argument("--submitted-by", default="", metavar="NAME", help="shown with its rows (docs/submit.md)")
    add_options(snapshot, "--results")
    leave = actions.add_parser("export", help="a trained run as a folder of transformers", allow_abbrev=False)
    leave.add_argument("run", metavar="TASK/METHOD/KEY", help="or TASK/METHOD of one run, its key or its folder")
    loads = "AutoModelForCausalLM loads it, or AutoModelForSeq2SeqLM an encoder-decoder"
    leave.add_argument("folder", type=Path, metavar="FOLDER", help=f"new; {loads}")
    add_options(leave, "--results")


def run(given: argparse.Namespace) -> int:
    """Run an action; return the exit code."""
    return ACTIONS[given.action](given)


# Status ------------------------------------------------------------------------------------------------------------


def show_status(given: argparse.Namespace) -> int:
    """Print the state of every run; return 0, or 1 if files are damaged."""
    store = Store(Path(given.results))
    runs = list(run_states(store, task_names(given.task, store)))
    if given.json:
        print(json.dumps(runs, indent=1))
    elif not runs:
        print(f"no runs in '{store.root}' yet; bench run --task logicnlg --method mle makes some")
    else:
        states = [run["status"] for run in runs]
        counts = ", ".join(f"{states.count(state)} {state}" for state in dict.fromkeys(sorted(states)))
        print("\n".join([*map(status_line, runs), f"{number_of(len(runs), 'runs')}: {counts}"]))
    return say_damaged(store)


def run_states(store: Store, tasks: Sequence[str] | None) -> Iterator[dict[str, Any]]:
    """Yield the state of every run: that of its record, or `running`, `unfinished`, `incomplete` or `damaged`."""
    from bench.store.state_files import STATE, StateFiles

    known = set[Path]()
    for run in read_cells(store, tasks):
        known.add(run.folder.path)
        state = stored_state(run, store)
        if holder := holder_of(run.folder.path):
            state |= {"status": "running", "error": holder}
        elif state["status"] == "ok" and not state["scores"]:
            missing = "it has no predictions; bench run makes them"
            if state["rows"]:
                missing = "its predictions have no scores; bench score makes them"
            state |= {"status": "incomplete", "error": missing}
        yield state
    for folder in run_folders(store.root, tasks):
        task, method, key = folder.parts[-3:]
        states, holder = StateFiles(folder / STATE).paths(), holder_of(folder)
        if folder in known or not (states or holder):
            continue
        about = {"task": task, "method": method, "backbone": None, "seed": None, "preset": None, "rows": 0, "scores": 0}
        status = "running" if holder else "unfinished"
        yield {"status": status, "key": key, **about, "error": holder or f"its last state is {states[0].stem}"}


def stored_state(run: CellRecords, store: Store) -> dict[str, Any]:
    """Return the state of a run as its records have it."""
    record = run.failed or run.trained or {}
    task, method, key = run.folder.path.parts[-3:]
    config = record.get("config", {"task": task, "method": method})
    status, error = record.get("status", "?"), str(record.get("error") or "")
    damaged = [found for path, found in store.damaged.items() if path.parent == run.folder.path]
    if not record and damaged:
        status, error = "damaged", "; ".join(f"{found.path.name}: {found.why}" for found in damaged)
    return {
        "status": status,
        "key": record.get("key", key),
        **{name: config.get(name) for name in ("task", "method", "backbone", "seed", "preset")},
        "rows": sum(name.startswith("rows-") for name in run.names),
        "scores": sum(name.startswith("scores-") for name in run.names),
        "error": "".join(error.splitlines()[:1]),
    }


def holder_of(folder: Path) -> str:
    """Say which process works on a run and holds its lock; empty if none does."""
    from bench.launch.lock import LOCK, LockedError, locked

    if not (folder / LOCK).exists():
        return ""
    try:
        with suppress(StoreError), locked(folder):  # where no file can be written, nobody holds it
            pass
    except LockedError as error:
        return f"it {error}"
    return ""


def status_line(run: Mapping[str, Any]) -> str:
    """Return the state of a run as one line."""
    about = f"{run['task']} · {run['method']}"
    if run["backbone"] is not None:
        about += f" · {run['backbone']} · seed {run['seed']}"
    line = f"{run['status']:<11}{about}  [{run['key']}]"
    line += f"  {run['rows']} predictions files, {run['scores']} scores files"
    if run["error"]:
        line += f"  {run['error']}"
    return one_line(line)


# Exporting ----------------------------------------------------------------------------------------------------------


def export_run(given: argparse.Namespace) -> int:
    """Write the model of one run as a folder of `transformers`; print the parts of the method that are lost.

    Raises:
        MissingError: no run or several have such a name.
    """
    from bench.integrations.folder import export_model

    run = trained_run(given.run, Store(Path(given.results)))
    lost = export_model(run, given.folder)
    print(f"{'/'.join(run.path.parts[-3:])}: written to {given.folder}" + (f"\n{lost}" if lost else ""))
    return 0


def write_snapshot(given: argparse.Namespace) -> int:
    """Write the trained runs of a store as a snapshot; print its size.

    Raises:
        UsageError: the folder is there.
        MissingError: the store has no trained run.
    """
    from bench.store.export import export

    if given.folder.exists():
        raise UsageError(f"expected a new folder; '{given.folder}' exists")
    if not any(cell.trained() is not None for cell in Store(Path(given.results)).cells()):
        raise MissingError(f"no trained runs in '{given.results}'; name a results folder with --results")
    export(Path(given.results), given.folder, one_line(given.submitted_by))
    size = sum(path.stat().st_size for path in given.folder.iterdir())
    print(f"{given.folder}: {size / 1000:.0f} kB")
    return 0


# Verifying and joining --------------------------------------------------------------------------------------------


def verify_runs(given: argparse.Namespace) -> int:
    """Compute values and keys again.

    Returns:
        0 if all is as stored, 1 if something differs; if nothing differs, the code of what could not be checked: 3 for
        a missing model.
    """
    from bench.commands.score import exit_code
    from bench.verify import verify

    found = verify(stored_runs(given))
    if given.json:
        not_checked = [f"{place}: {error}" for place, error in found.not_checked.items()]
        content = {**vars(found), "not_checked": not_checked}
        print(json.dumps(content, indent=1))
    else:
        print("\n".join(map(one_line, verification_lines(found))))
    if found.differences:
        return 1
    return exit_code(list(found.not_checked.values()))


def verification_lines(found: Verification) -> Iterator[str]:
    """Yield the differences, what could not be checked, and the numbers of checked values and keys."""
    yield from found.differences
    yield from (f"not checked: {line}" for line in each_once(found.not_checked.items()))
    if found.equal:
        yield f"{found.equal} values equal those of their sufficient statistics"
    for family, columns in sorted(found.without.items()):
        yield f"{family}: {number_of(columns.total(), 'values have no sufficient statistics')}: {', '.join(columns)}"
    yield number_of(found.keys, "runs have keys that match the records")
    yield number_of(len(found.differences), "differences")


def join_stores(given: argparse.Namespace) -> int:
    """Copy runs; return 0, or 1 if files are in conflict or damaged."""
    from bench.store.joining import join

    code = 0
    for source in given.source:
        joined = join(source, given.into)
        counts = f"copied {number_of(len(joined.copied), 'files')}, {joined.same} were there, "
        counts += number_of(len(joined.conflicts), "conflicts")
        print(one_line(f"{source}: {counts}"))
        for name in joined.conflicts:
            print(one_line(f"bench: conflict: {name}: '{given.into}' has another one, which stays"), file=sys.stderr)
        for error in joined.damaged:
            print(one_line(f"bench: not copied: {error}"), file=sys.stderr)
        code = max(code, int(bool(joined.conflicts or joined.damaged)))
    return code


ACTIONS = {
    "export": export_run,
    "snapshot": write_snapshot,
    "status": show_status,
    "verify": verify_runs,
    "join": join_stores,
}
