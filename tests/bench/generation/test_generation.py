"""Generation: the texts of the library and of a plain loop, and what they must not depend on."""

from typing import Any

import pytest
import torch
from torch import Tensor
from transformers import GenerationConfig

from bench.decodings.searches import Beam
from bench.errors import UsageError
from bench.generation import continuation
from bench.generation.generation import generate
from bench.generation.row_cache import RowCache, SharedByBeams
from bench.models.core.objective import Objective
from bench.models.mle import MLE
from tests import operations
from tests.bench.generation.decoded import NEW, SAMPLES, SEARCHES, cut, one, run
from tests.bench.generation.decoding_oracle import decode, next_token
from tests.bench.generation.tiny_decoders import END, KINDS, CacheLM, backbone, collate, texts
from tests.drawn import in_turn

GNMT = ["beam=4+gnmt=1", "beam=3+gnmt=0.6+early_stopping", "beam=4+gnmt=2+no_repeat_ngram=2"]


class TestLibrary:
    """MLE writes what the model's own generate writes, token for token."""

    @pytest.mark.parametrize("ends", [END, [END, 3, 7, 9]])
    @pytest.mark.parametrize(
        ("kind", "decoding"), in_turn(KINDS, [*SEARCHES, "beam=4+length_penalty=-1", "beam=4+no_repeat_ngram=1"])
    )
    def test_equal(self, kind: str, decoding: str, ends: int | list[int]) -> None:
        objective = MLE(backbone(kind, eos_token_id=ends)).eval()
        given, settings = texts(8), one(decoding)
        beam: dict[str, Any] = {}
        if isinstance(settings, Beam):
            beam = {"num_beams": settings.beams, "length_penalty": settings.length_penalty}
            beam["early_stopping"] = settings.early_stopping
        config = GenerationConfig(
            max_new_tokens=NEW, do_sample=False, no_repeat_ngram_size=settings.no_repeat_ngram, **beam,
            pad_token_id=0, eos_token_id=ends, bos_token_id=1, decoder_start_token_id=1,
        )  # fmt: skip
        batch = collate(objective.backbone, given)
        theirs = objective.backbone.model.generate(**batch, generation_config=config)
        start = 1 if kind == "bart" else batch["input_ids"].shape[1]
        texts_of = [cut(row, ends if isinstance(ends, list) else [ends]) for row in theirs[:, start:].tolist()]
        assert run(objective, given, decoding) == texts_of

    def test_settings_of_the_checkpoint_stay_out(self) -> None:
        plain, opinionated = backbone("bart"), backbone("bart")
        opinionated.model.generation_config.num_beams = 3
        opinionated.model.generation_config.no_repeat_ngram_size = 1
        opinionated.model.generation_config.min_length = 9
        assert run(MLE(plain), texts(4), "greedy") == run(MLE(opinionated), texts(4), "greedy")


class TestOracle:
    """Decoding equals the loop of `decoding_oracle.py`, which has no cache, no batch and no padding."""

    @pytest.mark.parametrize(("kind", "decoding"), in_turn(KINDS, [*SEARCHES, *GNMT]))
    def test_cache_lm(self, kind: str, decoding: str) -> None:
        objective, given = CacheLM(backbone(kind)).eval(), texts(3, 10)
        expected = [decode(objective, text, one(decoding), 8, END) for text in given]
        assert run(objective, given, decoding, 8) == expected

    @pytest.mark.parametrize("kind", KINDS)
    def test_repetition_is_of_written_tokens_only(self, kind: str) -> None:
        objective, given, settings = CacheLM(backbone(kind)).eval(), texts(4, 3), one("greedy+repetition_penalty=1.7")
        expected = []
        for text in given:
            predict, new = next_token(objective, text, settings), list[int]()
            while len(new) < 8 and END not in new:
                scores = predict(new).float()
                for token in set(new):
                    scores[token] *= 1.7
                new.append(int(scores.argmax()))
            expected.append(cut(new))
        assert run(objective, given, "greedy+repetition_penalty=1.7", 8) == expected
        assert run(objective, given, "greedy", 8) != expected


