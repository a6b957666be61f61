"""Exactness: which families are exact, that the check sees what is wrong, and that it leaves everything as it was."""

import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
import transformers
from torch import Tensor
from torch.nn.functional import cross_entropy
from transformers import GenerationConfig

from bench.config.decoding import parse
from bench.errors import UsageError
from bench.generation.generation import generate
from bench.generation.row_cache import RowCache, new_cache
from bench.models.backbones import causal, encoder_decoder
from bench.models.backbones.backbone import Backbone
from bench.models.backbones.exactness import (
    TOLERANCE,
    cached_difference,
    forward_differences,
    refuse_inexact,
    undisturbed,
    why_inexact,
)
from bench.models.backbones.logits import LogitRule
from bench.models.mle import MLE
from tests.models.backbones.families import PAGE, Family, found, names, tiny
from tests.models.backbones.folders import Texts

REFUSED = {tuple(row[:2]): row[2] for row in re.findall(r"^\| (\S+) \| (\S+) \| (.*) \|$", PAGE.read_text(), re.M)}
EXACT = {
    (name, architecture)
    for architecture, listed in re.findall(r"^\*\*(\S+)\*\*: (.*?)\n\n", PAGE.read_text(), re.M | re.S)
    for name in re.split(r",\s+", listed)
}
SAME_LIBRARY = f"transformers {transformers.__version__} " in PAGE.read_text()
FEW = [
    ("bart", "encoder-decoder"), ("bert", "decoder-only"), ("cohere", "decoder-only"), ("gemma2", "decoder-only"),
    ("gpt2", "decoder-only"), ("granite", "decoder-only"), ("llama", "decoder-only"), ("mamba", "decoder-only"),
    ("mbart", "encoder-decoder"), ("minicpm3", "decoder-only"), ("mt5", "encoder-decoder"), ("t5", "encoder-decoder"),
    ("t5gemma", "encoder-decoder"),
]  # fmt: skip


class TestFamilies:
    @pytest.mark.parametrize(("name", "architecture"), FEW)
    def test_a_few_are_what_the_page_says(self, name: str, architecture: str) -> None:
        self.agree(found(name, architecture))

    @pytest.mark.slow
    @pytest.mark.timeout(1200)
    def test_all_are_what_the_page_says(self) -> None:
        for name, architecture in names():
            if SAME_LIBRARY or (name, architecture) in EXACT | set(REFUSED):
                self.agree(found(name, architecture))

    def agree(self, family: Family) -> None:
        """What was found is what is written; the reason may be another in another version of the library."""
        place = family.name, family.architecture
        assert (place in EXACT, place in REFUSED) == (family.why is None, family.why is not None), family.row
        if SAME_LIBRARY and family.why is not None:
            assert without_numbers(REFUSED[place]) == without_numbers(family.why)


def without_numbers(text: str) -> str:
    return re.sub(r"[\d.e-]+", "#", text)


