"""Every decoding of the table: the cache is right, rows are their own, texts and keys go round, files are light."""

import subprocess
import sys
from typing import Any

import pytest
import torch

from bench.config.decoding import parse
from bench.decodings import DECODINGS
from tests.bench.generation import test_bilstm_generation as recurrent
from tests.bench.generation.test_stepwise import worst_step
from tests.bench.generation.tiny_decoders import KINDS, CacheLM, backbone, texts
from tests.drawn import in_turn
from tests.models.tiny_bilstm import tiny

EVERY = [
    "greedy", "greedy+repetition_penalty=1.5", "beam=3", "beam=3+gnmt=0.8", "topk=5", "nucleus=0.9", "sample",
    "min_p=0.05", "typical=0.9", "contrastive_search=3",
]  # fmt: skip


def test_all_are_tried() -> None:
    assert {parse(text)[0].name for text in EVERY} == set(DECODINGS)


@pytest.mark.parametrize(("kind", "decoding"), in_turn(KINDS, EVERY))
def test_cached_is_full(kind: str, decoding: str) -> None:
    """At every step, of every text: what decoding is told is what a forward pass over the whole text gives."""
    objective = CacheLM(backbone(kind, dtype=torch.float64))
    assert worst_step(objective, texts(3, 3), decoding) < 1e-10


@pytest.mark.parametrize(("options", "decoding"), in_turn([recurrent.DESIGNS[0], recurrent.DESIGNS[11]], EVERY))
def test_cached_is_full_on_a_copying_lstm(options: dict[str, Any], decoding: str) -> None:
    assert recurrent.worst_step(tiny(**options), decoding, recurrent.CopyCacheLM) < 1e-10


def test_keys_have_every_setting_that_was_there_when_rows_were_first_stored() -> None:
    later = {"repetition_penalty", "gnmt", "unrepeated_ngram"}
    for text in EVERY:
        decoding = parse(text)[0]
        missing = set(decoding.options()) - set(decoding.as_dict())
        assert missing <= later
        assert {name for name in missing if getattr(decoding, name) != decoding.options()[name][1]} == set()


def test_the_table_loads_nothing_heavy() -> None:
    """`bench list` reads options and defaults of every class."""
    code = (
        "import sys, bench.config.decoding; from bench.decodings import DECODINGS\n"
        "print([entry.load().options() and 0 for entry in DECODINGS.values()])\n"
        "print([m for m in ('torch', 'transformers', 'numpy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
