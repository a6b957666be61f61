"""Several processes give what one gives: the same training to rounding, the same rows and scores to the last bit."""

import json
import os
import signal
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load
from torch import Tensor

from bench.cells.evaluation import evaluate, merge
from bench.cells.required import Evaluation
from bench.launch.lock import LOCK
from bench.store.checkpoints import save_checkpoint
from bench.store.state_files import StateFiles
from bench.store.store import Store
from tests.conftest import Bench
from tests.e2e import children, stores
from tests.e2e.children import Run, Start
from tests.e2e.faults.test_signals import asleep
from tests.e2e.tiny import Training, left
from tests.waiting import free_port, wait_until

pytestmark = pytest.mark.ddp


# Curves are stored with six decimals, of losses that processes sum in float32. A key's bias shifts all scores of a
# softmax alike, so that its true gradient is zero and AdamW scales rounding noise up to its learning rate; in float64
# the noise is below the optimiser's epsilon.
CURVE, ULPS = 1.5e-6, 2.5e-7
WEIGHTS = {"32-true": 1e-6, "64-true": 1e-12}
KEY_BIAS = {"32-true": 1e-4, "64-true": 1e-12}


Trained = tuple[dict[str, Tensor], dict[str, Any]]
"""Weights, and what `train` returned."""


def weights_of(training: Training) -> Trained:
    """Train in this process."""
    objective, found = training.run()
    return load(save_checkpoint(objective)), found


def on_ranks(training: Training, environment: dict[str, str], out: Path) -> list[Trained]:
    """Train in as many processes as `world` says; return what each has left."""
    port = free_port()
    ranks = [children.start(children.run_rank, training, r, port, environment, str(out)) for r in range(training.world)]
    for rank, child in enumerate(ranks):
        assert children.ended(child, 60)
        assert child.exitcode == 0, children.read(Path(f"{out}.log.{rank}"))
    return [left(out, rank) for rank in range(training.world)]


def assert_same_training(first: Trained, second: Trained, precision: str) -> None:
    """Equal curves and weights, to the tolerances above."""
    assert [step for step, _ in first[1]["curve"]] == [step for step, _ in second[1]["curve"]]
    losses = [[loss for _, loss in found["curve"]] for _, found in (first, second)]
    assert losses[0] == pytest.approx(losses[1], abs=CURVE, rel=ULPS)
    assert first[1]["tokens"] == second[1]["tokens"]
    assert first[0].keys() == second[0].keys()
    for name, weight in first[0].items():
        worst = (weight - second[0][name]).abs().max().item()
        key_bias = name.endswith(("k_proj.bias", "c_attn.bias"))
        assert worst <= (KEY_BIAS if key_bias else WEIGHTS)[precision], name


METHODS = [
    ("mle", "small-causal", "32-true"),
    ("trime", "small-encdec", "32-true"),
    ("histalign", "small-causal", "32-true"),
    ("histalign", "small-encdec", "64-true"),
]


class TestTraining:
    @pytest.mark.parametrize(("method", "backbone", "precision"), METHODS)
    def test_two_ranks_are_one_batch(
        self, environment: dict[str, str], tmp_path: Path, method: str, backbone: str, precision: str
    ) -> None:
        """Five rows a step: three and two of uneven length, on two ranks, in two micro-batches, or all at once."""
        training = Training(method, backbone, precision=precision)
        whole = weights_of(training)
        assert_same_training(whole, weights_of(replace(training, accumulate=2)), precision)
        ranks = on_ranks(replace(training, world=2), environment, tmp_path / "out")
        for found in ranks:
            assert_same_training(whole, found, precision)
        assert all(torch.equal(weight, ranks[1][0][name]) for name, weight in ranks[0][0].items())

    def test_two_ranks_of_two_micro_batches(self, environment: dict[str, str], tmp_path: Path) -> None:
        """Activations are computed again, and the step with the best validation is kept."""
        training = Training(batch=7, precision="64-true", selects=True)
        ranks = replace(training, world=2, accumulate=2, checkpointing=True)
        whole, (found, _) = weights_of(training), on_ranks(ranks, environment, tmp_path / "out")
        assert_same_training(whole, found, "64-true")
        assert found[1]["kept"]["step"] == whole[1]["kept"]["step"]

    def test_one_process_continues_the_training_of_two(self, environment: dict[str, str], tmp_path: Path) -> None:
        """From the state of the third step: that of the sixth is removed."""
        folder = tmp_path / "states"
        training = Training(precision="64-true", world=2, states=str(folder))
        found, _ = on_ranks(training, environment, tmp_path / "out")
        StateFiles(folder).paths()[0].unlink()
        assert_same_training(weights_of(replace(training, world=1)), found, "64-true")

    def test_a_scheduler_changes_nothing(self, environment: dict[str, str], tmp_path: Path) -> None:
        """Variables of SLURM, of a job of one task, say nothing about the processes of a cell."""
        slurm = {"SLURM_NTASKS": "1", "SLURM_JOB_NAME": "job", "SLURM_JOB_ID": "7", "SLURM_PROCID": "0"}
        slurm |= {"SLURM_LOCALID": "0", "SLURM_NODEID": "0", "SLURM_NODELIST": "node"}
        training = Training("mle", world=2)
        for found in on_ranks(training, {**environment, **slurm}, tmp_path / "out"):
            assert_same_training(weights_of(replace(training, world=1)), found, "32-true")

    def test_one_rank_diverges_and_all_stop(self, environment: dict[str, str], tmp_path: Path) -> None:
        training = Training("tests.e2e.methods:NanOnSecondRank", steps=250, world=2)
        for _, found in on_ranks(training, environment, tmp_path / "out"):
            assert (found["status"], found["diverged_at"], found["steps"]) == ("diverged", 2, 2)


