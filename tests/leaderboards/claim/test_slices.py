"""leaderboards/claim/slices.py and the making of cells: which cells open claims need next, and when it ends."""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import chain
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bench.commands.claims import arguments_of
from bench.leaderboards.claim.claim_files import Run, names, read
from bench.leaderboards.claim.judge import judge
from bench.leaderboards.claim.sides import Side
from bench.leaderboards.claim.slices import run_of, slices
from bench.leaderboards.table import tables
from bench.store.store import Store
from tests.conftest import call
from tests.leaderboards.claim.test_report import store
from tests.leaderboards.handmade import scored, trained

FILES = [read(name) for name in names()]


def papers(root: Path) -> list[Any]:
    built, _ = tables(Store(root), None, "all")
    return [judge(file, built) for file in FILES]


# Which run makes a row --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("paper", "own", "side", "made_by"),
    [
        ("adadec", "1,500 steps", Side("seq2seq", "greedy"), "1,500 steps"),
        ("adadec", "1,500 steps", Side("unigram", "greedy"), "trivial controls"),
        ("f2softmax", "20 classes", Side("f2softmax.fixed_eq_freq", "topk=3", {"method.number": 20}), "20 classes"),
        ("f2softmax", "20 classes", Side("f2softmax", "topk=3"), "300 steps"),
        ("f2softmax", "1,000 steps", Side("mle.decoupled", "decoupled:topk=3"), "1,000 steps"),
        ("f2softmax", "300 steps", Side("face", "topk=3", {"trainer.steps": 50}), "300 steps"),
        ("f2softmax", "300 steps", Side("mle", "topk=500"), "sweep of MLE"),
        ("histalign", "logicnlg", Side("lead", "greedy"), "trivial controls of logicnlg"),
        ("histalign", "logicnlg", Side("f2softmax", "greedy"), None),
    ],
)
def test_a_row_is_made_by_one_run(paper: str, own: str, side: Side, made_by: str | None) -> None:
    file = read(paper)
    (of_claim,) = (run for run in file.runs if run.name == own)
    found = run_of(file, of_claim, side)
    assert (found.name if found else None) == made_by


# The next look ----------------------------------------------------------------------------------------------------


def test_where_nothing_is_stored_every_task_begins_with_two_seeds_cheapest_first(tmp_path: Path) -> None:
    found = slices(papers(tmp_path))
    assert {one.task for one in found} == {"gigaword", "text", "ambiguous_template", "logicnlg"}
    assert {one.seeds for one in found} == {2}
    assert [one.minutes for one in found] == sorted(one.minutes for one in found)
    assert all(run.seeds == (0, 1) for one in found for run in one.runs)
    whole = next(run for run in read("adadec").runs if run.name == "1,500 steps")
    (part,) = (run for one in found for run in one.runs if (run.task, run.name) == ("gigaword", "1,500 steps"))
    assert part.minutes == pytest.approx(whole.minutes * len(part.methods) / len(whole.methods))  # two seeds of these


def test_seeds_are_added_for_the_methods_of_open_claims_alone(tmp_path: Path) -> None:
    """HistAlign against MLE is established with three seeds; against TRIME it is open."""
    for seed in (0, 1, 2):
        bleu = {"histalign": 13.0 + seed / 10, "trime": (14.0, 10.0, 12.0)[seed], "mle": 10.0 - seed / 10}
        for method in ("histalign", "trime", "mle", "lead", "unigram", "bigram", "mle.untrained"):
            value = bleu.get(method, 0.5)
            scored(trained(tmp_path, method, seed, trainer__steps=300), {"bleu-3": value, "bleu-1": 2 * value})
    (found,) = (one for one in slices(papers(tmp_path)) if one.task == "logicnlg")
    assert found.seeds == 5
    assert [claim for claim in found.claims if "without a cache" in claim] == []
    (main,) = (run for run in found.runs if run.name == "logicnlg")
    assert set(main.methods) == {"histalign", "trime", "mle"}  # MLE is the baseline of the gate
    assert main.seeds == (0, 1, 2, 3, 4)
    assert main.minutes == pytest.approx(14 / 9 * 3 * 2)  # of two more seeds of three methods


def test_a_decided_task_and_one_that_is_stopped_need_nothing(tmp_path: Path) -> None:
    store(tmp_path, lead=50.0)
    assert "logicnlg" not in {one.task for one in slices(papers(tmp_path))}


def test_a_claim_that_waits_for_a_control_needs_no_more_seeds(tmp_path: Path) -> None:
    for seed in (0, 1, 2):
        for method, value in (("histalign", 13.0), ("trime", 12.0), ("mle", 10.0)):
            scored(trained(tmp_path, method, seed, trainer__steps=300), {"bleu-3": value + seed, "bleu-1": value})
    (found,) = (one for one in slices(papers(tmp_path)) if one.task == "logicnlg")
    assert found.seeds == 3
    assert {"lead", "unigram", "bigram"} <= set(chain.from_iterable(run.methods for run in found.runs))


# Until decided ----------------------------------------------------------------------------------------------------


