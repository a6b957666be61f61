"""Continuations: where prompts are cut, what is a source, what is scored, and modes left as they were."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, Literal

import pytest
import torch
from torch import nn

from bench.models.backbones.backbone import Batch
from bench.models.core.continuations import (
    Cut,
    Written,
    special_tokens,
    states_without_targets,
    without_dropout,
    write,
)
from bench.models.core.run_context import RunContext
from bench.models.core.states import IGNORED
from bench.models.mle import MLE
from tests.models import still


class Recorded:
    """Continues every prompt with the same tokens, or with its seed, and keeps the arguments."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []

    def __call__(self, batch: Batch, most: int, decoding: str = "", seeds: Sequence[int] = ()) -> list[list[int]]:
        self.calls.append((batch, most, decoding))
        return [[seed] for seed in seeds] or [list(range(5, 60))[:most] for _ in batch["input_ids"]]


def objective(kind: str, seed: int = 0) -> tuple[MLE, Recorded]:
    made, recorded = MLE(still.backbone(kind)), Recorded()
    made.setup_run(RunContext(seed=seed, continue_prompts=recorded, max_target=7))
    return made, recorded


def test_the_end_token_of_the_tokenizer_is_one_whatever_the_configuration_has() -> None:
    backbone = objective("gpt2")[0].backbone
    backbone.model.config.eos_token_id, backbone.tokenizer = 2, SimpleNamespace(eos_token_id=7)
    assert special_tokens(backbone, "eos") == (2, 7)


class TestCut:
    @pytest.mark.parametrize("pieces", ["one", "all"])
    @pytest.mark.parametrize("place", [0.0, 0.37, 0.999999])
    def test_inside_the_text(self, place: float, pieces: Literal["one", "all"]) -> None:
        """Prompts lie in the text, and prompt and continuation are never longer than it."""
        for length in range(400):
            places, most = Cut(pieces=pieces).of(length, place)
            assert places
            for start, stop in places:
                assert 0 <= start <= stop <= length
                assert stop - start == min(50, length // 3)
            assert most == min(100, 2 * length // 3)
            assert places[0][1] - places[0][0] + most <= length


class TestWrite:
    def test_running_text(self) -> None:
        """The row's start token, then a third of its tokens from the drawn place; two thirds are written."""
        made, recorded = objective("gpt2")
        rows = [[1, *range(10, 22)], [1, *range(30, 36)]]
        found = write(made, still.running(rows), Cut(), 0.5)
        assert [(one.row, one.prompt, len(one.tokens)) for one in found] == [
            (0, [1, 14, 15, 16, 17], 8),
            (1, [1, 32, 33], 4),
        ]
        ((batch, most, _),) = recorded.calls
        assert most == 8
        assert batch["input_ids"].tolist() == [[1, 14, 15, 16, 17], [0, 0, 1, 32, 33]]
        assert batch["attention_mask"].tolist() == [[1] * 5, [0, 0, 1, 1, 1]]

    def test_several_pieces(self) -> None:
        made, _ = objective("gpt2")
        row = [1, *range(10, 40)]
        found = write(made, still.running([row]), Cut(3, 6, "all"), 0.5)
        assert [one.prompt for one in found] == [[1, 10, 11, 12], [1, 13, 14, 15], [1, 16, 17, 18]]
        assert [(one.row, one.tokens) for one in found] == [(0, list(range(5, 11)))] * 3

    def test_source(self) -> None:
        """A source is continued whole, to the task's most target tokens."""
        made, recorded = objective("gpt2")
        (found,) = write(made, still.rows_of([[1, 8, 9, 20, 21]], [[IGNORED, IGNORED, IGNORED, 20, 21]]), Cut(), 0.5)
        assert found == Written(0, [1, 8, 9], list(range(5, 12)))
        assert recorded.calls[0][1] == 7

    def test_encoder_decoder(self) -> None:
        """It gets the batch without its labels."""
        made, recorded = objective("bart")
        batch = {**still.batch("bart"), "step": 3, "exemplar_ids": torch.ones(5, 2)}
        found = write(made, batch, Cut(), 0.5)  # type: ignore[arg-type]
        assert found == [Written(row, [], list(range(5, 12))) for row in range(5)]
        assert set(recorded.calls[0][0]) == {"input_ids", "attention_mask", "exemplar_ids"}

    def test_nothing_to_continue(self) -> None:
        """Rows too short to be cut ask for nothing."""
        made, recorded = objective("gpt2")
        assert write(made, still.rows_of([[5]], [[5]]), Cut(), 0.5) == []
        assert write(made, still.rows_of([[1, 5]], [[IGNORED, IGNORED]]), Cut(), 0.5) == []
        assert recorded.calls == []

    @pytest.mark.parametrize("kind", still.KINDS)
    def test_a_step_without_anything_to_score_is_a_zero_for_every_parameter(self, kind: str) -> None:
        """A parameter without a gradient would let the other ranks wait."""
        made, _ = objective(kind)
        loss = made.loss(states_without_targets(made, still.batch(kind)))
        assert (loss.total, loss.n_target_tokens) == (0, 0)
        given = torch.autograd.grad(loss.total, list(made.parameters()), allow_unused=True)
        without = [name for (name, _), found in zip(made.named_parameters(), given, strict=True) if found is None]
        reference = made.step_loss(still.batch(kind)).total
        of_loss = torch.autograd.grad(reference, list(made.parameters()), allow_unused=True)
        never = [name for (name, _), found in zip(made.named_parameters(), of_loss, strict=True) if found is None]
        assert without == never


class TestDraws:
    """What is drawn is a function of run, step and prompt, and of nothing else."""

    def seeds(self, kind: str, rows: slice = slice(None), *, seed: int = 0, step: int = 3) -> list[int]:
        made, recorded = objective(kind, seed)
        batch: Any = {**still.batch(kind, rows), "step": step}
        texts = write(made, batch, decoding="topk=3")
        assert recorded.calls[0][1:] == (7, "topk=3")
        return [text.tokens[0] for text in texts]

    @pytest.mark.parametrize("kind", still.KINDS)
    def test_rows_beside_it_and_padding_do_not_matter(self, kind: str) -> None:
        whole = self.seeds(kind)
        assert len(set(whole)) == len(whole)
        assert [seed for at in range(5) for seed in self.seeds(kind, slice(at, at + 1))] == whole

    @pytest.mark.parametrize("change", [{"seed": 1}, {"step": 4}])
    def test_run_and_step_do(self, change: dict[str, int]) -> None:
        assert not set(self.seeds("gpt2")) & set(self.seeds("gpt2", **change))  # type: ignore[arg-type]


class TestWithoutDropout:
    def test_every_part_is_as_before(self) -> None:
        module = nn.Sequential(nn.Dropout(0.5), nn.Sequential(nn.Dropout(0.5)), nn.LSTM(2, 2, 2, dropout=0.3))
        module[1].eval()
        before = [part.training for part in module.modules()]
        with without_dropout(module):
            assert not any(part.training for part in module.modules() if isinstance(part, nn.Dropout))
            assert module[2].dropout == 0.0
        assert [part.training for part in module.modules()] == before
        assert module[2].dropout == 0.3