class TestTheCheckSeesWhatIsWrong:
    @pytest.mark.parametrize("name", ["cohere", "granite", "gemma2", "minicpm3"])
    def test_a_forgotten_scale_or_cap(self, name: str) -> None:
        backbone = tiny(name, "decoder-only")
        assert why_inexact(backbone, new_cache) is None
        backbone.__dict__["logit_rule"] = LogitRule()
        assert "nats of difference in a row without padding" in str(why_inexact(backbone, new_cache))

    def test_another_start_of_the_labels(self) -> None:
        backbone = tiny("mbart", "encoder-decoder")
        backbone.model.prepare_decoder_input_ids_from_labels = None  # not what the library's forward calls
        assert why_inexact(backbone, new_cache) is None
        shift = encoder_decoder.decoder_inputs
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(encoder_decoder, "decoder_inputs", lambda labels, config: shift(labels, config).roll(1, 1))
            assert "nats of difference in a pair" in str(why_inexact(backbone, new_cache))

    def test_positions_that_count_padding(self, monkeypatch: pytest.MonkeyPatch) -> None:
        backbone = tiny("gpt2", "decoder-only")

        def counted(mask: Tensor) -> Tensor:
            return torch.arange(mask.shape[1]).expand_as(mask)

        monkeypatch.setattr(causal, "positions", counted)
        assert "in a row padded on the left" in str(why_inexact(backbone, new_cache))

    def test_a_mask_that_is_not_used(self, monkeypatch: pytest.MonkeyPatch) -> None:
        backbone = tiny("bart", "encoder-decoder")
        body = backbone.body  # type: ignore[operator]

        def unmasked(ids: Tensor, mask: Tensor, **given: Any) -> Any:
            return body(ids, torch.ones_like(mask), **given)

        backbone.__dict__["body"] = unmasked
        assert "in a pair whose source is padded" in str(why_inexact(backbone, new_cache))

    def test_a_cache_that_forgets(self) -> None:
        class Forgetful(RowCache):
            def update(self, keys: Tensor, values: Tensor, layer: int, *given: Any, **named: Any) -> Any:
                super().update(keys, values, layer, *given, **named)
                return keys, values

        backbone = tiny("ctrl", "decoder-only")
        assert cached_difference(backbone, new_cache) <= TOLERANCE
        assert "generation with its cache is not ours" in str(why_inexact(backbone, Forgetful))

    def test_the_edge_of_a_router_is_no_fault(self, monkeypatch: pytest.MonkeyPatch) -> None:
        backbone = tiny("gpt2", "decoder-only")
        head = backbone.head

        def edgy(hidden: Tensor) -> Tensor:
            logits = head(hidden)
            if hidden.shape[:-1] == (3, 5) and hidden.sum() > edge:
                logits = logits + torch.arange(logits.shape[-1])
            return logits

        sums: list[float] = []
        backbone.__dict__["head"] = lambda hidden: sums.append(float(hidden.sum())) or head(hidden)
        for draw in (0, 1):
            forward_differences(backbone, draw)
        edge = sum(sums) / 2  # one set of tokens is above, the other below
        backbone.__dict__["head"] = edgy
        faults = [max(forward_differences(backbone, draw).values()) > TOLERANCE for draw in (0, 1)]
        assert sorted(faults) == [False, True]
        assert why_inexact(backbone, new_cache) is None


def test_a_refusal_names_family_reason_and_way_out() -> None:
    with pytest.raises(UsageError) as raised:
        refuse_inexact(tiny("mamba", "decoder-only"), "someone/mamba", new_cache)
    said = str(raised.value)
    assert said.startswith("backbone 'someone/mamba' (family mamba, MambaForCausalLM) is refused: generation with its")
    assert "docs/families.md" in said
    assert "models/backbones/README.md" in said


def test_nothing_is_disturbed() -> None:
    backbone = tiny("gpt2", "decoder-only").train()
    backbone.model.transformer.h[0].eval()
    modes = [part.training for part in backbone.modules()]
    state = torch.get_rng_state()
    weights = [weight.clone() for weight in backbone.parameters()]
    assert why_inexact(backbone, new_cache) is None
    with undisturbed(backbone):
        torch.rand(3)
    assert torch.equal(torch.get_rng_state(), state)
    assert [part.training for part in backbone.modules()] == modes
    assert all(weight.grad is None for weight in backbone.parameters())
    assert all(torch.equal(*pair) for pair in zip(weights, backbone.parameters(), strict=True))


CHANGED = [
    ("cohere", "decoder-only"), ("granite", "decoder-only"), ("gemma2", "decoder-only"), ("t5", "encoder-decoder"),
    ("mbart", "encoder-decoder"), ("t5gemma", "encoder-decoder"),
]  # fmt: skip


@pytest.fixture(params=CHANGED, ids=[name for name, _ in CHANGED])
def changed(request: pytest.FixtureRequest) -> Backbone:
    return tiny(*request.param)


