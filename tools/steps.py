"""Time of whole training steps of every method, and of texts, as ratios to maximum likelihood.

    python -m tools.steps [--method mle,trime] [--layers 12] [--attached] [--samples 5000] [--json]

A step is a GPT-2 body with the method's loss, its backward pass and AdamW; each method takes turns with maximum
likelihood and, with `--attached`, with the step of a model of `transformers` that `bench.attach` has given the method.
Where there is a GPU, the same step by plain torch and by torch.compile is measured, too. The ratios of attached models
in docs/anywhere.md are from

    python -m tools.steps --attached --layers 4 --width 256 --vocabulary 8000 --batch 8 --positions 64 --repeats 20 \\
        --method mle,histalign,trime,ul_token,simctg,label_smoothing,f2softmax,asft,eaft
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from transformers import GPT2Config, GPT2LMHeadModel

from bench.base.autocast import autocast
from bench.base.seeds import seed_torch
from bench.cells.build import continued
from bench.config.decoding import parse
from bench.config.resolve import find_method, reference_of
from bench.generation.generation import generate
from bench.integrations.attach import attach
from bench.leaderboards.render.text_table import aligned
from bench.models.backbones.causal import Causal
from bench.models.core.objective import Objective
from bench.models.core.run_context import Optimiser, RunContext
from bench.models.core.trainable import OPTIMIZER
from tools.heads import Run, Size, arguments, interleaved, names_and_size, synchronise, zipf_counts, zipf_ids

PEERS = ("plain torch", "torch.compile")
"""Other programs for the step of maximum likelihood."""
PROMPT = 50
"""Tokens of a prompt, as in WritingPrompts (HistAlign A.2)."""


@dataclass(frozen=True)
class Setting:
    """How a step is computed: layers of the body, device, and precision as Lightning's trainer names it."""

    layers: int
    device: torch.device
    precision: str = "32-true"


def step_of(name: str, size: Size, setting: Setting) -> Run:
    """Return one training step of a method, or of plain torch (`PEERS`)."""
    batch: dict[str, Any] = batch_of(size)
    ids = batch["input_ids"]
    batch |= {"step_tokens": size.batch * size.positions, "step_rows": size.batch, "step": 0}
    if name in PEERS:
        loss_of, optimiser = _peer(name, size, setting)
        ids = ids.to(setting.device)
        return _step(lambda: loss_of(ids), optimiser, lambda: None, setting)
    objective = objective_over_body(name, size, setting)
    batch = objective.transfer_batch_to_device(batch, setting.device, 0)
    optimiser = objective.configure_optimizers()["optimizer"]
    end = lambda: objective.end_of_step(lambda tensor: tensor)  # noqa: E731
    return _step(lambda: objective.training_step(batch, 0), optimiser, end, setting)


def batch_of(size: Size) -> dict[str, Tensor]:
    """Return ids, mask and labels, each [B, T+1]."""
    ids = zipf_ids((size.batch, size.positions + 1), size.vocabulary, torch.Generator().manual_seed(0))
    labels = ids.clone()
    labels[:, 0] = -100
    return {"input_ids": ids, "attention_mask": torch.ones_like(ids), "labels": labels}


def attached_step(name: str, size: Size, setting: Setting) -> Run:
    """Return one training step of a model of `transformers` with a method attached to it, by the optimiser of ours."""
    method, given = find_method(name), dict[str, Any]()
    if reference_of(method) is not None:
        given["reference"] = body(size, setting.layers, seed=1).model
    if method.kind.uses_token_counts:
        given |= {"token_counts": zipf_counts(size.vocabulary), "batches": ()}
    model = attach(body(size, setting.layers).model.to(setting.device).train(), name, **given)
    batch = {part: ids.to(setting.device) for part, ids in batch_of(size).items()}
    optimiser = OPTIMIZER(model.parameters(), lr=1e-4)
    return _step(lambda: model(**batch).loss, optimiser, lambda: None, setting)


def _step(loss_of: Callable[[], Tensor], optimiser: Any, end: Callable[[], None], setting: Setting) -> Run:
    def once() -> tuple[Tensor, list[Tensor]]:
        with autocast(setting.precision, setting.device):
            loss = loss_of()
        loss.backward()
        end()
        optimiser.step()
        optimiser.zero_grad()
        return loss.detach(), []

    return once


def _peer(name: str, size: Size, setting: Setting) -> tuple[Callable[[Tensor], Tensor], torch.optim.Optimizer]:
    """Return cross-entropy over all logits of a body at once, from ids [B, T+1], and its optimiser."""
    model = body(size, setting.layers).model.to(setting.device)
    model.config.pad_token_id = None  # so that the model does not look for padding

    def loss_of(ids: Tensor) -> Tensor:
        logits = model(input_ids=ids[:, :-1], use_cache=False).logits
        return functional.cross_entropy(logits.flatten(0, 1).float(), ids[:, 1:].flatten())

    compiled = torch.compile(loss_of) if name == "torch.compile" else loss_of
    return compiled, torch.optim.AdamW(model.parameters(), lr=1e-4)