class TestBatch:
    """A row's text does not depend on its company."""

    @pytest.mark.parametrize(("kind", "decoding"), in_turn(KINDS, ["greedy", "beam=4+length_penalty=2", *SAMPLES]))
    def test_order_and_size(self, kind: str, decoding: str) -> None:
        objective, given = CacheLM(backbone(kind)), texts(4, 5)
        seeds = list(range(100, 104))
        together = run(objective, given, decoding, seeds=seeds)
        order = [3, 0, 2, 1]
        shuffled = run(objective, [given[i] for i in order], decoding, seeds=[seeds[i] for i in order])
        assert [together[i] for i in order] == shuffled
        alone = [run(objective, [text], decoding, seeds=[seed])[0] for text, seed in zip(given, seeds, strict=True)]
        assert alone == together

    @pytest.mark.parametrize("decoding", SAMPLES)
    def test_seeds_matter_and_repeat(self, decoding: str) -> None:
        objective, given = MLE(backbone("gpt2")), texts(6, 5)
        first = run(objective, given, decoding, seeds=range(6))
        torch.manual_seed(123)
        assert run(objective, given, decoding, seeds=range(6)) == first
        assert run(objective, given, decoding, seeds=range(6, 12)) != first

    def test_the_decodings_own_limit_comes_first(self) -> None:
        found = run(MLE(backbone("gpt2")), texts(4), "greedy+max_new_tokens=3", 20)
        assert max(map(len, found)) == 3


class EndsAfter(Objective):
    """End tokens at a place that differs by row."""

    name = "ends-after"
    paper = "for tests"

    def __init__(self, model: Any, ends: tuple[int, ...] = (END,)) -> None:
        super().__init__(model)
        self.ends, self.step = ends, 0

    def log_probs(self, rows: Any) -> Tensor:
        logits = self.logits(rows)
        logits[:, list(self.ends)] = -1e4
        due = torch.arange(len(rows)) <= self.step
        logits[due, self.ends[self.step % len(self.ends)]] = 1e4
        self.step += 1
        return logits.log_softmax(-1)


class TestEnd:
    @pytest.mark.parametrize("pad", [0, 96, END])
    @pytest.mark.parametrize("kind", KINDS)
    def test_cut_at_the_end_token(self, kind: str, pad: int) -> None:
        found = run(EndsAfter(backbone(kind, pad=pad)), texts(4), "greedy")
        assert [len(row) for row in found] == [0, 1, 2, 3]
        assert not {END, pad} & {token for row in found for token in row}

    @pytest.mark.parametrize("decoding", ["greedy", "beam=4", "beam=3+early_stopping", "nucleus=0.9"])
    def test_padding_does_not_change_texts(self, decoding: str) -> None:
        """A beam fills up with end tokens where the padding id is 0."""
        found: list[list[list[int]]] = [[], []]
        for kind in KINDS:
            for pad, rows in zip((0, 96), found, strict=True):
                rows += run(MLE(backbone(kind, pad=pad)), texts(6), decoding, 20, seeds=range(6))
        assert found[0] == found[1]
        assert not any(END in row for row in found[0])
        assert min(map(len, found[0])) < 20


class TestPrecision:
    @pytest.mark.parametrize("kind", KINDS)
    def test_bf16_autocast_equals_the_library(self, kind: str) -> None:
        objective = MLE(backbone(kind)).eval()
        batch = collate(objective.backbone, texts(4))
        start = 1 if kind == "bart" else batch["input_ids"].shape[1]
        with torch.autocast("cpu", torch.bfloat16):
            theirs = objective.backbone.model.generate(**batch, max_new_tokens=NEW, do_sample=False, use_cache=True)
            assert run(objective, texts(4), "greedy") == [cut(row) for row in theirs[:, start:].tolist()]


