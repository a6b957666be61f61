"""Objectives in TRL's `SFTTrainer`: completion-only masks, its own loss for maximum likelihood, no packed rows."""

from __future__ import annotations

import random
from typing import Any

import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from bench.errors import UsageError
from bench.integrations.attach import attach
from bench.integrations.trainer import trainer_for
from tests.bench.integrations.test_attach import VOCABULARY, llama

trl = pytest.importorskip("trl", reason="of the extra integrations")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]


def trainer(kind: type[Any], model: Any, folder: Any, **options: Any) -> Any:
    """A trainer of four steps on prompts with completions of unlike lengths."""
    from datasets import Dataset

    words = ["<pad>", "<s>", "</s>", *(f"w{place}" for place in range(VOCABULARY - 3))]
    whole = Tokenizer(models.WordLevel({word: place for place, word in enumerate(words)}, unk_token="<pad>"))
    whole.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=whole, pad_token="<pad>", bos_token="<s>", eos_token="</s>")
    draw = random.Random(0)
    rows = []
    for length in (3, 5, 4, 7) * 6:
        prompt, completion = draw.choices(words[3:], k=4), draw.choices(words[3:], k=length)
        rows.append({"prompt": " ".join(prompt) + " ", "completion": " ".join(completion)})
    data = Dataset.from_list(rows)
    arguments = trl.SFTConfig(str(folder), per_device_train_batch_size=4, max_steps=4, logging_steps=1, report_to=[],
                              use_cpu=True, seed=3, disable_tqdm=True, save_strategy="no", bf16=False,
                              **options)  # fmt: skip
    return kind(model=model, args=arguments, train_dataset=data, eval_dataset=data.select(range(4)),
                processing_class=tokenizer)  # fmt: skip


def losses(made: Any) -> list[float]:
    """The logged losses of a training, then that of the evaluation."""
    made.train()
    logged = [entry["loss"] for entry in made.state.log_history if "loss" in entry]
    return [*logged, made.evaluate()["eval_loss"]]


def test_maximum_likelihood_is_trls_own_loss(tmp_path) -> None:
    own, ours = trainer(trl.SFTTrainer, llama(), tmp_path), trainer(trainer_for(trl.SFTTrainer), llama(), tmp_path)
    torch.testing.assert_close(losses(ours), losses(own), rtol=1e-6, atol=1e-6)


def test_an_objective_is_trained_or_what_bypasses_it_is_refused(tmp_path) -> None:
    kind = trainer_for(trl.SFTTrainer, "histalign")
    made = trainer(kind, llama(), tmp_path)
    model, (first, *_) = attach(llama(), "histalign"), made.get_train_dataloader()
    inputs = {name: first[name] for name in ("input_ids", "attention_mask", "labels")}
    expected = float(model(**inputs).loss)
    assert losses(made)[0] == pytest.approx(expected, rel=1e-5)
    with pytest.raises(UsageError, match="bypasses it"):
        trainer(trl.SFTTrainer, attach(llama(), "histalign"), tmp_path).train()
    for options, message in (({"packing": True}, "packing"), ({"loss_type": "dft"}, "loss_type")):
        with pytest.raises(UsageError, match=message):
            trainer(kind, llama(), tmp_path, **options)
