"""Sharding: weights, gradients and moments of the optimiser in shares, one on each rank (FSDP2 of torch).

Before a layer runs, its weights are gathered; after it each rank keeps only its share. Embeddings, head and parameters
of the method are gathered for a whole micro-batch, because a loss reads them outside of any layer's forward pass.
What is saved is whole, in the form of one process, so that any strategy can take a training up again.

Source: Zhao et al. 2023, "PyTorch FSDP"; `torch.distributed.fsdp.fully_shard`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from lightning.pytorch.strategies import DDPStrategy
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard, register_fsdp_forward_method
from torch.distributed.tensor import DTensor, distribute_tensor

from bench.errors import UsageError

STEPS = ("training_step", "validation_step")
"""Methods of an objective that read its weights."""


class ShardedStrategy(DDPStrategy):
    """Trains an objective whose weights lie in shares.

    Each micro-batch's gradient is summed over ranks at once, so that no rank ever keeps a whole one. During a
    validation the whole model is gathered on each rank: ranks may then read different numbers of batches.
    """

    def _setup_model(self, model: nn.Module) -> Any:
        """Shard the objective in place; it stays the one that is trained.

        Raises:
            UsageError: its backbone has no layers that could be sharded.
        """
        self.objective: Any = model
        self.sharded: list[Any] = [*layers_of(self.objective), model]
        before = [(module, type(module), set(vars(module)), _hooks(module)) for module in model.modules()]
        mesh = init_device_mesh(self.root_device.type, (torch.distributed.get_world_size(),))
        for layer in self.sharded[:-1]:
            fully_shard(layer, mesh=mesh)
        fully_shard(model, mesh=mesh, reshard_after_forward=False)
        for step in STEPS:
            register_fsdp_forward_method(model, step)
        model.to(self.root_device)
        self.before = [(module, kind, set(vars(module)) - names, hooks) for module, kind, names, hooks in before]
        return model

    def _register_ddp_hooks(self) -> None:
        """There are none: it is not wrapped."""

    def model_to_device(self) -> None:
        """Wait: sharding moves layer by layer, and so never holds the whole model on a device."""

    def lightning_module_state_dict(self) -> dict[str, Any]:
        """Return the whole weights on the first rank and nothing on the others; all ranks ask."""
        assert self.lightning_module is not None
        return whole_weights(self.lightning_module, self.is_global_zero)

    def optimizer_state(self, optimizer: torch.optim.Optimizer) -> dict[str, Any]:
        """Return the whole state of an optimiser, as of one process, on the first rank; all ranks ask."""
        return _whole_state(super().optimizer_state(optimizer), self.is_global_zero)

    def load_optimizer_state_dict(self, checkpoint: Mapping[str, Any]) -> None:
        """Give each rank its share of the state that a training of any strategy has saved."""
        for optimizer, state in zip(self.optimizers, checkpoint["optimizer_states"], strict=True):
            parameters = [p for group in optimizer.param_groups for p in group["params"]]
            numbers = [number for group in state["param_groups"] for number in group["params"]]
            shared = dict(state["state"])
            for number, parameter in zip(numbers, parameters, strict=True):
                if number in shared:
                    shared[number] = {name: _like(value, parameter) for name, value in shared[number].items()}
            optimizer.load_state_dict({**state, "state": shared})

    def on_validation_start(self) -> None:
        """Gather the whole model."""
        for module in self.sharded:
            module.set_reshard_after_forward(False, recurse=False)
            module.unshard()

    def on_validation_end(self) -> None:
        """Go back to shares."""
        for module in self.sharded:
            module.set_reshard_after_forward(module is not self.objective, recurse=False)
            module.reshard()

    def on_train_end(self) -> None:
        """Make the objective a plain one again: whole weights on the CPU of every rank, nothing that sharding added."""
        self.optimizers, self.lr_scheduler_configs = [], []  # their moments make room for whole weights
        for module in self.sharded:
            module.reshard()
        whole: dict[nn.Parameter, nn.Parameter] = {}
        for module in self.objective.modules():
            for name, parameter in module._parameters.items():
                if parameter is None:
                    continue
                if parameter not in whole:
                    value = _gathered(parameter.detach()).cpu()
                    whole[parameter] = nn.Parameter(value, parameter.requires_grad)
                module._parameters[name] = whole[parameter]
        for module, kind, added_names, hooks in self.before:
            module.__class__ = kind
            for name in added_names:
                delattr(module, name)
            for table, known in hooks.items():
                entries = vars(module)[table]
                for added in set(entries) - known:
                    del entries[added]


def layers_of(objective: Any) -> list[nn.Module]:
    """Return the layers of an objective's backbone."""
    layers: list[nn.Module] = objective.backbone.layers()
    if not layers:
        raise UsageError(
            f"--strategy fsdp shards the layers of a model of transformers; {type(objective.backbone.model).__name__} "
            f"has none, so use --strategy ddp"
        )
    return layers


def whole_weights(module: Any, is_kept: bool = True) -> dict[str, Tensor]:
    """Return all weights and buffers but the given ones, copied to the CPU; all ranks of a sharded objective ask.

    Args:
        module: an objective.
        is_kept: whether this rank wants them; it gives its share all the same, and gets nothing.
    """
    first: dict[int, str] = {}
    named = {name: first.setdefault(id(p), name) for name, p in module.named_parameters(remove_duplicate=False)}
    given = module.frozen_weights
    whole: dict[str, Tensor] = {}
    for name, value in module.state_dict().items():
        if name in given:
            continue
        shared = named.get(name, name)
        if shared in whole:
            whole[name] = whole[shared]
        else:
            gathered = _gathered(value.detach())
            whole[name] = gathered.to("cpu", copy=True) if is_kept else gathered.new_empty(0)
    if not is_kept:
        return {}
    return whole


def local(tensor: Tensor) -> Tensor:
    """Return this rank's share of a tensor, all of one that is not sharded."""
    if isinstance(tensor, DTensor):
        return tensor.to_local()
    return tensor


def _gathered(tensor: Tensor) -> Tensor:
    """Return a whole tensor; all ranks of a sharded one ask."""
    if isinstance(tensor, DTensor):
        return tensor.full_tensor()
    return tensor


def _whole_state(content: Any, is_kept: bool) -> Any:
    """Return plain content with every share gathered, on the CPU."""
    if isinstance(content, DTensor):
        gathered = _gathered(content)
        return gathered.cpu() if is_kept else None
    if isinstance(content, dict):
        return {name: _whole_state(value, is_kept) for name, value in content.items()}
    if isinstance(content, list):
        return [_whole_state(value, is_kept) for value in content]
    return content


def _like(value: Any, parameter: Tensor) -> Any:
    """Return this rank's share of what an optimiser keeps of a parameter; numbers stay."""
    if not isinstance(parameter, DTensor) or not isinstance(value, Tensor) or value.shape != parameter.shape:
        return value
    here = value.to(parameter.to_local().device)
    return distribute_tensor(here, parameter.device_mesh, parameter.placements, src_data_rank=None)


def _hooks(module: nn.Module) -> dict[str, set[int]]:
    """Return the keys of the hooks a module has, by the name of their table."""
    return {name: set(table) for name, table in vars(module).items() if name.endswith("_hooks")}
