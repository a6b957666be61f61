"""Execution with a fake trainer: what is stored is not done again, a failed cell stops nobody."""

from dataclasses import replace

import pytest

from bench.cells.plan import make_plan
from bench.cells.run import Outcome, execute
from bench.cells.work import store_rows
from bench.config.arguments import RunArguments
from bench.errors import BenchError, MissingError
from bench.launch.signals import Stopped
from bench.training.events import Events
from tests.bench.example_cells import PROVENANCE
from tests.bench.own import FOCAL

TOP = list(range(25))
pytestmark = pytest.mark.usefixtures("sample_data")


class Quiet(Events):
    """Progress that remembers."""

    def __init__(self):
        self.lines = []

    def cell(self, number, of, label): ...

    def say(self, text): ...

    def done(self, how):
        self.lines.append(how)

    def failed(self, why):
        self.lines.append(f"failed: {why}")

    def warn(self, text):
        self.lines.append(f"warning: {text}")


@pytest.fixture
def arguments(tmp_path):
    return RunArguments(("ambiguous_template",), ("mle", "trime"), (0, 1), limit=4, preset="small",
                        results=str(tmp_path / "results"))  # fmt: skip


def fake_row(kind, name):
    return {"likelihood": {"id": name, "nll_sum": 1.0, "n_tokens": 1, "n_words": 1, "n_bytes": 4,
                           "n_cached": 0, "n_cache_hits": 0},
            "probe": {"id": name, "head": TOP, "full": TOP, "cache": TOP, "wanted": [[1], [2]]},
            "generation": {"id": name, "text": "a text"},
            "spectrum": {"id": "singular_values", "shape": [2, 3], "values": [2.0, 1.0], "rows": 2}}[kind]  # fmt: skip


class Trainer:
    """Stands in for `train_and_evaluate`: stores a cell's files without a model; `ends` says how some cells end.

    One that ends `late` finds its training stored, and fails to make rows.
    """

    def __init__(self, ends=None):
        self.ends, self.calls = ends or {}, []
        self.late = [name for name, end in self.ends.items() if end == "late"]

    def __call__(self, cell, rows_keys, *_):
        name = (cell.method.name, cell.config.seed)
        self.calls.append((*name, len(rows_keys)))
        end = self.ends.get(name, "ok") if cell.folder.trained() is None or name in self.late else "ok"
        if isinstance(end, BaseException):
            raise end
        if end == "late":
            raise BenchError("no rows")
        manifests = {split: cell.task.manifest(split).as_dict() for split in ("train", "test")}
        content = {"key": cell.key, "config": cell.config.as_dict(), "status": end, "method": cell.method.code,
                   "data": manifests, "train": {"curve": []},
                   "model": {"checkpoint_sha256": "0" * 64}}  # fmt: skip
        cell.folder.write_trained(content, PROVENANCE)
        cell.folder.checkpoint("0" * 64).touch()
        for key in rows_keys if end == "ok" else ():
            what = cell.evaluations[key]
            names = what.ids if what.kind != "spectrum" else ("singular_values",)
            store_rows(cell, key, [[fake_row(what.kind, name) for name in names]], 0.0)


def run(arguments, monkeypatch, ends=None):
    trainer, progress = Trainer(ends), Quiet()
    monkeypatch.setattr("bench.cells.work.train_and_evaluate", trainer)
    plan = make_plan(arguments)
    return execute(plan, arguments, progress), trainer, progress, plan


def test_a_second_run_does_nothing(arguments, monkeypatch):
    first, trainer, *_ = run(arguments, monkeypatch)
    assert (first.exit_code, len(first.ok), len(trainer.calls)) == (0, 4, 4)
    second, trainer, progress, plan = run(arguments, monkeypatch)
    assert (second.exit_code, len(second.stored), trainer.calls) == (0, 4, [])
    assert progress.lines == ["stored already"] * 4
    assert all(len(cell.folder.all_scores()) == 4 for cell in plan.cells)


def test_only_what_is_missing_is_made(arguments, monkeypatch):
    *_, plan = run(arguments, monkeypatch)
    cell = plan.cells[0]
    lost = next(key for key, what in cell.evaluations.items() if what.kind == "probe")
    cell.folder.rows_path(lost).unlink()
    for path in cell.folder.path.glob("scores-*"):
        path.unlink()
    outcome, trainer, *_ = run(arguments, monkeypatch)
    assert trainer.calls == [("mle", 0, 1)]
    assert (len(outcome.ok), len(outcome.stored)) == (1, 3)
    assert len(cell.folder.all_scores()) == 4


