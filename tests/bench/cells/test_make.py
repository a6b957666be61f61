"""Anybody's Trainer trains, validates, tests and reloads every method on every task, with the program's numbers."""

import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lightning.pytorch import LightningDataModule, LightningModule, Trainer
from lightning.pytorch.callbacks import EarlyStopping, LearningRateMonitor, ModelCheckpoint
from lightning.pytorch.loggers import CSVLogger

import bench
from bench.base.keys import sha256
from bench.cli import main
from bench.errors import BlockedError, UsageError
from bench.models import METHODS
from bench.models.backbones.small import small_encdec
from bench.models.core.objective import Objective
from bench.models.mle import MLE
from bench.store.checkpoints import save_checkpoint
from bench.tasks import TASKS
from bench.tasks.logicnlg import LogicNLG
from tests.bench.contrast import Contrast
from tests.conftest import forget_data
from tests.e2e.resume import ON_BILSTM

STEPS, EVERY = 4, 2
SETS = {
    "trainer.steps": STEPS,
    "trainer.batch_size": 6,
    "trainer.max_source": 40,
    "trainer.max_target": 8,
    "backbone.width": 16,
    "backbone.vocabulary": 300,
    "evaluation.rows": 6,
}
SMALL = {"backbone.layers": 1, "backbone.heads": 2}
OBJECTIVES = [name for name, entry in METHODS.items() if not entry.baseline]
FINE_TUNED_FROM = "mle,ul_token"


def sets_of(method: str) -> dict[str, Any]:
    """The options of a tiny model."""
    return SETS if method in ON_BILSTM else SETS | SMALL


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with the cells that others are fine-tuned from, and two to compare with."""
    folder = tmp_path_factory.mktemp("store")
    texts = [f"{name}={value}" for name, value in (SETS | SMALL).items()]
    command = ["run", "--task", "logicnlg", "--method", f"{FINE_TUNED_FROM},histalign,face", "--preset", "small"]
    with pytest.MonkeyPatch.context() as patch:
        forget_data(patch, folder / "no-cache")
        assert main([*command, "--limit", "30", "--quiet", "--results", str(folder), "--set", *texts]) == 0
    return folder


@pytest.fixture(autouse=True)
def lightning_may_advise(sample_data: None) -> Iterator[None]:
    """Lightning's advice on workers and log intervals is no error here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def trainer(folder: Path, **settings: Any) -> Trainer:
    """A trainer of somebody else, with what people put into one."""
    callbacks = [
        ModelCheckpoint(folder / "checkpoints", monitor="val/loss"),
        EarlyStopping("val/loss", patience=9),
        LearningRateMonitor(),
    ]
    given: dict[str, Any] = {
        "max_steps": STEPS,
        "gradient_clip_val": 1.0,
        "val_check_interval": EVERY,
        "check_val_every_n_epoch": None,
        "log_every_n_steps": 1,
        "accelerator": "cpu",
        "logger": CSVLogger(folder),
        "callbacks": callbacks,
        "enable_progress_bar": False,
        "enable_model_summary": False,
    }
    return Trainer(**{**given, **settings})


@pytest.mark.parametrize(
    "method", [pytest.param(name, marks=pytest.mark.slow) if name == "attexp" else name for name in OBJECTIVES]
)
def test_a_trainer_does_all_it_can_with_a_method(method: str, results: Path, tmp_path: Path) -> None:
    objective, task = bench.make("logicnlg", method, set=sets_of(method), limit=30, results=results)
    assert isinstance(objective, LightningModule)
    assert isinstance(task, LightningDataModule)
    ours = trainer(tmp_path)
    ours.fit(objective, task)
    assert ours.global_step == STEPS
    checkpoint: Any = ours.checkpoint_callback
    (tested,) = ours.test(objective, task, verbose=False)
    assert {"test/loss", "test/nll", "test/ppl"} == set(tested)
    written = [row for batch in ours.predict(objective, task) for row in batch]  # type: ignore[union-attr]
    assert len({row["id"] for row in written}) == SETS["evaluation.rows"]
    reference = {"reference": objective.reference_model} if objective.has_reference else {}
    again = type(objective).load_from_checkpoint(checkpoint.best_model_path, **reference)
    (validated,) = trainer(tmp_path, callbacks=[], logger=False).validate(again, task, verbose=False)
    assert validated["val/loss"] == float(checkpoint.best_model_score)


@pytest.mark.parametrize("name", TASKS)
def test_a_trainer_trains_on_a_task(name: str, tmp_path: Path) -> None:
    objective, task = bench.make(name, "mle", set=SETS | SMALL, limit=30)
    ours = trainer(tmp_path, max_steps=EVERY, callbacks=[], logger=False, enable_checkpointing=False)
    ours.fit(objective, task)
    assert ours.global_step == EVERY
    assert ours.callback_metrics["val/loss"] > 0


@pytest.mark.parametrize("method", ["mle", "histalign", "face"])
def test_the_weights_are_those_of_bench_run(method: str, results: Path, tmp_path: Path) -> None:
    """Validation, logging and checkpoints of a trainer move no number."""
    objective, task = bench.make("logicnlg", method, set=sets_of(method), limit=30, results=results)
    trainer(tmp_path).fit(objective, task)
    (record,) = results.glob(f"logicnlg/{method}/*/trained.json")
    stored = json.loads(record.read_text())["content"]["model"]["checkpoint_sha256"]
    assert sha256(save_checkpoint(objective)) == stored


