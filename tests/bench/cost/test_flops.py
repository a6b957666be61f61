"""FLOPs: the formula against torch's own counter, and sizes of pretrained models against what is published."""

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils.flop_counter import FlopCounterMode
from transformers import (
    BartConfig,
    BartForConditionalGeneration,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    T5Config,
    T5ForConditionalGeneration,
)

from bench.cost.architectures import configuration
from bench.cost.blank import BlankWords
from bench.cost.flops import flops_of_row, products_of
from bench.cost.memory import Lengths
from bench.cost.parameters import count
from bench.cost.passes import batch_of
from bench.errors import MissingError
from bench.models.backbones.hub import adapter_of
from bench.models.backbones.published_sizes import PUBLISHED

EAGER = {"attn_implementation": "eager"}  # torch's counter does not know the fused kernel of a CPU
SMALL_BART = {
    **EAGER, "vocab_size": 500, "d_model": 64, "encoder_layers": 2, "decoder_layers": 3, "encoder_attention_heads": 4,
    "decoder_attention_heads": 4, "encoder_ffn_dim": 256, "decoder_ffn_dim": 128,
}  # fmt: skip
MODELS = {
    "gpt2": lambda: GPT2LMHeadModel(GPT2Config(vocab_size=500, n_embd=64, n_layer=3, n_head=4, **EAGER)),
    "llama": lambda: LlamaForCausalLM(LlamaConfig(vocab_size=500, hidden_size=64, intermediate_size=160,
                                                  num_hidden_layers=3, num_attention_heads=4, **EAGER)),
    "bart": lambda: BartForConditionalGeneration(BartConfig(**SMALL_BART)),
    "t5": lambda: T5ForConditionalGeneration(T5Config(vocab_size=500, d_model=64, d_kv=16, num_heads=4, num_layers=2,
                                                      num_decoder_layers=3, d_ff=128, decoder_start_token_id=0,
                                                      **EAGER)),
}  # fmt: skip


@pytest.mark.parametrize("name", MODELS)
def test_the_formula_is_what_torch_counts(name):
    fake, lengths = FakeTensorMode(), Lengths(48, 16)
    with fake:
        model = MODELS[name]()
        backbone = adapter_of(model)(model, BlankWords(500))
        batch = {key: fake.from_tensor(value) for key, value in batch_of(lengths, backbone, 1).items()}
        with FlopCounterMode(display=False) as counter:
            states = backbone.states(batch)
            targets = states.hidden[:, -16:]
            backbone.head(targets).sum().backward()
    assert flops_of_row(products_of(backbone), lengths) == pytest.approx(counter.get_total_flops(), rel=0.03)


@pytest.mark.parametrize(
    ("name", "millions"), [("gpt2", 124.4), ("gpt2-large", 774.0), ("bart-large", 406.3), ("llama2-7b", 6738.4)]
)
def test_pretrained_models_have_their_published_sizes_without_weights(name, millions, monkeypatch, tmp_path):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    from transformers import AutoModelForCausalLM, AutoModelForSeq2SeqLM

    sizes = configuration(name)
    kind = AutoModelForSeq2SeqLM if sizes.is_encoder_decoder else AutoModelForCausalLM
    with torch.device("meta"):
        assert round(count(kind.from_config(sizes)).total / 1e6, 1) == millions


def test_a_folder_says_its_own_sizes(tmp_path):
    GPT2Config(n_layer=5).save_pretrained(tmp_path)
    assert configuration(str(tmp_path)).n_layer == 5
    assert configuration("gpt2", str(tmp_path)).n_layer == 5


def test_what_is_nowhere_is_unknown():
    assert "nobody/nothing" not in PUBLISHED
    with pytest.raises(MissingError, match="the sizes of 'nobody/nothing' are not known"):
        configuration("nobody/nothing")