@pytest.mark.parametrize(
    "error",
    [BenchError("no"), RuntimeError("no"), MissingError("no"), SystemExit(7), SystemExit(0), GeneratorExit()],
)
def test_a_failed_cell_stops_nobody_and_is_tried_again(arguments, monkeypatch, error):
    outcome, _, progress, plan = run(arguments, monkeypatch, {("mle", 1): error})
    assert (outcome.exit_code, len(outcome.ok), len(outcome.failed)) == (1, 3, 1)
    failed = plan.cells[1].folder
    assert plan.cells[1].label in outcome.failed
    assert failed.content("failed.json")["status"] == "failed"
    assert ("traceback" in failed.content("failed.json")) == (not isinstance(error, BenchError))
    assert sum(line.startswith("failed: ") for line in progress.lines) == 1
    outcome, trainer, *_ = run(arguments, monkeypatch)
    assert (outcome.exit_code, trainer.calls) == (0, [("mle", 1, 3)])
    assert failed.content("failed.json") is None


def test_a_failure_after_the_training_is_forgotten_once_the_rest_succeeds(arguments, monkeypatch):
    def score(*_):
        raise BenchError("no score")

    monkeypatch.setattr("bench.cells.run.score_cell", score)
    outcome, _, _, plan = run(arguments, monkeypatch)
    assert (outcome.exit_code, len(outcome.failed)) == (1, 4)
    assert all(cell.folder.content("failed.json")["error"] == "no score" for cell in plan.cells)
    monkeypatch.undo()
    monkeypatch.delenv("BENCH_DATA", raising=False)
    run(arguments, monkeypatch)
    assert all(cell.folder.content("failed.json") is None for cell in plan.cells)


def test_a_diverged_cell_is_neither_trained_again_nor_ok(arguments, monkeypatch):
    ends = {("trime", 0): "diverged"}
    outcome, *_ = run(arguments, monkeypatch, ends)
    assert (outcome.exit_code, len(outcome.ok), len(outcome.diverged)) == (1, 3, 1)
    outcome, trainer, progress, _ = run(arguments, monkeypatch, ends)
    assert (outcome.exit_code, len(outcome.stored), len(outcome.diverged), trainer.calls) == (1, 3, 1, [])
    assert progress.lines.count("diverged") == 1


# Cells that depend on others --------------------------------------------------------------------------------------


def of(arguments, *methods, task="ambiguous_template", seeds=(0,)):
    return replace(arguments, tasks=(task,), methods=methods, seeds=seeds)


@pytest.mark.parametrize(
    ("end", "became", "code"),
    [("diverged", "diverged", 1), (BenchError("no"), "failed", 1), (RuntimeError("no"), "failed", 1),
     (MissingError("no data"), "failed", 3)],
)  # fmt: skip
def test_a_child_of_what_is_not_there_is_blocked(arguments, monkeypatch, end, became, code):
    """With one line that names its parent; both are made by the same command once the parent can be."""
    arguments = of(arguments, "mle.continued")
    outcome, trainer, progress, plan = run(arguments, monkeypatch, {("mle", 0): end})
    parent, child = plan.cells
    assert [call[0] for call in trainer.calls] == ["mle"]
    assert (outcome.exit_code, outcome.ok, outcome.blocked) == (code, [], [child.label])
    assert outcome.failed[child.label] == f"is fine-tuned from '{parent.label}', which has {became}"
    assert child.folder.content("failed.json")["status"] == "blocked"
    assert "traceback" not in child.folder.content("failed.json")
    assert (outcome.diverged == [parent.label]) == (end == "diverged")
    outcome, trainer, *_ = run(arguments, monkeypatch)
    if end == "diverged":
        assert (outcome.exit_code, trainer.calls) == (1, [])
        return
    assert (outcome.exit_code, [call[0] for call in trainer.calls]) == (0, ["mle", "mle.continued"])
    assert child.folder.content("failed.json") is None


def test_grandchildren_are_blocked_too(arguments, monkeypatch, own):
    own.write("my_losses", FOCAL.replace('paper = "', 'parent = "mle.continued"\n    paper = "'))
    outcome, trainer, _, plan = run(of(arguments, "my_losses:Focal"), monkeypatch, {("mle", 0): BenchError("no")})
    assert [call[0] for call in trainer.calls] == ["mle"]
    assert [outcome.failed[cell.label].rpartition(", which ")[2] for cell in plan.cells[1:]] == ["has failed"] * 2


