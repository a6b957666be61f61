"""Loading pretrained weights: from the file to float32 one tensor at a time, so that no two copies are ever held."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel

from bench.models.backbones.hub import hub
from bench.tasks.encode.bpe import train_bpe
from tests.models.backbones.folders import TEXTS, Texts

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")

LOOK_S = 0.001


def own_memory() -> int:
    """Bytes that this process shares with nobody: a mapped file is none of them until it is written to."""
    lines = Path("/proc/self/status").read_text().splitlines()
    (line,) = [line for line in lines if line.startswith("RssAnon")]
    return int(line.split()[1]) * 1024


@contextmanager
def peak() -> Iterator[list[int]]:
    """Yield a list that holds, afterwards, by how many bytes this process has grown at most."""
    before, seen, is_done = own_memory(), [0], threading.Event()

    def look() -> None:
        while not is_done.is_set():
            seen[0] = max(seen[0], own_memory() - before)
            time.sleep(LOOK_S)

    looking = threading.Thread(target=look)
    looking.start()
    try:
        yield seen
    finally:
        is_done.set()
        looking.join()


@pytest.mark.parametrize(("dtype", "most"), [(torch.bfloat16, 1.3), (torch.float32, 0.3)])
def test_no_second_copy_is_held(tmp_path: Path, dtype: torch.dtype, most: float) -> None:
    """A file in float32 is mapped: processes of a machine share it until they move or train the weights."""
    tokenizer = train_bpe(list(TEXTS) * 4, 300)
    model = GPT2LMHeadModel(GPT2Config(n_embd=512, n_layer=6, n_head=8, n_positions=64, vocab_size=len(tokenizer)))
    model.to(dtype).save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    del model
    with peak() as seen:
        backbone = hub(str(tmp_path), Texts(), 0)
    size = 4 * sum(p.numel() for p in backbone.parameters())
    assert {p.dtype for p in backbone.parameters()} == {torch.float32}
    assert size > 70e6
    assert seen[0] < most * size
