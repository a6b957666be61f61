"""Backbones from scratch: published sizes, small ones, and a tokenizer of the task's own text."""

import pytest
import torch

from bench.errors import UsageError
from bench.models.backbones import BACKBONES, scratch
from bench.models.backbones.scratch import PUBLISHED, SUFFIX, published_config
from bench.models.backbones.small import small_causal
from bench.tasks.logicnlg import LogicNLG
from tests.models.test_objectives import task as loaded

MILLIONS = {"gpt2": 124.4, "gpt2-large": 774.0, "bart-large": 406.3, "llama2-7b": 6738.4}
TINY = {"vocab_size": 900, "n_embd": 16, "n_layer": 1, "n_head": 2, "n_positions": 64}


@pytest.fixture
def task() -> LogicNLG:
    """Built-in rows."""
    return loaded()


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """GPT-2 is tiny."""
    monkeypatch.setitem(PUBLISHED, BACKBONES["gpt2"].hub, ("GPT2Config", TINY))


def test_each_has_a_pretrained_one_of_the_published_size() -> None:
    from transformers import AutoModelForCausalLM, AutoModelForSeq2SeqLM

    names = [name for name in BACKBONES if name.endswith(SUFFIX)]
    assert names == [f"{name}{SUFFIX}" for name in MILLIONS]
    for name, millions in MILLIONS.items():
        config = published_config(BACKBONES[name].hub)
        kind = AutoModelForSeq2SeqLM if config.is_encoder_decoder else AutoModelForCausalLM
        with torch.device("meta"):
            model = kind.from_config(config)
        assert sum(p.numel() for p in model.parameters()) / 1e6 == pytest.approx(millions, abs=0.05)
        assert BACKBONES[f"{name}{SUFFIX}"].architecture == BACKBONES[name].architecture


def test_weights_come_from_the_seed_and_rows_are_those_published(task: LogicNLG, tiny: None) -> None:
    first, again, other = (scratch.scratch("gpt2-scratch", task, seed) for seed in (0, 0, 1))
    assert first.vocabulary_size == 900 >= len(first.tokenizer)
    assert torch.equal(first.embedding(), again.embedding())
    assert not torch.equal(first.embedding(), other.embedding())
    assert first.embedding().requires_grad
    frozen = scratch.scratch("gpt2-scratch", task, 0, freeze_embeddings=True)
    assert not frozen.embedding().requires_grad
    assert any(p.requires_grad for p in frozen.parameters())


def test_too_many_tokens_are_refused(task: LogicNLG, tiny: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scratch, "bpe_tokenizer", lambda *given: range(901))
    with pytest.raises(UsageError, match="'gpt2-scratch' has 900 tokens, its tokenizer 901"):
        scratch.scratch("gpt2-scratch", task, 0)


SMALL = {"vocabulary": 300, "width": 16, "heads": 2, "layers": 1, "context": 64}


def test_an_untied_head_is_a_matrix_of_its_own() -> None:
    tied, untied = (small_causal("", loaded(), 0, tied=tied, **SMALL) for tied in (True, False))
    head = untied.model.get_output_embeddings().weight
    assert head is not untied.embedding()
    assert not torch.equal(head, untied.embedding())
    more = sum(p.numel() for p in untied.parameters()) - sum(p.numel() for p in tied.parameters())
    assert more == head.numel()


def test_fixed_embeddings_need_a_tied_head() -> None:
    with pytest.raises(UsageError, match="needs backbone.tied=true; got false"):
        small_causal("", loaded(), 0, tied=False, embeddings="frozen", **SMALL)
