"""Attached objectives on two processes: the weights of one process, with DDP and with parameters split by FSDP2."""

import socket
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.bench.integrations.trainers import attached, batch, llama

WORLD, STEPS = 2, 3
OPTIONS: dict[str, dict[str, Any]] = {"loss_truncation": {"size": 3, "min_count": 3}}  # a cut from the second step on
N_TOKENS = int((batch()["labels"][:, 1:] != -100).sum())


def rows_of(rank: int, world: int) -> dict[str, Tensor]:
    """The rows of a process: two of one, one of the other; a process alone has them in their order."""
    whole = {name: torch.cat([values[first::WORLD] for first in range(WORLD)]) for name, values in batch().items()}
    return whole if world == 1 else {name: values.split(2)[rank] for name, values in whole.items()}


def trained(model: Any, rank: int, world: int) -> None:
    """Take a few steps; gradients are means over processes."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(STEPS):
        loss = model(**rows_of(rank, world), num_items_in_batch=N_TOKENS).loss * world
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


def worker(rank: int, kind: str, method: str, port: int, folder: str) -> None:
    """Train as one of the processes; the first writes the weights."""
    torch.set_num_threads(1)
    address = f"tcp://127.0.0.1:{port}"
    torch.distributed.init_process_group("gloo", init_method=address, rank=rank, world_size=WORLD)
    model = attached(llama(), method, **OPTIONS.get(method, {}))
    if kind == "ddp":
        trained(torch.nn.parallel.DistributedDataParallel(model), rank, WORLD)
        weights = model.state_dict()
    else:
        from torch.distributed.fsdp import fully_shard

        for layer in model.model.layers:
            fully_shard(layer)
        fully_shard(model)
        trained(model, rank, WORLD)
        weights = {name: getattr(value, "full_tensor", lambda value=value: value)() for name, value in
                   model.state_dict().items()}  # fmt: skip
    if rank == 0:
        torch.save(weights, Path(folder) / "weights.pt")
    torch.distributed.barrier()  # a process that leaves while the other still communicates may abort
    torch.distributed.destroy_process_group()


@pytest.mark.slow
@pytest.mark.ddp
@pytest.mark.parametrize("method", ["mle", "histalign", "face", "f2softmax", "loss_truncation"])
@pytest.mark.parametrize("kind", ["ddp", "fsdp"])
def test_two_processes_train_the_weights_of_one(kind: str, method: str, tmp_path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    torch.multiprocessing.spawn(worker, (kind, method, port, str(tmp_path)), nprocs=WORLD)
    found = torch.load(tmp_path / "weights.pt", weights_only=True)
    one = attached(llama(), method, **OPTIONS.get(method, {}))
    start = {name: value.clone() for name, value in one.state_dict().items()}
    trained(one, 0, 1)
    assert any(not torch.equal(found[name], value) for name, value in start.items() if value.is_floating_point())
    for name, expected in one.state_dict().items():
        torch.testing.assert_close(found[name], expected, rtol=1e-5, atol=1e-6, msg=name)
