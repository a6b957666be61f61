"""Perf of whole training steps: a GPT-2 body, the method's loss, its backward pass and AdamW."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from bench.config.resolve import find_method
from bench.config.second import second_of
from bench.models.backbones.causal import Causal
from bench.models.core.objective import Objective
from bench.models.core.run_context import Optimiser, RunContext
from bench.perf.heads import Run, Size, zipf


def step_runs(names: Sequence[str], size: Size, layers: int, device: torch.device) -> dict[str, Run]:
    """Return one training step of each method by name; a method that makes its own texts takes a sequence step too."""
    runs: dict[str, Run] = {}
    for name in names:
        objective = _objective(name, size, layers).to(device)
        batch = _batch(size)
        for key, value in batch.items():
            if isinstance(value, Tensor):
                batch[key] = value.to(device)
        optimiser = objective.configure_optimizers()["optimizer"]
        runs[name] = _step(objective, batch, optimiser, 0)
    return runs


def _step(objective: Objective, batch: dict[str, Any], optimiser: torch.optim.Optimizer, step: int) -> Run:
    def once() -> tuple[Tensor, list[Tensor]]:
        loss = objective.training_step({**batch, "step": step}, 0)  # type: ignore[typeddict-item]
        loss.backward()
        objective.end_of_step(lambda tensor: tensor)
        optimiser.step()
        optimiser.zero_grad()
        return loss.detach(), []

    return once


def _objective(name: str, size: Size, layers: int) -> Objective:
    """Return a method over a new model; its second model has as many layers."""
    from bench.cells.build import continue_with

    method = find_method(name)
    objective = method.objective(_body(size, layers, seed=0))
    context = RunContext(optimiser=Optimiser(steps=1000), continue_greedily=continue_with(objective))
    second = second_of(method)
    if second is not None:
        context = replace(context, second=second.objective(_body(size, layers, seed=1)))
    objective.setup_run(context)
    if objective.uses_token_counts:
        share = 1.0 / (torch.arange(size.vocabulary, dtype=torch.float64) + 2.7)
        objective.prepare((share / share.sum() * 10**8).long())
    return objective


def _body(size: Size, layers: int, seed: int) -> Causal:
    """Return a GPT-2 with new weights."""
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(seed)
    config = GPT2Config(
        vocab_size=size.vocabulary,
        n_positions=size.positions + 1,
        n_embd=size.width,
        n_layer=layers,
        n_head=8,
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        bos_token_id=1,
        eos_token_id=2,
        pad_token_id=0,
    )
    return Causal(GPT2LMHeadModel(config), None)


def _batch(size: Size) -> dict[str, Any]:
    ids = zipf((size.batch, size.positions + 1), size.vocabulary, torch.Generator().manual_seed(0))
    labels = ids.clone()
    labels[:, 0] = -100
    tokens = size.batch * size.positions
    return {
        "input_ids": ids,
        "attention_mask": torch.ones_like(ids),
        "labels": labels,
        "step_tokens": tokens,
        "step_rows": size.batch,
    }
