"""One tiny training, in this process or shared among several."""

import json
import os
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file

from bench.cells.build import optimiser_of
from bench.config.config import TrainerConfig
from bench.config.resolve import find_method
from bench.models.backbones.small import small_causal, small_encdec
from bench.models.core.objective import Objective
from bench.models.core.run_context import RunContext
from bench.store.checkpoints import save_checkpoint
from bench.store.state_files import StateFiles
from bench.tasks.core.task import LoaderConfig
from bench.tasks.encode.codec import Codec
from bench.tasks.fetch.sources import Source
from bench.tasks.logicnlg import LogicNLG
from bench.training.execution import Execution
from bench.training.training import train

TYPES = {"32-true": torch.float32, "64-true": torch.float64, "bf16-mixed": torch.float32}
SHORT = {"max_source": 24, "max_target": 6}


@dataclass(frozen=True)
class Training:
    """What is trained, and on how many processes and micro-batches."""

    method: str = "trime"
    backbone: str = "small-causal"
    steps: int = 8
    batch: int = 5  # not a multiple of two: processes get rows and tokens of different number
    lr: float = 1e-3
    precision: str = "32-true"
    world: int = 1
    accumulate: int = 1
    checkpointing: bool = False
    selects: bool = False  # validates every other step and keeps the best
    states: str = ""  # folder for the state after every third step
    options: dict[str, Any] = field(default_factory=dict)

    def run(self) -> tuple[Objective, dict[str, Any]]:
        """Train in this process, as the rank its environment says."""
        method = find_method(self.method)
        objective, task, codec = small(method.kind, self.backbone, **{**method.values("method"), **self.options})
        objective.to(TYPES[self.precision])
        config = TrainerConfig(
            steps=self.steps, batch_size=self.batch, lr=self.lr, precision=self.precision, **SHORT  # type: ignore[arg-type]
        )  # fmt: skip
        if self.selects:
            config = replace(config, validate=2 * self.batch / 8, select="loss")  # of eight rows
        objective.setup_run(RunContext(optimiser=optimiser_of(config)))
        if objective.uses_token_counts:
            rows = task.encoded("train", codec)
            objective.prepare(torch.from_numpy(rows.target_counts(objective.backbone.vocabulary_size)))
        found = train(
            objective,
            fed(task, codec, config),
            config,
            Execution(
                world=self.world,
                accumulate=self.accumulate,
                activation_checkpointing=self.checkpointing,
            ),
            states=StateFiles(Path(self.states), steps=3) if self.states else None,
        )
        return objective, found

    def as_rank(self, rank: int, port: int, out: Path) -> None:
        """Train as one of several processes and leave weights and findings."""
        os.environ |= {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(self.world), "NODE_RANK": "0",
                       "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}  # fmt: skip
        objective, found = self.run()
        out.mkdir(exist_ok=True)
        (out / f"weights.{rank}").write_bytes(save_checkpoint(objective))
        (out / f"found.{rank}").write_text(json.dumps({**found, "training": asdict(self)}))


MAKERS = {"small-causal": small_causal, "small-encdec": small_encdec}


def small(kind: type[Objective], backbone: str = "small-causal", **options: Any) -> tuple[Objective, LogicNLG, Codec]:
    """An objective of 16 columns on eight built-in tables."""
    task = LogicNLG(style="compact")
    task.load(Source(None, "built-in sample"), 8)
    model = MAKERS[backbone]("", task, 0, vocabulary=300, width=16, heads=2, layers=1, context=64)
    return (
        kind(model, **options),
        task,
        Codec(model.tokenizer, model.architecture, SHORT["max_source"], SHORT["max_target"]),
    )


def fed(task: LogicNLG, codec: Codec, config: TrainerConfig) -> LogicNLG:
    """The task, ready to give a training its batches."""
    loader = LoaderConfig(codec, batch=config.batch_size, evaluation_batch=config.batch_size)
    task.setup_run(replace(loader, evaluation_rows=config.validate_rows))
    return task


def left(out: Path, rank: int) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
    """Weights and findings of a rank."""
    return load_file(out / f"weights.{rank}"), json.loads((out / f"found.{rank}").read_text())
