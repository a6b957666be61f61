"""Objectives in TRL's `SFTTrainer`: what bypasses them is refused; test_table.py has the numbers."""

import pytest

from bench.errors import UsageError
from bench.integrations.attach import attach
from bench.integrations.trainer import trainer_for
from tests.bench.integrations.trainers import llama, sft_trainer, trainer_step

trl = pytest.importorskip("trl", reason="of the extra integrations")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]


def test_maximum_likelihood_is_trls_own_loss(tmp_path) -> None:
    kinds = trl.SFTTrainer, trainer_for(trl.SFTTrainer, "mle")
    own, ours = (trainer_step(sft_trainer(kind, llama(), tmp_path))[0] for kind in kinds)
    assert ours == pytest.approx(own, rel=1e-6)


def test_what_bypasses_an_objective_is_refused(tmp_path) -> None:
    with pytest.raises(UsageError, match="bypasses it"):
        sft_trainer(trl.SFTTrainer, attach(llama(), "histalign"), tmp_path).train()
    for options, message in (({"packing": True}, "packing"), ({"loss_type": "dft"}, "loss_type")):
        with pytest.raises(UsageError, match=message):
            sft_trainer(trainer_for(trl.SFTTrainer, "histalign"), llama(), tmp_path, **options)