class Runs:
    """`bench run` that stores LogicNLG's cells, noisy at first, and says what it was asked for."""

    def __init__(self, root: Path, code: int = 0) -> None:
        self.root, self.code = root, code
        self.asked: list[tuple[str, str]] = []

    def __call__(self, command: list[str], **options: Any) -> SimpleNamespace:
        assert options["stdout"] is sys.stderr
        given = dict(zip(command[4::2], command[5::2], strict=False))
        self.asked.append((given["--task"], given["--seeds"]))
        if not self.code and given["--task"] == "logicnlg":
            for seed in map(int, given["--seeds"].split(",")):
                noise = (3.0, -3.0, 0.5, -0.2, 0.1)[seed % 5]
                for method in given["--method"].split(","):
                    value = {"histalign": 30.0 + noise, "trime": 22.0, "mle": 20.0}.get(method, 0.5)
                    scored(trained(self.root, method, seed, trainer__steps=300), {"bleu-3": value, "bleu-1": 2 * value})
        return SimpleNamespace(returncode=self.code)


def until_decided(root: Path, monkeypatch: pytest.MonkeyPatch, hours: str, code: int = 0) -> tuple[Runs, Any]:
    fake = Runs(root, code)
    monkeypatch.setattr(subprocess, "run", fake)
    ended = call("claims", "histalign", "--run", "--until-decided", "--hours", hours, "--results", str(root))
    return fake, ended


def test_seeds_are_added_until_every_claim_is_decided(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake, ended = until_decided(tmp_path, monkeypatch, "100")
    seeds = [len(seeds.split(",")) for task, seeds in fake.asked if task == "logicnlg"]
    assert seeds == sorted(seeds)
    assert {2, 3, 5} <= set(seeds)
    assert max(seeds) < 20  # decided before the last look
    assert "no open claim can be brought to another look" in ended.err
    assert ended.code == 0
    assert ended.out.count("established, direction established") == 3


def test_no_look_is_begun_that_would_end_after_the_hours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake, ended = until_decided(tmp_path, monkeypatch, "0.01")
    assert fake.asked == []
    assert "minutes to 2 seeds, and 1 are left" in ended.err
    assert ended.code == 0


def test_a_task_whose_runs_fail_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake, ended = until_decided(tmp_path, monkeypatch, "100", code=1)
    assert ended.code == 1
    assert {seeds for _, seeds in fake.asked} == {"0,1"}


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (["--until-decided", "--hours", "1"], "takes --run and --hours H"),
        (["--run", "--until-decided"], "takes --run and --hours H"),
        (["--run", "--hours", "1"], "--hours is for --until-decided"),
        (["--run", "--until-decided", "--hours", "-1"], "a number of hours above 0, got '-1'"),
        (["--run", "--until-decided", "--hours", "soon"], "a number of hours above 0, got 'soon'"),
        (["--trials", "3"], "--trials goes with --run"),
    ],
)
def test_options_that_do_not_go_together(typed: list[str], said: str, tmp_path: Path) -> None:
    ended = call("claims", *typed, "--results", str(tmp_path))
    assert ended.code == 2
    assert said in ended.err


def test_seeds_are_added_to_tuned_cells_by_the_same_trials(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commands: list[list[str]] = []
    monkeypatch.setattr(
        subprocess, "run", lambda command, **_: commands.append(command) or SimpleNamespace(returncode=1)
    )
    tuning = ["--trials", "3", "steps=1/3", "rows=50"]
    looks = ["--run", "--until-decided", "--hours", "9", "--jobs", "2"]
    assert call("claims", "adadec", *looks, *tuning, "--results", str(tmp_path)).code == 1
    assert commands
    assert all(command[-7:] == [*tuning, "--jobs", "2", "--yes"] for command in commands)


# All runs at once -------------------------------------------------------------------------------------------------


def test_runs_are_made_one_task_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commands: list[list[str]] = []

    def fake(command: list[str], **options: Any) -> SimpleNamespace:
        commands.append(command)
        assert options["stdout"] is sys.stderr
        return SimpleNamespace(returncode=1 if "1000" in " ".join(command) else 0)

    monkeypatch.setattr(subprocess, "run", fake)
    ended = call("claims", "f2softmax", "--run", "--json", "--results", str(tmp_path))
    assert ended.code == 1  # one run failed
    json.loads(ended.out)
    assert [command[3:6] for command in commands] == [["run", "--task", "text"]] * 6
    assert "minutes of one core, 1 tasks, 1 at a time" in ended.err
    assert call("claims", "histalign", "--run", "--results", str(tmp_path)).code == 0


def test_the_longest_task_is_begun_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: dict[str, None] = {}
    monkeypatch.setattr(
        subprocess, "run", lambda command, **_: begun.update({command[5]: None}) or SimpleNamespace(returncode=0)
    )
    refused = call("claims", "--run", "--jobs", "1", "--results", str(tmp_path))
    assert (refused.code, begun) == (2, {})
    assert "up to 89 cells are to be trained or evaluated, and more than 50 are begun only with --yes" in refused.err
    assert call("claims", "--run", "--jobs", "1", "--yes", "--results", str(tmp_path)).code == 0
    minutes: dict[str, float] = {}
    for run in chain.from_iterable(file.runs for file in FILES):
        minutes[run.task] = minutes.get(run.task, 0) + run.minutes
    assert list(begun) == sorted(minutes, key=lambda task: -minutes[task])
    assert list(begun) != list(dict.fromkeys(run.task for file in FILES for run in file.runs))


def test_a_run_is_a_command_one_could_type() -> None:
    run = Run("text", ("mle", "face"), (0, 1), 1.0, decode="topk=3", sets=("trainer.steps=9",))
    given = SimpleNamespace(preset="small", results="r", data_dir="d", sets=[["task.path=x"]], trials=None)
    assert " ".join(arguments_of(run, given)) == (  # type: ignore[arg-type]
        "run --task text --method mle,face --seeds 0,1 --preset small --results r --decode topk=3 --data-dir d "
        "--set trainer.steps=9 task.path=x"
    )
