"""Controls, end to end: one training serves a method and those that read it, and what needs no model has none."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench.cells import work
from bench.errors import BenchError
from bench.store.store import Store
from bench.tasks.encode.codec import Codec
from tests.conftest import Bench, call, forget_data
from tests.e2e import stores

DECODE = ("--decode", "greedy,topk=3,beam=2")
BILSTM = ("trainer.steps=2", "trainer.batch_size=4", "trainer.max_target=6", "trainer.max_source=40",
          "backbone.width=16", "backbone.vocabulary=300", "backbone.exemplar_width=4", "evaluation.batch_size=3",
          "evaluation.spectrum_rows=3")  # fmt: skip


def transformer(results: Path, method: str, *more: str) -> list[str]:
    """A run of methods that read one cell on the generation task."""
    return stores.arguments(results, *DECODE, *more, task="logicnlg", method=method)


def recurrent(results: Path, method: str, *more: str, task: str = "logicnlg") -> list[str]:
    """A run of methods on their own backbone."""
    return ["run", "--task", task, "--method", method, "--preset", "small", "--limit", "8", "--threads", "1",
            "--quiet", "--json", "--results", str(results), *more, "--set", *BILSTM]  # fmt: skip


def rows_of(results: Path, method: str, task: str = "logicnlg") -> dict[tuple[str, str, str], Any]:
    """Rows of a method's only folder, by kind, decoding and the control they are shown as."""
    found = {}
    for cell in Store(results).cells([task]):
        for rows in cell.all_rows() if cell.path.parent.name == method else ():
            about = rows.content
            found[about["kind"], (about["decoding"] or {}).get("name", ""), about["shown_as"]] = rows.rows
    return found


def in_turn(
    train_sources: Sequence[str], train_targets: Sequence[str], sources: Sequence[str] | None, **_: Any
) -> np.ndarray:
    """Stands in for retrieval, which has one answer for all of so few rows."""
    rows = np.arange(len(train_sources if sources is None else sources))
    return (rows + 1) % len(train_sources)


class Counted:
    """Counts the trainings of this process."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        import bench.cells.work

        self.calls, self.real = 0, bench.cells.work.train
        patch.setattr("bench.cells.work.train", self)

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        self.calls += 1
        return self.real(*arguments, **options)


@pytest.fixture
def trainings(monkeypatch: pytest.MonkeyPatch) -> Counted:
    """How often a model was trained."""
    return Counted(monkeypatch)


def made(folder: Path, words: Callable[..., list[str]], methods: str, **more: str) -> Path:
    """The store of a command on the built-in rows."""
    with pytest.MonkeyPatch.context() as patch:
        forget_data(patch, folder / "no-cache")
        ended = call(*words(folder / "results", methods, **more))
    assert ended.code == 0, ended.err
    return folder / "results"


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The store of a method and, after it, a control that reads it."""
    return made(tmp_path_factory.mktemp("shared"), transformer, "mle,mle.decoupled")


@pytest.fixture(scope="module", params=["logicnlg", "ambiguous_template"])
def trained(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    methods = "adadec,adadec.swapped,adadec.const"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bench.tasks.exemplars.retrieve.retrieve", in_turn)
        return request.param, made(tmp_path_factory.mktemp("exemplars"), recurrent, methods, task=request.param)


class TestOneTraining:
    @pytest.mark.parametrize(
        "asked",
        [
            pytest.param(["mle,mle.decoupled"], marks=pytest.mark.slow),  # as `shared` was made
            ["mle.decoupled,mle"],
            ["mle.decoupled", "mle"],
            ["mle", "mle.decoupled"],
        ],
        ids=" then ".join,
    )
    def test_serves_both_in_any_order(
        self, bench: Bench, shared: Path, tmp_path: Path, trainings: Counted, asked: list[str]
    ) -> None:
        """The same files to the last byte but provenance, and nothing trained twice."""
        results = tmp_path / "results"
        for methods in asked:
            assert bench(*transformer(results, methods)).code == 0
        assert trainings.calls == 1
        assert stores.contents(results) == stores.contents(shared)

    def test_the_control_only_writes(self, shared: Path) -> None:
        assert set(rows_of(shared, "mle")) == {
            ("likelihood", "", ""), *(("generation", d, "") for d in ("greedy", "topk=3", "beam=2")),
            *(("generation", f"decoupled:{d}", "mle.decoupled") for d in ("greedy", "topk=3", "beam=2")),
        }  # fmt: skip


class TestBaselines:
    def test_they_write_exactly_the_split_and_train_nothing(self, tmp_path: Path) -> None:
        written = made(tmp_path, transformer, "lead,copy_exemplar")
        (cell, *_) = stores.planned(transformer(written, "lead"))
        examples = cell.task.split("test").examples
        exemplars = cell.task.exemplars("test")
        unlimited = Codec(None, "encoder-decoder", 10**6, 10**6)
        targets = [e.target for e in cell.task.split("train").examples]
        words = round(sum(len(text.split()) for text in targets) / len(targets))
        sources = {e.id: cell.task.source_text(e, unlimited)[0] for e in examples}
        expected = {"copy_exemplar": exemplars, "lead": {i: " ".join(s.split()[:words]) for i, s in sources.items()}}
        for method, texts in expected.items():
            found = rows_of(written, method)
            assert {kind for kind, _, _ in found} == {"generation"}
            for rows in found.values():
                assert [row["id"] for row in rows] == sorted(e.id for e in examples)
                assert {row["id"]: row["text"] for row in rows} == texts
            (folder,) = written.glob(f"logicnlg/{method}/*")
            assert {path.name.partition("-")[0] for path in folder.iterdir()} == {
                "config.yaml",
                "trained.json",
                "rows",
                "scores",
                "items",
            }
            record = json.loads((folder / "trained.json").read_text())["content"]
            assert "model" not in record
            assert (record["status"], record["train"]) == ("ok", {"steps": 0, "curve": []})


class TestExemplars:
    def test_every_kind_of_evaluation_reads_them(self, trained: tuple[str, Path]) -> None:
        """Another row's exemplar moves what the model says; a cell that reads none has rows of its own."""
        task, results = trained
        found = rows_of(results, "adadec", task)
        kinds = {kind for kind, _, _ in found}
        assert kinds == set(stores.planned(recurrent(results, "adadec", task=task))[0].task.info.evaluations)
        assert {shown for _, _, shown in found} == {"", "adadec.swapped"}
        for (kind, decoding, shown), rows in found.items():
            own = found[kind, decoding, ""]
            assert shown == "" or [row["id"] for row in rows] == [row["id"] for row in own]
            assert shown == "" or kind in ("generation", "probe") or rows != own
        assert set(rows_of(results, "adadec.const", task)) == {key for key in found if not key[2]}

    LEAK = "warning: logicnlg · adadec · bilstm · seed 0: exemplars leak"

    def test_a_leak_is_told_before_the_training(
        self, bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Whatever becomes of it."""
        monkeypatch.setattr("bench.tasks.exemplars.retrieve.leak", lambda *_: "exemplars leak")
        monkeypatch.setattr("bench.tasks.exemplars.retrieve.retrieve", in_turn)
        monkeypatch.setattr(work, "train", not_trained)
        assert bench(*recurrent(tmp_path / "results", "adadec")).err.splitlines()[0] == self.LEAK


def not_trained(*_: Any) -> None:
    """In place of a training."""
    raise BenchError("not trained here")
