"""A tiny model with a method attached, and one step of it in each trainer that people have.

A step is of plain gradient descent with a rate of 1, so the change of the weights is the gradient.
"""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from transformers import LlamaConfig, LlamaForCausalLM

from bench.cells.build import continued
from bench.config.resolve import find_method
from bench.integrations.attach import STATE, attach
from bench.integrations.trainer import trainer_for
from bench.models.backbones.causal import Causal
from bench.models.core.objective import Objective
from bench.models.core.run_context import RunContext
from bench.models.mle import MLE

VOCABULARY = 40
COUNTS = torch.arange(VOCABULARY) % 7 + 1
Step = tuple[float, dict[str, Tensor]]
"""The loss of a step, and the weights of the model after it."""


def llama() -> LlamaForCausalLM:
    """A decoder-only model with tied embeddings, the same at each call."""
    torch.manual_seed(0)
    sizes = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
    config = LlamaConfig(vocab_size=VOCABULARY, num_key_value_heads=2, max_position_embeddings=256, pad_token_id=0,
                         bos_token_id=1, eos_token_id=2, tie_word_embeddings=True, **sizes)  # fmt: skip
    return LlamaForCausalLM(config).train()


def batch() -> dict[str, Tensor]:
    """Three rows with prompts, one of them padded on the right."""
    generator = torch.Generator().manual_seed(1)
    ids = torch.randint(3, VOCABULARY, (3, 9), generator=generator)
    labels, mask = ids.clone(), torch.ones_like(ids)
    labels[:, :3] = -100
    labels[1, 6:], mask[1, 6:] = -100, 0
    return {"input_ids": ids, "attention_mask": mask, "labels": labels}


def rows() -> list[dict[str, Tensor]]:
    """The rows of the batch one by one."""
    return [{name: column[at] for name, column in batch().items()} for at in range(3)]


def needs(method: str) -> dict[str, Any]:
    """Return the arguments of `attach` that a method asks for."""
    kind = find_method(method).kind
    given: dict[str, Any] = {}
    if getattr(kind, "reference", ""):
        given["reference"] = llama().eval()
    if getattr(kind, "uses_token_counts", False):
        given |= {"token_counts": COUNTS, "batches": ()}
    return given


def attached(model: Any, method: str, **options: Any) -> Any:
    """Return the model with a method, and with what the method needs."""
    torch.manual_seed(5)
    return attach(model, method, **{**needs(method), **options})


def in_the_suite(method: str, backbone: Any) -> Objective:
    """Return a method over a backbone without `attach`, with the weights of its own that `attach` gives it."""
    objective = find_method(method).objective(backbone)
    reference = MLE(Causal(llama(), None)) if "reference" in needs(method) else None
    context = RunContext(
        seed=0, max_target=64, token_counts=lambda: COUNTS, reference=reference,
        continue_prompts=partial(continued, objective),
    )  # fmt: skip
    objective.setup_run(context)
    if objective.uses_token_counts:
        objective.prepare(COUNTS)
    own = getattr(attached(llama(), method), STATE)
    with torch.no_grad():
        for name, parameter in objective.named_parameters():
            if not name.startswith("backbone."):
                parameter.copy_(own.get_parameter(name))
    return objective.train()


def weights_of(model: Any) -> dict[str, Tensor]:
    """Return the weights of a model of `transformers`, without those of an objective."""
    return {name: p.detach().clone() for name, p in model.named_parameters() if not name.startswith(STATE)}


# Trainers -----------------------------------------------------------------------------------------------------------


def suite(method: str, folder: Path) -> Step:
    """The step of `bench run`."""
    objective = in_the_suite(method, Causal(llama(), None))
    given: Any = batch()
    tokens = int((given["labels"][:, 1:] != -100).sum())
    loss = objective.training_step({**given, "step": 0, "step_rows": 3, "step_tokens": tokens}, 0)
    optimizer = torch.optim.SGD(objective.parameters(), lr=1.0)
    loss.backward()
    objective.end_of_step(lambda tensor: tensor)
    optimizer.step()
    return float(loss.detach()), weights_of(objective.backbone.model)