def body(size: Size, layers: int, seed: int = 0) -> Causal:
    """Return a GPT-2 with new weights, heads of width 64 and no dropout."""
    seed_torch(seed)
    shape = {"vocab_size": size.vocabulary, "n_positions": size.positions + 1, "n_embd": size.width, "n_layer": layers}
    dropout = dict.fromkeys(("resid_pdrop", "embd_pdrop", "attn_pdrop"), 0.0)
    tokens = {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}
    return Causal(GPT2LMHeadModel(GPT2Config(**shape, **dropout, **tokens, n_head=max(1, size.width // 64))), None)


def objective_over_body(name: str, size: Size, setting: Setting) -> Objective:
    """Return a method over a new body; a reference model has as many layers."""
    method = find_method(name)
    objective = method.objective(body(size, setting.layers))
    context = RunContext(optimiser=Optimiser(steps=1000), continue_prompts=partial(continued, objective))
    reference = reference_of(method)
    if reference is not None:
        context = replace(context, reference=reference.objective(body(size, setting.layers, seed=1)))
    objective.setup_run(context)
    if objective.uses_token_counts:
        objective.prepare(zipf_counts(size.vocabulary))
    return objective.to(setting.device)


def step_flops(size: Size, layers: int) -> float:
    """Return the floating-point operations of a forward and backward pass of maximum likelihood.

    They are 6 for each weight of the layers and the head and token, and those of attention (Chowdhery et al. 2022,
    appendix B): 12 * layers * width * positions for each token.
    """
    weights = 12 * layers * size.width**2 + size.width * size.vocabulary
    return size.batch * size.positions * (6 * weights + 12 * layers * size.width * size.positions)


def measure_step(
    names: list[str], size: Size, setting: Setting, repeats: int, attached: bool = False
) -> list[dict[str, Any]]:
    """Return a record for each step; `flops_per_second` counts those of maximum likelihood for every method.

    With `attached`, a record also has the time of a step after `bench.attach`, as a ratio to the suite's own step.
    """
    base, flops = step_of("mle", size, setting), step_flops(size, setting.layers)
    on_gpu = setting.device.type == "cuda"
    records = []
    for name in [*names, *(PEERS if on_gpu else ())]:
        run = base if name == "mle" else step_of(name, size, setting)
        runs = {"mle": base, name: run}
        if attached and name not in PEERS:
            runs["attached"] = attached_step(name, size, setting)
        seconds = interleaved(runs, repeats)
        speed = {"tokens_per_second": size.batch * size.positions / seconds[name]}
        speed |= {"flops_per_second": flops / seconds[name], "waits": waits_of(run) if on_gpu else None}
        speed |= {"attached": seconds["attached"] / seconds[name]} if "attached" in seconds else {}
        records.append({"what": name, "seconds": seconds[name], "of_mle": seconds[name] / seconds["mle"], **speed})
    return records


def waits_of(run: Run) -> int:
    """Return how often a run makes the program wait for the GPU, by the driver's own warning."""
    torch.cuda.set_sync_debug_mode("warn")
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            run()
    finally:
        torch.cuda.set_sync_debug_mode("default")
    return sum("synchronizing" in str(warning.message) for warning in caught)


def measure_texts(
    names: list[str], size: Size, setting: Setting, samples: int, tokens: int, decoding: str
) -> list[dict[str, Any]]:
    """Return a record for each method that writes `samples` texts of `tokens` tokens, `size.batch` at a time."""
    longest = replace(size, positions=PROMPT + tokens + 1)
    (chosen,) = parse(decoding)
    records: list[dict[str, Any]] = []
    for name in names:
        objective = objective_over_body(name, longest, setting)
        objective.backbone.model.config.eos_token_id = None  # no text ends before its last token

        def write(first: int, rows: int, new: int, objective: Objective = objective) -> None:
            ids = zipf_ids((rows, PROMPT), size.vocabulary, torch.Generator().manual_seed(first))
            ids = ids.clamp_min(3).to(setting.device)
            with autocast(setting.precision, setting.device):
                batch: Any = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
                written = generate(objective, batch, chosen, new, range(first, first + rows))
            if any(len(text) != new for text in written):
                raise AssertionError(f"expected texts of {new} tokens, got shorter ones")

        write(0, min(size.batch, samples), min(tokens, 8))
        synchronise()
        started = time.perf_counter()
        for first in range(0, samples, size.batch):
            write(first, min(size.batch, samples - first), tokens)
        synchronise()
        seconds = time.perf_counter() - started
        ratio = seconds / records[0]["seconds"] if records else 1.0
        records.append({"what": name, "seconds": seconds, "of_mle": ratio, "samples": samples, "tokens": tokens})
    return records


def main() -> None:
    """Print the tables, or the records as JSON."""
    parser = argparse.ArgumentParser(prog="python -m tools.steps", description=__doc__.splitlines()[0])
    arguments(parser)
    parser.add_argument("--layers", type=int, default=2, metavar="N", help="of the body; default 2")
    parser.add_argument("--attached", action="store_true", help="measure `bench.attach` too, as a ratio to our step")
    parser.add_argument("--samples", type=int, default=0, metavar="N", help="texts to write too; default 0")
    parser.add_argument("--tokens", type=int, default=256, metavar="N", help="of each text; default 256")
    parser.add_argument("--decode", default="nucleus=0.95", metavar="NAME", help="of texts; default nucleus=0.95")
    parser.add_argument("--precision", choices=["32-true", "bf16-mixed"], default="32-true")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    torch.set_num_threads(1)
    names, size, device = names_and_size(given)
    setting = Setting(given.layers, device, given.precision)
    content = {"size": vars(size), "layers": given.layers, "device": device.type, "precision": given.precision}
    content |= {"step": measure_step(names, size, setting, given.repeats, given.attached), "samples": []}
    if given.samples:
        content["samples"] = measure_texts(names, size, setting, given.samples, given.tokens, given.decode)
    if given.json:
        print(json.dumps(content, indent=1))
        return
    print(f"{size}, {setting}")
    for part in ("step", "samples"):
        rows = [
            [
                row["what"],
                f"{row['seconds']:.4g}",
                f"{row['of_mle']:.2f}",
                f"{row['attached']:.2f}" if "attached" in row else "",
            ]
            for row in content[part]
        ]
        if rows:
            print("\n".join(aligned((part, "s", "x mle", "attached, x s"), rows)))


if __name__ == "__main__":
    main()