TRAINED = {
    "likelihood": "logicnlg", "generation": "logicnlg", "probe": "ambiguous_template", "spectrum": "ambiguous_template",
}  # fmt: skip
DECODINGS = "greedy,nucleus=0.95"


class TestEvaluation:
    """Ranks simulated one after the other; eight rows in batches of three make three batches."""

    @pytest.fixture(params=sorted(TRAINED))
    def evaluations(self, request: pytest.FixtureRequest, matrix: Path) -> tuple[Any, list[Evaluation]]:
        arguments = stores.arguments(matrix, "--decode", DECODINGS, task=TRAINED[request.param], method="trime")
        cell, objective, codec = stores.loaded(arguments)
        wanted = [what for what in cell.evaluations.values() if what.kind == request.param]
        assert len(wanted) == (2 if request.param == "generation" else 1)
        return (objective, cell.task, codec), wanted

    @pytest.mark.parametrize("world", [2, pytest.param(3, marks=pytest.mark.slow), 7])
    def test_any_number_of_ranks(self, evaluations: tuple[Any, list[Evaluation]], world: int) -> None:
        trained, wanted = evaluations
        for what in wanted:
            ids = ("singular_values",) if what.kind == "spectrum" else what.ids
            alone = merge([list(evaluate(*trained, what))], ids, "")
            parts = [list(evaluate(*trained, what, rank, world)) for rank in range(world)]
            assert merge(parts, ids, "") == alone
            assert merge(parts[::-1], ids, "") == alone
            assert world < 7 or not all(parts), "some rank has nothing to do"


def without_rows(results: Path) -> dict[str, bytes]:
    """Remove all rows and scores; return what the store held."""
    held = stores.contents(results)
    for path in (*results.rglob("rows-*"), *results.rglob("scores-*")):
        path.unlink()
    return held


class TestCommandLine:
    def test_real_processes(self, bench: Bench, run: Run, log: Path, tmp_path: Path) -> None:
        """Two interpreters train and evaluate a cell as one does, and leave nothing for one device to do."""
        both = {n: tmp_path / str(n) for n in (1, 2)}
        arguments = {
            n: stores.arguments(results, "--decode", DECODINGS, task="logicnlg", method="trime")
            for n, results in both.items()
        }
        assert bench(*arguments[1]).code == 0
        assert run([*arguments[2], "--devices", "2"]) == 0, children.read(log)
        assert "warning" not in children.read(log)
        assert not (both[2] / ".work").exists()
        assert_same_cell(*(next(results.glob("logicnlg/trime/*")) for results in both.values()))
        again = bench(*arguments[2])
        assert (again.code, len(json.loads(again.out)["stored"])) == (0, 1)
        held = without_rows(both[2])
        assert bench(*arguments[2]).code == 0
        assert stores.contents(both[2]) == held

    def test_a_reference_model_is_read_on_every_device(self, bench: Bench, run: Run, log: Path, tmp_path: Path) -> None:
        """Both models are trained by two processes as by one."""
        both = {n: tmp_path / str(n) for n in (1, 2)}
        arguments = {
            n: stores.arguments(results, task="logicnlg", method="asft", limit=6) for n, results in both.items()
        }
        assert bench(*arguments[1]).code == 0
        assert run([*arguments[2], "--devices", "2"], children.fork_workers) == 0, children.read(log)
        for method in ("mle", "asft"):
            assert_same_cell(*(next(results.glob(f"logicnlg/{method}/*")) for results in both.values()))


def assert_same_cell(alone: Path, together: Path) -> None:
    """One key, one curve, and weights that differ by rounding (a key's bias by more, see above)."""
    assert together.name == alone.name
    first, second = (json.loads((folder / "trained.json").read_text()) for folder in (alone, together))
    assert (first["provenance"]["world"], second["provenance"]["world"]) == (1, 2)
    curves = [[loss for _, loss in record["content"]["train"]["curve"]] for record in (first, second)]
    assert curves[0] == pytest.approx(curves[1], abs=CURVE)
    weights = [load(next(folder.glob("model-*")).read_bytes()) for folder in (alone, together)]
    for name, weight in weights[0].items():
        assert (weight - weights[1][name]).abs().max() <= KEY_BIAS["32-true"], name


