"""Generation with the recurrent backbone: cached steps equal full passes, beams carry its state and its exemplar."""

from itertools import product
from typing import Any

import pytest
import torch
from torch import Tensor
from transformers import EncoderDecoderCache

from bench.errors import UsageError
from bench.generation.generation import generate
from bench.generation.row_cache import RowCache
from bench.models.backbones.backbone import Step
from bench.models.backbones.recurrent.bilstm import BiLSTM
from bench.models.core.objective import Objective
from bench.models.core.states import TokenSlice, slices
from bench.models.functional.cache import cache_log_probs
from bench.models.mle import MLE
from tests.bench.generation.decoded import one
from tests.bench.generation.decoding_oracle import NextToken
from tests.bench.generation.test_stepwise import Stepwise, compared
from tests.models.tiny_bilstm import EXEMPLARS, collate, texts, tiny

DESIGNS = [
    {"exemplar": exemplar, "input_feeding": feeding, "released": released}
    for exemplar, (feeding, released) in product(EXEMPLARS, [(False, False), (True, False), (True, True)])
]
SOME = [DESIGNS[i] for i in (0, 4, 6, 11, 14)]  # every way to read an exemplar, every way to run
BEAM = "beam=5+length_penalty=1.0"
SOURCES, READ = texts(3, 3), texts(3, 4, 6)


class CopyCacheLM(Objective):
    """Eq. 3 of HistAlign over the memory, on top of copying."""

    name = "copy-cache-lm"
    paper = "for tests"

    def log_probs(self, rows: TokenSlice) -> Tensor:
        return cache_log_probs(self.logits(rows), rows.similarity(), rows.memory_tokens, rows.readable)


def run(
    objective: Objective, sources: list[list[int]], read: list[list[int]] | None, decoding: str, limit: int = 8,
    **options: Any,
) -> list[list[int]]:  # fmt: skip
    return generate(objective, collate(sources, read), one(decoding), limit, **options)


def next_token(objective: Objective, source: list[int], read: list[int]) -> NextToken:
    """The distribution behind a source and its exemplar by teacher forcing, one row at a time."""

    def log_probs(new: list[int]) -> Tensor:
        with torch.no_grad():
            *_, rows = slices(objective.backbone.states(collate([source], [read], [[*new, 0]])))
            return objective.log_probs(rows)[-1].double()

    return log_probs


def worst_step(model: BiLSTM, decoding: str, kind: type[Objective] = MLE) -> float:
    """The largest difference, over all steps and rows, between decoding and full passes."""
    objective, full = kind(model), kind(model)
    beams = getattr(one(decoding), "beams", 1)
    check = Stepwise(lambda row, text: next_token(full, SOURCES[row], READ[row])(text), 1, beams)
    with compared(objective, check):
        run(objective, SOURCES, READ, decoding, 5, seeds=range(len(SOURCES)))
    assert check.compared > 5 * len(SOURCES) / 2
    return check.worst


class TestStepwise:
    @pytest.mark.parametrize("options", DESIGNS)
    def test_greedy(self, options: dict[str, Any]) -> None:
        assert worst_step(tiny(**options), "greedy") < 1e-10


class TestSeveralTokens:
    @pytest.mark.parametrize("options", SOME)
    def test_in_one_step(self, options: dict[str, Any]) -> None:
        """Two tokens, then three: the last position is that of a full pass."""
        model, given, new = tiny(**options), collate(SOURCES, READ), torch.tensor([[1, 5, 6, 7, 8]] * len(SOURCES))
        config = model.model.config
        cache = EncoderDecoderCache(RowCache(config), RowCache(config))
        encoded = model.model.encoder(given["input_ids"], given["attention_mask"])
        read = given["exemplar_ids"], given["exemplar_mask"]
        for ids in (new[:, :2], new[:, 2:]):
            rows = model.extend(Step(ids, cache, given["attention_mask"], None, given["input_ids"], encoded, *read))
        labels = torch.cat([new[:, 1:], new[:, :1]], 1)
        states = model.states({**given, "labels": labels})
        torch.testing.assert_close(rows.hidden, states.hidden[:, -1], rtol=0, atol=1e-12)
        torch.testing.assert_close(rows.copying, states.copying[:, -1], rtol=0, atol=1e-12)  # type: ignore[index]


class TestExemplars:
    @pytest.mark.parametrize("exemplar", EXEMPLARS)
    @pytest.mark.parametrize("decoding", ["greedy", BEAM])
    def test_another_one(self, exemplar: str, decoding: str) -> None:
        objective = MLE(tiny(exemplar=exemplar))
        own, other = (run(objective, SOURCES, given, decoding, 12) for given in (READ, READ[::-1]))
        assert (own == other) == (exemplar in ("none", "constant"))

    def test_missing(self) -> None:
        with pytest.raises(UsageError, match="exemplar=adapt reads an exemplar"):
            run(MLE(tiny(exemplar="adapt")), SOURCES, None, "greedy")

    def test_read_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        model, calls = tiny(exemplar="both"), []
        assert model.model.exemplar_encoder is not None
        model.model.exemplar_encoder.register_forward_hook(lambda *_: calls.append(1))
        run(MLE(model), SOURCES, READ, BEAM)
        assert len(calls) == 1
