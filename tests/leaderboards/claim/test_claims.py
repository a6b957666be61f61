"""Claim files and `bench claims`: every name is there, every run makes the rows its claims read, the report says it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace
from itertools import chain
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bench.base.entries import all_names
from bench.cells.cell import Cell
from bench.cells.plan import make_plan
from bench.commands.claims import arguments_of
from bench.config.arguments import RunArguments
from bench.leaderboards.claim.claim_files import Claim, ClaimFile, Run, Side, names, read, setting_of
from bench.leaderboards.claim.replication import threshold
from bench.metrics import METRICS
from bench.metrics.columns import is_named
from bench.models import METHODS
from bench.tasks import TASKS
from tests.conftest import call
from tests.leaderboards.handmade import scored, trained

FILES = [read(name) for name in names()]
RUNS = Path("leaderboards/runs")


def sides(claim: Claim) -> list[Side]:
    corrected = [claim.corrected.better, claim.corrected.than] if claim.corrected else []
    return [side for side in (claim.better, claim.than, *claim.controls, *corrected) if side]


def test_there_are_the_three_papers() -> None:
    assert names() == ["adadec", "f2softmax", "histalign"]


@pytest.mark.parametrize("file", FILES, ids=names())
def test_names_are_there(file: ClaimFile) -> None:
    for run in file.runs:
        assert run.task in TASKS
        assert set(run.methods) <= set(all_names(METHODS))
    for claim in file.claims:
        task = TASKS[file.run_of(claim).task].load()
        patterns = [pattern[1:] for metric in task.info.metrics for pattern in METRICS[metric].columns]
        for column in filter(None, (claim.column, claim.at)):
            assert any(is_named(column, pattern) for pattern in patterns), column
        assert all(side.method in all_names(METHODS) for side in sides(claim))
    assert len({claim.says for claim in file.claims}) == len(file.claims)


@pytest.fixture(scope="module")
def planned() -> dict[tuple[str, str], list[Cell]]:
    """Cells of every run, by file and task, from built-in samples; nothing is trained."""
    found: dict[tuple[str, str], list[Cell]] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BENCH_DATA", "")
        patch.setenv("BENCH_CACHE", "nowhere")
        patch.setenv("HF_HUB_OFFLINE", "1")
        for file in FILES:
            for run in file.runs:
                plan = make_plan(
                    RunArguments(
                        (run.task,),
                        run.methods,
                        (run.seeds[0],),
                        preset="small",
                        sets=run.sets,
                        decode=run.decode or None,
                        results="nowhere",
                    )
                )
                assert not plan.skips, plan.skips
                found.setdefault((file.name, run.task), []).extend(plan.cells)
    return found


@pytest.mark.parametrize("file", FILES, ids=names())
def test_runs_make_every_row_that_claims_read(file: ClaimFile, planned: dict[tuple[str, str], list[Cell]]) -> None:
    for claim in file.claims:
        run = file.run_of(claim)
        cells = planned[file.name, run.task]
        for side in sides(claim):
            assert any(made(side, run, cell) for cell in cells), f"{claim.says}: {side.label}"
        column_kinds = {
            METRICS[metric].kind
            for metric in TASKS[run.task].load().info.metrics
            for pattern in METRICS[metric].columns
            if is_named(claim.column, pattern[1:])
        }
        assert column_kinds & {kind.kind for cell in cells for kind in cell.evaluations.values()}


def made(side: Side, run: Run, cell: Cell) -> bool:
    """Whether a cell gives the row of a side."""
    config: dict[str, Any] = {
        "trainer": vars(cell.config.trainer),
        "backbone_options": cell.config.backbone_options,
        "method_options": cell.config.method_options,
    }
    decodings = [what.decoding.text for what in cell.evaluations.values() if what.decoding] or [""]
    return (
        cell.method.name == side.method
        and any(side.decodes(decoding) for decoding in decodings)
        and all(setting_of(config, name) == value for name, value in {**run.where, **side.where}.items())
    )


def minutes_by_task() -> dict[str, float]:
    found: dict[str, float] = {}
    for run in chain.from_iterable(file.runs for file in FILES):
        found[run.task] = found.get(run.task, 0) + run.minutes
    return found


def test_all_runs_fit_in_an_hour_on_two_cores() -> None:
    lanes = [0.0, 0.0]
    for minutes in sorted(minutes_by_task().values(), reverse=True):  # as they are made
        lanes[lanes.index(min(lanes))] += minutes
    assert max(lanes) <= 57, lanes


def test_settings_of_the_papers_own_recipes_share_cells_with_other_runs(
    planned: dict[tuple[str, str], list[Cell]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BENCH_DATA", "")
    plan = make_plan(RunArguments(("logicnlg",), ("trime",), (0,), preset="small", results="nowhere"))
    assert plan.cells[0].key in {cell.key for cell in planned["HistAlign", "logicnlg"]}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"relation": "lover"}, "expected a relation from lower, .* got 'lover'"),
        ({"wants": "lover"}, "expected `wants` to be lower or higher, got 'lover'"),
        ({"relation": "above"}, "'above' takes a `bound` and no `than`"),
        ({"relation": "above", "than": None}, "'above' takes a `bound` and no `than`"),
        ({"bound": 3.0}, "'lower' takes another row as `than` and no `bound`"),
        ({"than": None}, "'lower' takes another row as `than` and no `bound`"),
        ({"relation": "at_equal"}, "holds equal"),
        ({"at": "self-bleu-2"}, "holds equal"),
    ],
)
def test_fields_that_do_not_go_together_are_refused(given: dict[str, Any], said: str) -> None:
    good = Claim("t", "s", "kld", "lower", Side("mle"), Side("face"))
    with pytest.raises(ValueError, match=said):
        replace(good, **given)


def test_a_run_that_the_file_does_not_have_is_refused() -> None:
    claim = Claim("t", "s", "kld", "lower", Side("mle"), Side("face"), run="long")
    file = ClaimFile("P", (Run("text", ("mle",), (0,), 1.0, name="short"),), (claim,))
    with pytest.raises(ValueError, match=r"P, 's': expected the name of a run \(short\), got 'long'"):
        file.run_of(claim)


VERDICTS = re.compile(r"\b(holds|fails|failed|explained|weak|artefact|refuted|confirmed|claimed)\b")


def test_a_report_says_what_is_stored_and_decides_nothing(tmp_path: Path) -> None:
    store(tmp_path)
    ended = call("claims", "histalign", "--results", str(tmp_path))
    assert ended.code == 0
    assert ended.out.startswith("verdict rule under revision")
    assert "HistAlign: 16 claims, 4 with stored runs; 5 not testable at this scale" in ended.out
    seeds = "seed 0 +3.00, seed 1 +3.00, seed 2 +3.00"
    assert f"bleu-3: +3.00 +- 0.00 (n=3: {seeds}; threshold of ours: at least 0.3)" in ended.out
    assert "control trime (greedy) has 90% of it" in ended.out
    assert "\n  on logicnlg · test split, 3 rows · preset small\n" in ended.out
    assert "not testable at this scale: LLaMA2" in ended.out


def test_a_report_in_other_forms(tmp_path: Path) -> None:
    store(tmp_path)
    written = call("claims", "histalign", "--markdown", "--results", str(tmp_path)).out
    assert written.startswith("**Verdict rule under revision.**")
    assert "### HistAlign" in written
    assert "| claim | where | evidence |" in written
    (paper,) = json.loads(call("claims", "histalign", "--json", "--results", str(tmp_path)).out)
    assert paper["notice"] == "verdict rule under revision"
    assert not {"verdict", "counts", "text"} & set(chain(paper, *paper["claims"]))
    one = next(claim for claim in paper["claims"] if claim["controls"])
    assert one["by_seed"] == {"0": 3.0, "1": 3.0, "2": 3.0}
    assert one["n_rows"] == 3
    assert one["threshold_of_ours"] == "at least 0.3"


@pytest.mark.parametrize("form", [(), ("--markdown",), ("--json",)])
def test_no_form_has_a_word_of_verdict(form: tuple[str, ...]) -> None:
    text = call("claims", "--results", str(RUNS / "small.jsonl"), *form).out
    assert "verdict rule under revision" in text.lower()
    assert not VERDICTS.findall(text)


@pytest.mark.parametrize(("rouge", "state"), [(3.0, "not raised"), (30.0, "RAISED"), (None, "nothing is stored")])
def test_the_leak_alarm_is_an_alarm_and_no_claim(tmp_path: Path, rouge: float | None, state: str) -> None:
    if rouge is not None:
        settings = {"task": "gigaword", "trainer__lr": 2e-3, "trainer__steps": 300}
        scored(trained(tmp_path, "copy_exemplar", **settings), {"rouge-1": rouge})
    for form in ((), ("--markdown",)):
        text = call("claims", "adadec", "--results", str(tmp_path), *form).out
        assert f"alarm of ours, {state}: an exemplar does not give the headline away" in text
        assert "9 claims, " in text
    (paper,) = json.loads(call("claims", "adadec", "--json", "--results", str(tmp_path)).out)
    assert not [claim for claim in paper["claims"] if "copy_exemplar" in claim["better"]]
    assert [one["raised"] for one in paper["alarms"]] == [None if rouge is None else rouge > 10]


def test_a_threshold_is_named_ours() -> None:
    left, right = Side("f2softmax"), Side("mle")
    against = Claim("t", "s", "kld", "lower", left, right)
    assert threshold(against) == ""
    assert threshold(replace(against, floor=1.5)) == "at least 1.5"
    assert threshold(replace(against, factor=3.0)) == "3 times as much"
    assert threshold(replace(against, relation="near", within=4.0)) == "within 4"
    assert threshold(Claim("t", "s", "kld", "below", left, bound=5.0)) == "below 5"
    assert threshold(Claim("t", "s", "kld", "below", left, bound="backbone.width + 1")) == ""  # the claim's own


def store(root: Path) -> None:
    """Cells of LogicNLG."""
    for seed in (0, 1, 2):
        for method, bleu in (("histalign", 13.0), ("trime", 12.7), ("mle", 10.0)):
            scored(trained(root, method, seed, trainer__steps=300), {"bleu-3": bleu, "bleu-1": 2 * bleu})


def test_all_papers_are_reported_where_none_is_named(tmp_path: Path) -> None:
    found = json.loads(call("claims", "--json", "--results", str(tmp_path)).out)
    assert [paper["paper"] for paper in found] == ["AdaDec", "F2-Softmax", "HistAlign"]
    assert {claim["effect"] for paper in found for claim in paper["claims"]} == {None}


def test_an_unknown_paper_is_a_usage_error() -> None:
    ended = call("claims", "histaline")
    assert ended.code == 2
    assert "histalign" in ended.err


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
    assert [command[3:6] for command in commands] == [["run", "--task", "text"]] * 5
    assert "minutes of one core, 1 tasks, 1 at a time" in ended.err
    assert call("claims", "histalign", "--run", "--results", str(tmp_path)).code == 0


def test_the_longest_task_is_begun_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: dict[str, None] = {}
    monkeypatch.setattr(
        subprocess, "run", lambda command, **_: begun.update({command[5]: None}) or SimpleNamespace(returncode=0)
    )
    assert call("claims", "--run", "--jobs", "1", "--results", str(tmp_path)).code == 0
    minutes = minutes_by_task()
    assert list(begun) == sorted(minutes, key=lambda task: -minutes[task])
    assert list(begun) != list(dict.fromkeys(run.task for file in FILES for run in file.runs))


def test_a_run_is_a_command_one_could_type() -> None:
    run = Run("text", ("mle", "face"), (0, 1), 1.0, decode="topk=3", sets=("trainer.steps=9",))
    given = SimpleNamespace(preset="small", results="r", data_dir="d", sets=[["task.path=x"]])
    assert " ".join(arguments_of(run, given)) == (  # type: ignore[arg-type]
        "run --task text --method mle,face --seeds 0,1 --preset small --results r --decode topk=3 --data-dir d "
        "--set trainer.steps=9 task.path=x"
    )