def test_a_parent_is_trained_for_its_child_without_rows(arguments, monkeypatch):
    outcome, trainer, _, plan = run(of(arguments, "mle.continued"), monkeypatch)
    assert trainer.calls == [("mle", 0, 0), ("mle.continued", 0, 3)]
    assert [len(cell.folder.all_scores()) for cell in plan.cells] == [0, len(plan.cells[1].task.info.metrics)]
    outcome, trainer, *_ = run(of(arguments, "mle.continued", "mle"), monkeypatch)
    assert (trainer.calls, len(outcome.ok), len(outcome.stored)) == ([("mle", 0, 3)], 1, 1)


@pytest.mark.parametrize("methods", [("mle", "mle.decoupled"), ("mle.decoupled", "mle")])
def test_what_failed_to_train_is_not_trained_again_for_a_control(arguments, monkeypatch, methods):
    arguments = of(arguments, *methods, task="logicnlg")
    ends = dict.fromkeys([(name, 0) for name in methods], RuntimeError("after an hour"))
    outcome, trainer, _, plan = run(arguments, monkeypatch, ends)
    first, second = plan.cells
    assert [call[0] for call in trainer.calls] == [methods[0]]
    assert outcome.failed[second.label] == f"reads the trained run of '{first.label}', which has failed"
    note = first.folder.content("failed.json")
    assert (note["status"], note["error"]) == ("failed", "RuntimeError: after an hour")
    assert "traceback" in note
    outcome, trainer, *_ = run(arguments, monkeypatch)
    assert (outcome.exit_code, len(trainer.calls), first.folder.content("failed.json")) == (0, 2, None)


@pytest.mark.parametrize("methods", [("mle", "mle.decoupled"), ("mle.decoupled", "mle")])
@pytest.mark.parametrize("at", [0, 1])
def test_rows_that_fail_stop_no_other_reader_of_the_cell(arguments, monkeypatch, methods, at):
    arguments = of(arguments, *methods, task="logicnlg")
    run(arguments, monkeypatch)
    *_, plan = run(arguments, monkeypatch)
    for cell in plan.cells:
        for key in cell.evaluations:
            cell.folder.rows_path(key).unlink()
    outcome, trainer, _, plan = run(arguments, monkeypatch, {(methods[at], 0): "late"})
    assert [call[0] for call in trainer.calls] == list(methods)
    assert (list(outcome.failed), outcome.ok) == ([plan.cells[at].label], [plan.cells[1 - at].label])
    assert plan.cells[0].folder.content("failed.json")["error"] == "no rows"


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, Stopped])
def test_an_interrupt_ends_the_run_and_keeps_what_is_done(arguments, monkeypatch, interrupt):
    with pytest.raises(interrupt):
        run(arguments, monkeypatch, {("trime", 0): interrupt()})
    assert not list(arguments.results_folder.rglob("failed.json"))
    outcome, trainer, *_ = run(arguments, monkeypatch)
    assert [call[:2] for call in trainer.calls] == [("trime", 0), ("trime", 1)]
    assert (len(outcome.stored), len(outcome.ok)) == (2, 2)


@pytest.mark.parametrize(
    ("outcome", "code"),
    [
        (Outcome(), 0),
        (Outcome(ok=["a"], stored=["b"]), 0),
        (Outcome(ok=["a"], diverged=["b"]), 1),
        (Outcome(failed={"a": ""}), 1),
        (Outcome(failed={"a": ""}, missing={"a"}), 3),
        (Outcome(failed={"a": "", "b": ""}, missing={"a"}), 1),
        (Outcome(failed={"a": "", "b": ""}, missing={"a", "b"}), 3),
        (Outcome(failed={"a": "", "b": ""}, missing={"a"}, blocked={"b"}), 3),
        (Outcome(failed={"a": "", "b": "", "c": ""}, missing={"a"}, blocked={"b"}), 1),
        (Outcome(failed={"b": ""}, blocked={"b"}), 1),
        (Outcome(ok=["c"], failed={"a": ""}, missing={"a"}), 1),
        (Outcome(diverged=["c"], failed={"a": ""}, missing={"a"}), 1),
    ],
)
def test_the_exit_code_of_an_outcome(outcome, code):
    assert outcome.exit_code == code
