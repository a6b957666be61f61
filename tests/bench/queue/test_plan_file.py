"""Plan files: what waits for what, what it costs, and what a reader refuses."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench.cells.job import cell_of
from bench.cells.pace.stages import cost_of
from bench.cells.plan import make_plan
from bench.config.arguments import RunArguments
from bench.errors import BenchError, UsageError
from bench.queue.plan_file import PlanFile, open_queue, read_plan, write_plan
from bench.queue.planned import lacks_something, plan_of
from bench.queue.protocol.timing import LOCAL, SHARED
from bench.queue.shares import shares_of
from bench.queue.work import work

pytestmark = pytest.mark.usefixtures("sample_data")


def planned(tmp_path: Path, *methods: str, **more: Any) -> PlanFile:
    arguments = RunArguments(("logicnlg",), methods, limit=8, preset="small", results=str(tmp_path / "r"), **more)
    return plan_of(make_plan(arguments).cells, arguments, SHARED)


def test_children_wait_for_parents_and_controls_for_the_cell_they_read(tmp_path: Path) -> None:
    file = planned(tmp_path, "ul_seq", "mle", "mle.decoupled", decode="greedy")
    by_label = {job.label.split(" · ")[1]: job for job in file.jobs}
    mle = by_label["mle"]
    assert by_label["ul_seq"].after == (mle.key,)
    assert by_label["mle.decoupled"].shares == mle.key
    assert (mle.after, mle.shares) == ((), "")
    assert len({job.key for job in file.jobs}) == 3
    assert file.jobs[0] is mle


def test_a_plan_file_is_read_as_it_was_written(tmp_path: Path) -> None:
    file = planned(tmp_path, "mle")
    write_plan(file, tmp_path / "plan.json")
    read = read_plan(tmp_path / "plan.json")
    assert read.content() == json.loads(json.dumps(file.content()))
    (job,) = read.jobs
    cell = cell_of(job.cell)
    assert (cell.key, str(cell.folder.path)) == (job.cell["key"], job.folder)
    assert read.timing == SHARED


def test_a_child_refuses_a_cell_whose_keys_are_others(tmp_path: Path) -> None:
    (job,) = planned(tmp_path, "mle").jobs
    with pytest.raises(BenchError, match="code or data have changed"):
        cell_of({**job.cell, "key": "0" * 16})


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"sha256": "", "schema": 99}'])
def test_no_plan_file(tmp_path: Path, text: str) -> None:
    (tmp_path / "plan.json").write_text(text)
    with pytest.raises(UsageError, match=r"plan\.json"):
        read_plan(tmp_path / "plan.json")


def test_one_nonce_is_one_plan(tmp_path: Path) -> None:
    file = planned(tmp_path, "mle")
    assert open_queue(file) == open_queue(file)
    with pytest.raises(UsageError, match="another plan"):
        open_queue(replace(file, jobs=()))
    assert planned(tmp_path, "mle").nonce != file.nonce


def test_a_plan_of_a_folder_that_is_not_here(tmp_path: Path) -> None:
    """Its cells may lie in a relative store, which would be made in a wrong place."""
    write_plan(replace(planned(tmp_path, "mle"), folder=str(tmp_path / "none")), tmp_path / "plan.json")
    with pytest.raises(UsageError, match="is not here"):
        work(tmp_path / "plan.json")
    assert not (tmp_path / "r").exists()


def test_costs_follow_steps_rows_and_writing(tmp_path: Path) -> None:
    def cost(*sets: str, decode: str = "greedy") -> float:
        (job,) = planned(tmp_path, "mle", sets=sets, decode=decode).jobs
        return job.cost

    plain = cost("trainer.steps=100", "trainer.batch_size=10")
    assert cost("trainer.steps=200", "trainer.batch_size=10") == pytest.approx(plain + 3.0)
    assert cost("trainer.steps=100", "trainer.batch_size=20") == pytest.approx(plain + 3.0)
    assert cost("trainer.steps=100", "trainer.batch_size=10", decode="beam=4") > plain


def test_what_is_stored_costs_nothing_and_lacks_nothing(bench: Any, tiny_store: Path) -> None:
    arguments = RunArguments(
        ("ambiguous_template",),
        ("mle",),
        limit=16,
        preset="small",
        sets=("trainer.steps=2", "backbone.width=16", "trainer.batch_size=4"),
        results=str(tiny_store),
    )
    (cell,) = make_plan(arguments).cells
    assert not lacks_something(cell)
    assert cost_of(cell) == 0


def test_local_workers_share_threads_and_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bench.queue.shares.visible_gpus", lambda: [])
    assert shares_of(2, 1, 0) == [{"OMP_NUM_THREADS": "1"}] * 2
    assert shares_of(1, 2, 3) == [{"OMP_NUM_THREADS": "3"}]
    monkeypatch.setattr("bench.queue.shares.visible_gpus", lambda: ["0", "3", "5", "7"])
    assert [share["CUDA_VISIBLE_DEVICES"] for share in shares_of(2, 2, 1)] == ["0,3", "5,7"]
    with pytest.raises(UsageError, match="needs 6 GPUs, and 4 are visible"):
        shares_of(3, 2, 1)


def test_a_plan_takes_no_grid(bench: Any, tmp_path: Path) -> None:
    grid = ("--task", "logicnlg", "--method", "mle", "--grid", "optim.lr=1e-4,1e-3", "--results", str(tmp_path))
    ended = bench("plan", str(tmp_path / "plan.json"), *grid)
    assert (ended.code, "--grid" in ended.err) == (2, True)


def test_local_workers_look_often() -> None:
    assert LOCAL.poll_s < 1 < LOCAL.beat_s < LOCAL.ttl_s / 8
    assert SHARED.beat_s < SHARED.ttl_s / 8
