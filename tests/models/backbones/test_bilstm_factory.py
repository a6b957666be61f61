"""Making a recurrent backbone by its options: tokens, word vectors, variants, and what is refused in one line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from bench.config.decoding import parse
from bench.errors import DataError, UsageError
from bench.generation.generation import generate
from bench.models.backbones.backbone import Backbone
from bench.models.backbones.recurrent.bilstm import bilstm
from bench.models.mle import MLE
from tests.models.backbones.folders import Texts
from tests.models.tiny_bilstm import collate, texts

TEXT = ["Oslo is the capital of Norway .", "The capital of Peru is Lima .", "Oslo has a port ."]


def make(seed: int = 0, **options: Any) -> Any:
    return bilstm("bilstm", Texts(lines=TEXT), seed, **{"vocabulary": 300, "width": 8, "exemplar_width": 3, **options})


def equal(first: Backbone, second: Backbone) -> bool:
    pairs = zip(first.state_dict().items(), second.state_dict().items(), strict=True)
    return all(a == b and torch.equal(x, y) for (a, x), (b, y) in pairs)


class TestOptions:
    def test_weights_are_a_function_of_the_seed(self) -> None:
        assert equal(make(3, exemplar="both"), make(3, exemplar="both"))
        assert not equal(make(3), make(4))

    @pytest.mark.parametrize(("typed", "norm"), [("0", 8**0.5), ("2.5", 2.5), ("none", None)])
    def test_norm(self, typed: str, norm: float | None) -> None:
        assert make(norm=typed).model.design.norm == norm

    def test_released(self) -> None:
        model = make(exemplar="both", variant="released", layers=2).model
        assert model.decoder.feeding
        assert model.encoder.stack.apart
        assert model.exemplar_encoder.tanh.out_features == 8
        assert model.decoder.copy_gate.gate.in_features == 8
        assert model.encoder.project_copies is not None
        paper = make(exemplar="both", layers=2).model
        assert not paper.decoder.feeding
        assert paper.exemplar_encoder.tanh is None
        assert paper.encoder.project_copies is None

    def test_words(self) -> None:
        model = make(tokens="words", vocabulary=12)
        assert model.vocabulary_size == 12
        ids = model.tokenizer("The capital of Lima", add_special_tokens=False)["input_ids"]
        assert model.tokenizer.unk_token_id in ids
        assert model.tokenizer.convert_tokens_to_ids("capital") in ids


def vectors(folder: Path, text: str) -> str:
    path = folder / "vectors.txt"
    path.write_bytes(text.encode())
    return str(path)


WORDS = {"tokens": "words", "tied": False, "width": 8, "embedding_width": 3}


class TestGlove:
    def test_embeddings(self, tmp_path: Path) -> None:
        """Known words have their vector, others are drawn; none is trained, and a token with a space is passed over."""
        lines = "Oslo 1 2 3\nof . 9 9 9\nthe\u0085 7 7 7\nof -1 0 0.5\nabsent 5 5 5\nof 4 4 4\n"
        model = make(glove=vectors(tmp_path, lines), **WORDS)
        weight, ids = model.embedding(), model.tokenizer.convert_tokens_to_ids(["Oslo", "of", "Peru"])
        assert weight[ids[0]].tolist() == [1, 2, 3]
        assert weight[ids[1]].tolist() == [-1, 0, 0.5]
        assert weight[ids[2]].abs().max() > 0
        assert not weight.requires_grad
        assert model.model.get_output_embeddings().weight.requires_grad
        assert equal(model, make(glove=vectors(tmp_path, lines), **WORDS))

    @pytest.mark.parametrize(
        ("lines", "kind", "message"),
        [
            ("Oslo 1 2\n", UsageError, "vectors of 2 numbers and backbone.embedding_width is 3"),
            ("absent 1 2 3\n", UsageError, "none of the"),
            ("absent 1 2 3\nOslo 1 2\n", DataError, "line 2: expected a word and 3 numbers"),
            ("Oslo 1 2 x\n", DataError, "line 1: expected a word and 3 numbers"),
            ("", UsageError, "none of the"),
        ],
    )
    def test_refused(self, tmp_path: Path, lines: str, kind: type[Exception], message: str) -> None:
        with pytest.raises(kind, match=message) as caught:
            make(glove=vectors(tmp_path, lines), **WORDS)
        assert "\n" not in str(caught.value)


class TestRefused:
    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"embedding_width": 6}, "tied embeddings need"),
            ({"embedding_width": 6, "tied": False, "layers": 2, "variant": "released"}, "residual around the first"),
            ({"glove": "x", "tied": False}, "tokens=words"),
            ({"glove": "x", "tokens": "words"}, "tied=false"),
            ({"layers": 0}, "'layers' is at least 1, not 0"),
            ({"norm": -1.0}, "'norm' is at least 0, not -1"),
            ({"dropout": 1.0}, "'dropout' is at least 0 and below 1, not 1"),
            ({"exemplar": "atend"}, "did you mean 'attend'"),
        ],
    )
    def test_contradictions(self, options: dict[str, Any], message: str) -> None:
        with pytest.raises(UsageError, match=message) as caught:
            make(**options)
        assert "\n" not in str(caught.value)


MARK, FIRST_UNSEEN = 3, 200


def marked(count: int, low: int, high: int, seed: int) -> tuple[list[list[int]], list[list[int]]]:
    """Sources with a mark somewhere, and the token behind it as the target."""
    generator = torch.Generator().manual_seed(seed)
    tokens = torch.randint(low, high, (count,), generator=generator).tolist()
    sources = texts(count, seed)
    for source, token in zip(sources, tokens, strict=True):
        at = int(torch.randint(0, len(source), (), generator=generator))
        source[at:at] = [MARK, token]
    return sources, [[token, 2] for token in tokens]


def test_copies_tokens_it_never_saw() -> None:
    """A token that is in no training row is copied from the source: only copying can do that."""
    model = make(width=24)
    objective = MLE(model)
    optimizer = torch.optim.Adam(objective.parameters(), 0.01)
    for step in range(120):
        sources, targets = marked(32, 30, FIRST_UNSEEN, step)
        loss = objective.training_step({**collate(sources, None, targets), "step_tokens": 64}, step)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    sources, targets = marked(40, FIRST_UNSEEN, 260, 10**6)
    found = generate(objective, collate(sources, None), parse("greedy")[0], 4)
    assert sum(row == target[:-1] for row, target in zip(found, targets, strict=True)) >= 38