class TestDeath:
    METHOD = "tests.e2e.methods:DiesOnSecondRank"

    def arguments(self, results: Path) -> list[str]:
        return [*stores.arguments(results, task="ambiguous_template", method=self.METHOD), "--devices", "2"]

    @pytest.mark.parametrize(
        "sleeps",
        [pytest.param("", id="the other loses it"), pytest.param("0", id="the other hangs", marks=pytest.mark.slow)],
    )
    def test_of_a_worker(self, start: Start, run: Run, log: Path, tmp_path: Path, sleeps: str) -> None:
        """One process is killed in its second step: the run ends with a clear line, and nothing is left running."""
        results = tmp_path / "results"
        method = {"DIES": "at once" if sleeps else "in step 2", "SLEEPS": sleeps, "BED": str(tmp_path)}
        child = start(self.arguments(results), children.fork_workers, **method)
        assert children.ended(child, 60)
        assert child.exitcode == 1, children.read(log)
        assert "its process was killed 2 times: process 1 of 2 was killed by SIGKILL" in children.read(log)
        assert children.users(tmp_path) == []
        assert not (results / ".work").exists()
        (folder,) = results.glob("*/dies-on-second-rank/*")
        assert {path.name for path in folder.iterdir()} - {LOCK} == {"failed.json"}
        assert run(self.arguments(results), children.fork_workers) == 0, children.read(log)
        assert (folder / "trained.json").exists()
        assert not (folder / "failed.json").exists()

    @pytest.mark.parametrize("rank", [1, pytest.param(0, marks=pytest.mark.slow)])
    def test_one_that_is_stopped_ends_the_run_and_is_named(
        self, start: Start, log: Path, tmp_path: Path, rank: int
    ) -> None:
        """The others wait for it as long as the timeout of the group says."""
        trouble = children.together(children.fork_workers, partial(children.hurry, 2, timeout=3.0))
        child = start(self.arguments(tmp_path / "results"), trouble, SLEEPS=str(rank), BED=str(tmp_path))
        os.kill(asleep(tmp_path, str(rank))[rank], signal.SIGSTOP)
        assert children.ended(child, 60)
        assert child.exitcode == 1, children.read(log)
        assert f"; process {rank} did not answer any more and was ended" in children.read(log)
        assert children.users(tmp_path) == []

    @pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="Linux ends processes with their parent")
    @pytest.mark.parametrize("is_stopped", [False, True])
    def test_of_the_parent(self, start: Start, tmp_path: Path, is_stopped: bool) -> None:
        """Killed alone, it takes its ranks along, also one that is stopped and cannot see that the parent is gone."""
        child = start(self.arguments(tmp_path / "results"), children.fork_workers, SLEEPS="0,1", BED=str(tmp_path))
        ranks = asleep(tmp_path, "0,1")
        assert len(children.users(tmp_path)) >= 3
        if is_stopped:
            os.kill(ranks[1], signal.SIGSTOP)
        children.send(child, signal.SIGKILL)
        child.join()
        assert wait_until(lambda: children.users(tmp_path) == [], 10)


STREAM = ("run", "--task", "wikitext103", "--method", "mle", "--preset", "small", "--limit", "12", "--quiet", "--json",
        "--decode", "greedy+max_new_tokens=4", "--set", "trainer.steps=1", "backbone.width=16", "backbone.layers=1",
        "backbone.vocabulary=400", "trainer.batch_size=4", "evaluation.batch_size=7", "evaluation.rows=23")  # fmt: skip


def rows_of(results: Path) -> dict[str, list[dict[str, Any]]]:
    """Rows by their kind."""
    (cell,) = Store(results).cells()
    found = cell.all_rows()
    assert [(rows.content["cut"], rows.content["whole_split"]) for rows in found] == [(23, False)] * 2
    return {rows.content["kind"]: list(rows.rows) for rows in found}


@pytest.mark.slow
def test_two_processes_make_the_rows_of_one_of_running_text(bench: Bench, tmp_path: Path) -> None:
    """Rows that the tokenizer cuts are the same ones, each once."""
    made: dict[str, Any] = {}
    for devices in ("1", "2"):
        ended = bench(*STREAM, "--devices", devices, "--results", str(tmp_path / devices))
        assert ended.code == 0, ended.err
        made[devices] = rows_of(tmp_path / devices)
    for kind in ("likelihood", "generation"):
        one, two = made["1"][kind], made["2"][kind]
        assert len(one) == 23
        assert [row["id"] for row in one] == [row["id"] for row in two]
    likelihood = [made[devices]["likelihood"] for devices in ("1", "2")]
    counts = [[(row["n_tokens"], row["n_words"], row["n_bytes"]) for row in rows] for rows in likelihood]
    assert counts[0] == counts[1]
    one, two = ([row["nll_sum"] for row in rows] for rows in likelihood)
    assert one == pytest.approx(two, rel=1e-4)
