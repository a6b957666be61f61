"""What a loss and a distribution see of a row: what was written before a position."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from bench.decodings.core.decoding import Decoding
from bench.decodings.searches import Beam, Greedy
from bench.errors import UsageError
from bench.generation.generation import generate
from bench.models.backbones.backbone import Backbone
from bench.models.core.states import IGNORED, TokenSlice, slices
from bench.models.mle import MLE
from tests.bench.generation import tiny_decoders as tiny
from tests.models import still, tiny_bilstm

KINDS = ["gpt2", "llama", "bart", "bilstm"]
SOURCES = [[9, 8, 7, 6], [5, 6], [11, 10, 9]]
TARGETS = [[20, 21, 20, 22, 23], [24], [25, 26, 25]]


def backbone(kind: str) -> Backbone:
    if kind == "bilstm":
        return tiny_bilstm.tiny()
    return tiny.backbone(kind, dtype=torch.float64)


def known(tokens: Tensor) -> list[int]:
    return [token for token in tokens.tolist() if token != IGNORED]


@pytest.mark.parametrize("limit", [2, 50])
@pytest.mark.parametrize("kind", KINDS)
def test_training_slices_hold_the_true_tokens_before_each_position(kind: str, limit: int) -> None:
    model = backbone(kind)
    states = model.states(still.with_sources(kind, SOURCES, TARGETS))
    seen = 0
    for rows in slices(states, limit):
        assert rows.written.shape == rows.prompt.shape == (len(rows), states.history.tokens.shape[1])  # type: ignore[union-attr]
        for at in range(len(rows)):
            row = rows.start + int(rows.group[at])
            done = int(rows.position[at]) - int((states.targets[row] != IGNORED).nonzero()[0])
            assert known(rows.written[at]) == TARGETS[row][:done]
            assert known(rows.prompt[at]) == (SOURCES[row] if model.architecture == "decoder-only" else [])
            seen += 1
    assert seen == sum(map(len, TARGETS))


@pytest.mark.parametrize("kind", ["gpt2", "bart"])
def test_targets_without_a_loss_do_not_change_it(kind: str) -> None:
    """A hole behind the first target is read on a decoder-only model; a loss on some positions changes nothing."""
    model = backbone(kind)
    states = model.states(still.with_sources(kind, SOURCES, TARGETS))
    only = states.targets.masked_fill(states.targets != 22, IGNORED)
    (rows,) = slices(replace(states, targets=only))
    assert known(rows.written[0]) == [20, 21, 20]
    batch = still.with_sources(kind, SOURCES, TARGETS)
    batch["labels"] = batch["labels"].masked_fill(batch["labels"] == 21, IGNORED)
    rows = next(slices(model.states(batch)))
    kept = [20, 21, 20] if kind == "gpt2" else [20, 20]  # an encoder-decoder reads padding in place of the label
    assert known(rows.written[2]) == kept


def test_padding_on_the_left_is_no_prompt() -> None:
    model = backbone("gpt2")
    plain = still.with_sources("gpt2", SOURCES[:1], TARGETS[:1])
    fill: dict[str, int] = {"input_ids": 0, "attention_mask": 0, "labels": IGNORED}
    shifted: Any = {name: torch.nn.functional.pad(plain[name], (3, 2), value=value) for name, value in fill.items()}  # type: ignore[literal-required]
    for first, second in zip(slices(model.states(plain)), slices(model.states(shifted)), strict=True):
        for at in range(len(first)):
            assert known(first.written[at]) == known(second.written[at])
            assert known(first.prompt[at]) == known(second.prompt[at])


class Watched(MLE):
    """Notes what decoding is told was written."""

    def decode_log_probs(self, rows: TokenSlice, decoding: Decoding) -> Tensor:
        self.__dict__.setdefault("told", []).append(
            [(known(written), known(prompt)) for written, prompt in zip(rows.written, rows.prompt, strict=True)]
        )
        return super().decode_log_probs(rows, decoding)


@pytest.mark.parametrize("decoding", ["greedy", "beam"])
@pytest.mark.parametrize("kind", KINDS)
def test_generation_is_told_what_it_has_written(kind: str, decoding: str) -> None:
    """Each step's text is one of the step before with one token more; prompts are padded on the left."""
    objective = Watched(backbone(kind))
    decoder_only = objective.backbone.architecture == "decoder-only"
    prompts = tiny.collate(objective.backbone, SOURCES)
    settings = Greedy() if decoding == "greedy" else Beam(beams=3)
    texts = generate(objective, prompts, settings, 5)
    told = objective.told
    beams = getattr(settings, "beams", 1)
    before = [[[]] * beams for _ in SOURCES]
    for step, rows in enumerate(told):
        now = [[written for written, _ in rows[at * beams : (at + 1) * beams]] for at in range(len(SOURCES))]
        for at, source in enumerate(SOURCES):
            assert all(len(written) == step for written in now[at])
            assert all(written[:-1] in before[at] for written in now[at] if written)
            assert all(prompt == (source if decoder_only else []) for _, prompt in rows[at * beams : (at + 1) * beams])
        before = now
    if decoding == "greedy":
        for text, (written,) in zip(texts, before, strict=True):
            assert text[: len(written)] == written[: len(text)]


def test_a_backbone_that_does_not_say_is_named() -> None:
    model = backbone("gpt2")
    states = replace(model.states(still.with_sources("gpt2", SOURCES, TARGETS)), history=None)
    with pytest.raises(UsageError, match="tokens.written needs a backbone that says what its decoder reads"):
        _ = next(slices(states)).written
