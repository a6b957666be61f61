"""bench/audit: nearly all cheats are caught, and honest stores give no alarm."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bench.audit.finding import BLIND, alarms
from tests.bench.audit.cheats_unseen import put_longer_weights
from tests.bench.audit.store_tools import audited, data_of, run, run_anew
from tests.conftest import call

Cheat = Callable[[Path], None]
FAST = (
    "edited_settings",
    "copied_seed",
    "edited_texts",
    "chosen_rows",
    "tokenizer_of_all_splits",
    "augmented_with_test",
)
"""Cheats that take a second at most; the others are slow tests."""
ASKED = {"worst_seed_dropped": "seeds"}
"""Cheats that an unlucky run may look like: there is no alarm, but a question of this check."""
MISSED: dict[str, str] = {}
"""Cheats that the audit is known not to catch, and what would have shown each."""
MISSED_UNSEEN = {"augmented_with_test", "forgotten_trials", "worst_seed_dropped"}
"""Cheats that were missed when the audit was first run on them. A check was written for each since then, so that they
measure nothing any more: they count as missed."""
CAUGHT = 0.9
"""Share of all cheats that it has to catch."""


def cheats() -> Iterator[tuple[str, Cheat]]:
    """Every function `cheat_...` of the files `cheats*.py` beside this one."""
    for path in sorted(Path(__file__).parent.glob("cheats*.py")):
        module = importlib.import_module(f"tests.bench.audit.{path.stem}")
        for name, function in inspect.getmembers(module, inspect.isfunction):
            if name.startswith("cheat_"):
                yield name.removeprefix("cheat_"), function


def parameters() -> list[object]:
    """Every cheat, the slow ones marked."""
    found: list[object] = []
    for name, function in cheats():
        marks = [] if name in FAST else [pytest.mark.slow]
        found.append(pytest.param(name, function, marks=marks, id=name))
    return found


@pytest.mark.parametrize(("name", "cheat"), parameters())
def test_a_cheat_is_caught(store: Path, name: str, cheat: Cheat) -> None:
    cheat(store)
    findings = audited(store)
    found = [str(finding) for finding in findings]
    print("\n".join(found))
    assert any(alarms(findings)) == (name not in MISSED and name not in ASKED), (found, MISSED.get(name))
    if name in ASKED:
        assert ASKED[name] in [finding.check for finding in findings], found


def test_enough_is_caught() -> None:
    names = [name for name, _ in cheats()]
    assert len(names) >= 30
    missed = {*MISSED, *ASKED, *MISSED_UNSEEN}
    assert len(set(names) - missed) >= CAUGHT * len(names)
    assert set(names) >= missed | set(FAST)


def test_an_honest_store_gives_no_alarm_and_the_command_says_what_it_cannot_see(store: Path) -> None:
    ended = call("verify", "--audit", str(store), "--data-dir", str(data_of(store)))
    assert ended.code == 0, ended.out
    assert "2 cells audited: 0 alarms, 0 questions" in ended.out
    assert BLIND in ended.out
    assert call("verify", "--audit-steps", "3", str(store)).code == 2


@pytest.mark.slow
def test_longer_weights_are_found_only_where_the_whole_training_is_replayed(store: Path) -> None:
    run_anew(store, seeds="0", sets=("trainer.steps=12",))
    put_longer_weights(store)
    audit = ("verify", "--audit", str(store), "--data-dir", str(data_of(store)))
    first_steps = call(*audit)
    assert first_steps.code == 0, first_steps.out  # 10 of 12 steps, whose losses are the honest ones
    assert "a training beyond the steps that were replayed" in first_steps.out
    every_step = call(*audit, "--audit-steps", "12")
    assert every_step.code == 1, every_step.out
    assert "weights are not those that its training ends with" in every_step.out


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_two_hundred_honest_cells_give_no_alarm(store: Path) -> None:
    methods = "mle,face,ul_token,trime,histalign,f2softmax,lead"
    run(store, "--trials", "2", method=methods, seeds=",".join(map(str, range(30))))
    ended = call("verify", "--audit", str(store), "--data-dir", str(data_of(store)), "--json")
    counted = re.search(r'"cells": (\d+)', ended.out)
    assert counted is not None
    assert int(counted[1]) >= 200
    assert ended.code == 0, ended.out