def test_what_was_made_by_hand_is_trained_too(tmp_path: Path) -> None:
    """A task and an objective of constructors alone; the rate falls over the steps of the trainer, not before."""
    task = LogicNLG()
    backbone = small_encdec("", task, 0, vocabulary=300, width=16, layers=1, heads=2)
    objective = MLE(backbone)
    ours = trainer(tmp_path, limit_val_batches=1, callbacks=[LearningRateMonitor()], max_steps=4)
    ours.fit(objective, task)
    lines = (Path(ours.logger.log_dir) / "metrics.csv").read_text().splitlines()  # type: ignore[union-attr,arg-type]
    at = lines[0].split(",").index("lr-AdamW/pg1")
    rates = [float(line.split(",")[at]) for line in lines[1:] if line.split(",")[at]]
    assert sorted(set(rates), reverse=True) == pytest.approx([1e-3, 7.5e-4, 5e-4, 2.5e-4])
    ours.save_checkpoint(tmp_path / "by-hand.ckpt")
    with pytest.raises(UsageError, match="does not say what its objective is made of"):
        MLE.load_from_checkpoint(tmp_path / "by-hand.ckpt")
    again = MLE.load_from_checkpoint(tmp_path / "by-hand.ckpt", backbone=backbone)
    assert save_checkpoint(again) == save_checkpoint(objective)


def test_a_trainer_trains_with_a_reference_model(results: Path, tmp_path: Path) -> None:
    """It is no part of a checkpoint, so who loads one gives it again, and gets the same numbers."""
    objective, task = bench.make("logicnlg", Contrast, set=SETS | SMALL, limit=30, results=results)
    before = save_checkpoint(objective.reference_model)
    ours = trainer(tmp_path)
    ours.fit(objective, task)
    assert save_checkpoint(objective.reference_model) == before
    written = [row for batch in ours.predict(objective, task) for row in batch]  # type: ignore[union-attr]
    assert len(written) == SETS["evaluation.rows"]
    checkpoint: Any = ours.checkpoint_callback
    with pytest.raises(UsageError, match=r"contrast uses a reference model, 'mle'.* reference=\.\.\."):
        Contrast.load_from_checkpoint(checkpoint.best_model_path)
    other = MLE(small_encdec("", task, 0, vocabulary=280, width=16, layers=1, heads=2))
    with pytest.raises(UsageError, match="should have the tokens of the first; got 280 tokens"):
        Contrast.load_from_checkpoint(checkpoint.best_model_path, reference=other)
    ours.save_checkpoint(tmp_path / "last.ckpt")
    again = Contrast.load_from_checkpoint(tmp_path / "last.ckpt", reference=objective.reference_model)
    assert save_checkpoint(again) == save_checkpoint(objective)
    plain = trainer(tmp_path, callbacks=[], logger=False)
    assert plain.validate(again, task, verbose=False) == plain.validate(objective, task, verbose=False)


@pytest.mark.parametrize(
    ("method", "says"),
    [
        ("lead", "'lead' trains nothing"),
        ("adadec.swapped", "trains nothing"),
        ("mle.matched", "is for open-ended tasks"),
        ("histaling", "did you mean 'histalign'"),
        ("all", "bench.make makes one objective, and 'all' stands for"),
    ],
)
def test_what_trains_nothing_is_refused(method: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        bench.make("logicnlg", method, limit=30)


def test_what_is_no_backbone_is_refused() -> None:
    for given in ("small-encdec", small_encdec("", LogicNLG(), 0, width=16, heads=2, vocabulary=300).model):
        with pytest.raises(UsageError, match=r"^MLE takes a bench.Backbone, not .*; bench.make makes both"):
            MLE(given)  # type: ignore[arg-type]


def test_the_method_before_has_to_be_there(tmp_path: Path) -> None:
    with pytest.raises(BlockedError, match=r"needs the trained run of .* run: bench run --task logicnlg --method face"):
        bench.make("logicnlg", "face", limit=30, results=tmp_path)


def test_a_checkpoint_of_another_method_is_refused(results: Path, tmp_path: Path) -> None:
    objective, task = bench.make("logicnlg", "mle", set=SETS | SMALL, limit=30)
    ours = trainer(tmp_path, max_steps=1, callbacks=[])
    ours.fit(objective, task)
    ours.save_checkpoint(tmp_path / "mle.ckpt")
    kind: type[Objective] = METHODS["trime"].load()
    with pytest.raises(UsageError, match="is of 'mle', not of 'trime'"):
        kind.load_from_checkpoint(tmp_path / "mle.ckpt")


def test_a_trainer_tests_with_the_validation_step_of_a_subclass(tmp_path: Path) -> None:
    objective, task = bench.make("logicnlg", "mle", set=SETS | SMALL, limit=30)
    steps = []

    class Watched(type(objective)):  # type: ignore[misc]
        def validation_step(self, batch: Any, batch_idx: int) -> None:
            steps.append(batch_idx)
            super().validation_step(batch, batch_idx)

    objective.__class__ = Watched
    trainer(tmp_path, callbacks=[], logger=False).test(objective, task, verbose=False)
    assert steps


def test_no_row_of_the_test_split_is_read_in_training(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Training, validation, selection: once the cell is planned, which hashes the split, it stays closed."""
    objective, task = bench.make("logicnlg", "mle", set=SETS | SMALL, limit=30)
    asked = []
    split = task.split

    def watched(name: str) -> Any:
        asked.append(name)
        return split(name)

    monkeypatch.setattr(task, "split", watched)
    ours = trainer(tmp_path)
    ours.fit(objective, task)
    assert set(asked) == {"train", "valid"}
    ours.test(objective, task, verbose=False)
    assert "test" in asked