class TestLeavesNothingBehind:
    def test_inside_training_step(self) -> None:
        class Sequence(MLE):
            def training_step(self, batch: Any, batch_idx: int) -> Tensor:
                self.made = run(self, texts(2), "greedy", 6)
                loss: Tensor = super().training_step(batch, batch_idx)
                return loss

        objective = Sequence(backbone("gpt2", resid_pdrop=0.1)).train()
        frozen = objective.backbone.model.transformer.h[0]
        frozen.eval()
        modes = [module.training for module in objective.modules()]
        batch = collate(objective.backbone, texts(2))
        objective.training_step({**batch, "labels": batch["input_ids"], "step_tokens": 10}, 0).backward()
        assert [module.training for module in objective.modules()] == modes
        assert not frozen.training
        assert objective.training
        assert objective.backbone.embedding().grad is not None
        assert run(objective, texts(2), "greedy", 6) == run(objective, texts(2), "greedy", 6), "dropout is off"

    def test_modes_survive_an_error(self) -> None:
        objective = MLE(backbone("gpt2")).train()
        with pytest.raises(UsageError, match="token_counts"):
            run(objective, texts(2), "decoupled:greedy")
        assert all(module.training for module in objective.modules())


class TestRefused:
    def test_right_padded_prompts(self) -> None:
        objective = MLE(backbone("gpt2"))
        ids = torch.tensor([[5, 6, 7], [5, 6, 0]])
        with pytest.raises(UsageError, match="left"):
            generate(objective, {"input_ids": ids, "attention_mask": (ids > 0).long()}, one("greedy"), 4)

    def test_one_seed_per_row(self) -> None:
        with pytest.raises(UsageError, match="3 rows, 2 seeds"):
            run(MLE(backbone("gpt2")), texts(3), "topk=3", seeds=[1, 2])

    @pytest.mark.parametrize("kind", KINDS)
    def test_too_few_positions(self, kind: str) -> None:
        given = [[5, 6, 7]]
        most = 64 if kind == "bart" else 62
        objective = MLE(backbone(kind))
        assert run(objective, given, "greedy+no_repeat_ngram=1", most) is not None
        with pytest.raises(UsageError, match="64 positions"):
            run(objective, given, "greedy", most + 1)


@pytest.mark.parametrize("kind", KINDS)
def test_a_gpu_is_hardly_waited_for(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """At most every tenth token asks the device for anything; texts that have ended meanwhile are cut."""
    found = run(MLE(backbone(kind)), texts(4), "greedy", 40)
    monkeypatch.setitem(continuation.CHECK_EVERY, "cpu", 16)
    assert run(MLE(backbone(kind)), texts(4), "greedy", 40) == found
    objective, waits = MLE(backbone(kind, eos_token_id=None)), {}
    for tokens in (8, 40):
        with operations.counted() as count:
            run(objective, texts(4), "greedy", tokens)
        waits[tokens] = count.waits["_local_scalar_dense"] + count.waits["nonzero"]
    assert (waits[40] - waits[8]) / 32 <= 0.1


class TestRowCache:
    def test_named_tensors_follow_the_rows(self) -> None:
        cache = RowCache(backbone("gpt2").model.config)
        cache.append("tokens", torch.tensor([[1], [2]]))
        assert cache.append("tokens", torch.tensor([[3], [4]])).tolist() == [[1, 3], [2, 4]]
        cache.reorder_cache(torch.tensor([1, 1]))
        assert cache.rows["tokens"].tolist() == [[2, 4], [2, 4]]
        cache.append("tokens", torch.tensor([[5], [6]]))
        cache.batch_select_indices(torch.tensor([1]))
        cache.batch_repeat_interleave(2)
        assert cache.rows["tokens"].tolist() == [[2, 4, 6], [2, 4, 6]]

    def test_shared_by_beams_does_not_move(self) -> None:
        cache = SharedByBeams()
        keys, values = torch.rand(2, 1, 3, 4), torch.rand(2, 1, 3, 4)
        cache.update(keys, values, 0)
        cache.reorder_cache(torch.tensor([1, 0]))
        assert torch.equal(cache.layers[0].keys, keys)