def test_loss_and_gradients_are_those_of_the_library(changed: Backbone) -> None:
    """MLE through states and slices, with the fused head where there is one, against the library's own loss."""
    model, ids = changed.model.double(), torch.tensor([[11, 12, 13, 14, 15, 16], [21, 22, 23, 24, 25, 2]])
    labels = ids.clone()
    if changed.architecture == "encoder-decoder":
        labels[:, -1] = model.config.decoder_start_token_id
    logits, targets = model(input_ids=ids, labels=labels).logits, labels
    if changed.architecture == "decoder-only":
        logits, targets = logits[:, :-1], labels[:, 1:]
    theirs = cross_entropy(logits.flatten(0, 1), targets.flatten())
    theirs.backward()
    expected = {name: weight.grad.clone() for name, weight in model.named_parameters() if weight.grad is not None}
    model.zero_grad()
    batch: Any = {"input_ids": ids, "attention_mask": torch.ones_like(ids), "labels": labels}
    summed = MLE(changed).step_loss(batch)
    ours = summed.total / summed.n_target_tokens
    ours.backward()
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-10)
    assert (changed.linear_head() is None) == (changed.logit_rule.soft_cap is not None)
    for name, gradient in expected.items():
        torch.testing.assert_close(model.get_parameter(name).grad, gradient, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("decoding", ["greedy", "beam=3+length_penalty=2"])
def test_texts_are_those_of_the_library(changed: Backbone, decoding: str) -> None:
    ids, mask = torch.tensor([[5, 6, 7, 8], [9, 10, 11, 12]]), torch.ones(2, 4, dtype=torch.long)
    mask[1, 0] = 0  # on the left
    if changed.architecture == "encoder-decoder":
        mask = mask.flip(1)
    given = parse(decoding)[0]
    ours = generate(MLE(changed).eval(), {"input_ids": ids, "attention_mask": mask}, given, 6)
    config = changed.model.config
    settings = GenerationConfig(
        max_new_tokens=6,
        pad_token_id=0,
        eos_token_id=2,
        decoder_start_token_id=getattr(config, "decoder_start_token_id", None),
        num_beams=getattr(given, "beams", 1),
        length_penalty=getattr(given, "length_penalty", 1.0),
    )
    changed.model.generation_config.forced_eos_token_id = None  # of mBART
    theirs = changed.model.generate(input_ids=ids, attention_mask=mask, generation_config=settings)
    start = 1 if config.is_encoder_decoder else ids.shape[1]
    assert ours == [row[: row.index(2)] if 2 in row else row for row in theirs[:, start:].tolist()]


FOLDER = Path(__file__).parents[3] / "models" / "backbones"
README = (FOLDER / "README.md").read_text(encoding="utf-8")
FILES: dict[str, str] = dict(re.findall(r"```python\n# (\w+)\.py\n(.*?)```", README, re.DOTALL))


def module(name: str) -> ModuleType:
    """Run a file of the page."""
    made = ModuleType(name)
    exec(compile(FILES[name], name, "exec"), vars(made))
    return made


def made(name: str, tmp_path: Path) -> Backbone:
    """Make the backbone of a file."""
    options: dict[str, Any] = {"vocabulary": 300, "width": 16}
    if name == "modern_bert":
        refused = tiny("modernbert-decoder", "decoder-only")
        assert why_inexact(refused, new_cache) is not None
        refused.model.save_pretrained(tmp_path)
        Texts().tokenizer(90).save_pretrained(tmp_path)
        options = {"path": str(tmp_path)}
    backbone: Backbone = getattr(module(name), name)(name, Texts(), 0, **options)
    return backbone


@pytest.mark.parametrize("name", ["tiny_llama", "modern_bert"])
def test_its_backbones_are_exact_train_and_generate(name: str, tmp_path: Path) -> None:
    backbone = made(name, tmp_path)
    why, forward, cached = module("exact").report(backbone)
    assert why is None
    assert max(*forward.values(), cached) < 1e-5
    ids = torch.tensor([[4, 5, 6, 7], [4, 8, 9, 10]])
    loss = MLE(backbone).step_loss({"input_ids": ids, "attention_mask": torch.ones_like(ids), "labels": ids}).total
    loss.backward()
    assert all(weight.grad is not None for weight in backbone.head_parameters())
    prompts: Any = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    assert all(len(text) <= 3 for text in generate(MLE(backbone), prompts, parse("greedy")[0], 3))
