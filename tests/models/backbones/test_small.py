"""The small decoder-only backbone: a head of its own where the method it is compared with has one."""

from __future__ import annotations

import pytest
import torch

from bench.errors import UsageError
from bench.models.backbones.small import small_causal
from tests.models.test_objectives import task

SIZES = {"vocabulary": 300, "width": 16, "heads": 2, "layers": 1, "context": 64}


def test_an_untied_head_is_a_matrix_of_its_own() -> None:
    tied, untied = (small_causal("", task(), 0, tied=tied, **SIZES) for tied in (True, False))
    head = untied.model.get_output_embeddings().weight
    assert head is not untied.embedding()
    assert not torch.equal(head, untied.embedding())
    more = sum(p.numel() for p in untied.parameters()) - sum(p.numel() for p in tied.parameters())
    assert more == head.numel()


def test_fixed_embeddings_need_a_tied_head() -> None:
    with pytest.raises(UsageError, match="needs backbone.tied=true; got false"):
        small_causal("", task(), 0, tied=False, embeddings="frozen", **SIZES)
