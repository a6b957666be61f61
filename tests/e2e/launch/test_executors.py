"""`bench.run(executor=...)`: whatever has `submit` executes the runs, each in a process of its own."""

import os
import signal
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import bench
from bench.errors import UsageError
from bench.launch import processes
from tests.e2e import children, stores
from tests.waiting import is_gone, wait_until

SETTINGS = {name: value for name, _, value in (line.partition("=") for line in stores.SETTINGS)}


def run(results: Path, methods: str, executor: Any, **more: str) -> Any:
    """Run tiny trainings through an executor, with more settings."""
    settings, names = {**SETTINGS, **more}, methods.split(",")
    return bench.run("ambiguous_template", names, limit=8, set=settings, results=results, quiet=True, executor=executor)


def of_matrix(matrix: Path, *methods: str) -> dict[str, bytes]:
    """What a command stores of some methods."""
    return {
        name: content
        for name, content in stores.contents(matrix).items()
        if name.startswith(tuple(f"ambiguous_template/{method}/" for method in methods))
    }


@pytest.fixture
def forked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes of runs are forked, for speed."""
    monkeypatch.setattr(processes, "fork_server", children.fork)


@pytest.mark.usefixtures("forked")
def test_any_executor_stores_what_a_command_stores(matrix: Path, tmp_path: Path) -> None:
    with children.ForkingPool(2) as pool:
        board = run(tmp_path / "results", "mle,trime", pool)
    assert stores.contents(tmp_path / "results") == of_matrix(matrix, "mle", "trime")
    assert not board.failed


class Loses:
    """An executor that loses the first run it is given, and knows what it was given."""

    def __init__(self) -> None:
        self.given: list[str] = []

    def submit(self, function: Any, job: Mapping[str, Any], /) -> Future[dict[str, Any]]:
        self.given += job["run"]["arguments"]["methods"]
        future: Future[dict[str, Any]] = Future()
        if len(self.given) == 1:
            future.set_exception(RuntimeError("the worker is gone"))
        else:
            future.set_result(function(job))
        return future


@pytest.mark.usefixtures("forked")
def test_a_lost_run_is_tried_once_more_and_children_come_after_it(tmp_path: Path) -> None:
    executor = Loses()
    run(tmp_path / "results", "mle.continued", executor)
    assert executor.given == ["mle", "mle", "mle.continued"]


def test_a_class_of_the_running_script_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is in the script that is running"):
        run(tmp_path, "__main__:Mine", Loses())


@pytest.mark.usefixtures("forked")
def test_a_run_that_another_process_holds_waits_for_it(matrix: Path, tmp_path: Path) -> None:
    """It is submitted again until the other one has let go."""
    from bench.launch.lock import locked

    results, seen = tmp_path / "results", []

    class Watched(ThreadPoolExecutor):
        def submit(self, function: Any, job: Mapping[str, Any], /) -> Any:  # type: ignore[override]
            future = super().submit(function, job)
            seen.append(future)
            return future

    folder = next(matrix.glob("ambiguous_template/mle/*"))
    held = results / folder.relative_to(matrix)
    held.mkdir(parents=True)
    let_go = threading.Event()

    def hold() -> None:
        with locked(held):
            let_go.wait(60)

    holder = threading.Thread(target=hold)
    holder.start()
    try:
        with Watched(1) as pool:
            waiting = threading.Thread(target=run, args=(results, "mle", pool))
            waiting.start()
            assert wait_until(lambda: any(future.done() for future in seen), 60)
            assert seen[0].result()["status"] == "locked"
            let_go.set()
            waiting.join(60)
    finally:
        let_go.set()
        holder.join()
    assert stores.contents(results) == of_matrix(matrix, "mle")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
class TestDask:
    """Needs the extra `integrations`."""

    @pytest.fixture
    def client(self, environment: dict[str, str], tmp_path: Path) -> Iterator[Any]:
        distributed = pytest.importorskip("distributed")
        with (
            distributed.LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                dashboard_address=None,
                local_directory=str(tmp_path / "dask"),
                env={**environment, "SLEEPS": "0", "BED": str(tmp_path)},
            ) as cluster,
            distributed.Client(cluster) as client,
        ):
            yield client

    def test_a_killed_worker_costs_its_run_some_time(self, client: Any, matrix: Path, tmp_path: Path) -> None:
        """Its process ends with it; the run is done by the other worker, and nothing else happens to the rest."""
        results = tmp_path / "results"
        running = threading.Thread(target=run, args=(results, "tests.e2e.methods:Sleeps,mle", client.get_executor()))
        running.start()
        bed = tmp_path / "asleep.0"
        assert wait_until(lambda: children.read(bed) != "", 240)
        child = int(bed.read_text())  # of a fork server, which is a child of the worker
        (worker,) = {status for status in client.run(os.getpid).values() if parent_of(parent_of(child)) == status}
        bed.unlink()
        os.kill(worker, signal.SIGKILL)
        assert wait_until(lambda: is_gone(child), 20)
        assert wait_until(lambda: children.read(bed) != "", 240), "it is begun again"
        (tmp_path / "go").touch()
        running.join(120)
        assert len(list(results.rglob("trained.json"))) == 2
        assert stores.contents(results).items() >= of_matrix(matrix, "mle").items()
        assert not (results / ".work").exists()


@pytest.mark.slow
def test_a_job_of_submitit_near_its_time_limit_continues_from_its_state(
    environment: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It goes back into the queue, and what is stored is what a plain run stores. Needs the extra `integrations`."""
    submitit = pytest.importorskip("submitit")
    for name, value in {**environment, "BED": str(tmp_path)}.items():
        monkeypatch.setenv(name, value)
    executor = submitit.AutoExecutor(tmp_path / "logs", cluster="local")
    executor.update_parameters(timeout_min=10)
    methods = "tests.e2e.methods:Paced,mle.continued"
    more = {"trainer.steps": "60", "execution.state_every": "600"}

    def first_steps() -> list[int]:
        """The first step of each process that has trained."""
        found: dict[str, int] = {}
        for line in children.read(tmp_path / "steps").splitlines():
            found.setdefault(line.split()[0], int(line.split()[1]))
        return list(found.values())

    running = threading.Thread(target=run, args=(tmp_path / "results", methods, executor), kwargs=more)
    running.start()
    try:
        assert wait_until(lambda: children.read(tmp_path / "steps").count("\n") > 2, 240)
        child = int((tmp_path / "steps").read_text().split()[0])  # of a fork server, which is a child of the job
        os.kill(parent_of(parent_of(child)), signal.SIGUSR2)  # as Slurm does
        assert wait_until(lambda: len(first_steps()) == 2, 120)
    finally:
        (tmp_path / "go").touch()
        running.join(240)
    assert 3 <= first_steps()[1] < 60
    assert len(list((tmp_path / "results").rglob("trained.json"))) == 3
    run(tmp_path / "plain", methods, None, **more)
    assert stores.contents(tmp_path / "results") == stores.contents(tmp_path / "plain")


def parent_of(process: int) -> int:
    """Return the parent of a process."""
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