def plain_loop(method: str, folder: Path) -> Step:
    """A loop over batches."""
    model = attached(llama(), method)
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    loss = model(**batch()).loss
    loss.backward()
    optimizer.step()
    return float(loss.detach()), weights_of(model)


def accelerate(method: str, folder: Path) -> Step:
    """A loop with Accelerate."""
    from accelerate import Accelerator

    accelerator, model = Accelerator(cpu=True), attached(llama(), method)
    model, optimizer = accelerator.prepare(model, torch.optim.SGD(model.parameters(), lr=1.0))
    loss = model(**batch()).loss
    accelerator.backward(loss)
    optimizer.step()
    return float(loss.detach()), weights_of(accelerator.unwrap_model(model))


def lightning(method: str, folder: Path) -> Step:
    """A LightningModule that returns the model's loss."""
    from lightning import LightningModule, Trainer

    class Module(LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.model, self.found = attached(llama(), method), torch.zeros(())

        def training_step(self, batch: Any, number: int) -> Tensor:
            self.found = self.model(**batch).loss
            return self.found

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return torch.optim.SGD(self.parameters(), lr=1.0)

    module = Module()
    loader = torch.utils.data.DataLoader(rows(), batch_size=3)  # type: ignore[arg-type]
    Trainer(max_steps=1, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False,
            enable_model_summary=False, default_root_dir=folder).fit(module, loader)  # fmt: skip
    return float(module.found.detach()), weights_of(module.model)


SETTINGS = {"max_steps": 1, "per_device_train_batch_size": 3, "learning_rate": 1.0, "optim": "sgd",
            "max_grad_norm": 0.0, "lr_scheduler_type": "constant", "logging_steps": 1, "save_strategy": "no",
            "report_to": [], "use_cpu": True, "disable_tqdm": True}  # fmt: skip
"""One step of plain gradient descent in `transformers.Trainer`."""


def trainer_step(made: Any) -> Step:
    """Train and return the step."""
    made.train()
    return next(entry["loss"] for entry in made.state.log_history if "loss" in entry), weights_of(made.model)


def transformers_trainer(method: str, folder: Path) -> Step:
    """`transformers.Trainer`, with the model attached."""
    from transformers import Trainer, TrainingArguments

    model, arguments = attached(llama(), method), TrainingArguments(str(folder), **SETTINGS)
    return trainer_step(Trainer(model=model, args=arguments, train_dataset=rows()))  # type: ignore[arg-type]


def sft_trainer(kind: Any, model: Any, folder: Path, **options: Any) -> Any:
    """Return a trainer of TRL over the rows of the batch, with the loss on completions."""
    from datasets import Dataset
    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast
    from trl import SFTConfig

    words = {word: at for at, word in enumerate(["<pad>", "<s>", "</s>", *map(str, range(3, VOCABULARY))])}
    backend = Tokenizer(models.WordLevel(words, unk_token="<pad>"))
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, pad_token="<pad>", eos_token="</s>")
    encoded = []
    for ids, mask in zip(batch()["input_ids"].tolist(), batch()["attention_mask"].sum(1).tolist(), strict=True):
        encoded.append({"input_ids": ids[:mask], "completion_mask": [0] * 3 + [1] * (mask - 3)})
    arguments = SFTConfig(str(folder), bf16=False, completion_only_loss=True, **{**SETTINGS, **options})
    return kind(model=model, args=arguments, train_dataset=Dataset.from_list(encoded), processing_class=tokenizer)


def trl(method: str, folder: Path) -> Step:
    """TRL's `SFTTrainer`, by `trainer_for`."""
    from trl import SFTTrainer

    torch.manual_seed(5)
    kind = trainer_for(SFTTrainer, method, **{"seed": 0, **needs(method)})
    return trainer_step(sft_trainer(kind, llama(), folder))


TRAINERS: Mapping[str, Callable[[str, Path], Step]] = {
    "a plain loop": plain_loop,
    "Accelerate": accelerate,
    "Lightning": lightning,
    "`transformers.Trainer`": transformers_trainer,
    "TRL's `SFTTrainer`": trl,
}
