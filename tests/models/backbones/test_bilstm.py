"""The recurrent backbone: the same numbers as an obvious loop, no influence of padding, copying, what options do.

The obvious loop has one row, one position at a time, no mask, and every matrix built.
"""

from itertools import product
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from bench.errors import DataError, UsageError
from bench.models.backbones.backbone import Backbone, Batch
from bench.models.backbones.recurrent.bilstm import BiLSTM, BiLSTMModel, bilstm
from bench.models.backbones.recurrent.lstm import LSTM, AdaptiveLSTM, BiLSTMStack
from bench.models.core.states import States, slices
from bench.models.mle import MLE
from tests.models.backbones.folders import Texts
from tests.models.tiny_bilstm import EXEMPLARS, collate, texts, tiny

Pair = tuple[Tensor, Tensor]


def plain_states(backbone: BiLSTM, source: list[int], exemplar: list[int], target: list[int]) -> Pair:
    """Hidden states [T, D] and log-probabilities [T, V] of one row."""
    model, design = backbone.model, backbone.model.design
    embedding, encoder = model.encoder.embedding.weight, model.encoder
    top, last, cell = encode(encoder.stack, embedding[source])
    memory = top @ encoder.project.weight.T
    h, c = torch.tanh(affine(encoder.bridge_hidden, last)), torch.tanh(affine(encoder.bridge_cell, cell))
    copy_memory = memory if encoder.project_copies is None else top @ encoder.project_copies.weight.T
    tokens, lam = source, None
    if model.constant is not None:
        lam = scaled(model.constant[0], design.norm)
    elif model.exemplar_encoder is not None:
        reader = model.exemplar_encoder
        read, context, _ = encode(reader.stack, embedding[exemplar])
        if reader.tanh is not None:
            context = torch.tanh(affine(reader.tanh, context))
        if reader.coefficients is not None:
            lam = scaled(reader.coefficients.weight @ context, design.norm)
        if reader.project is not None:
            memory, tokens = torch.cat([memory, read @ reader.project.weight.T]), source + exemplar
            apart = reader.project_copies or reader.project
            copy_memory = torch.cat([copy_memory, read @ apart.weight.T])
    vector, found = torch.zeros_like(h), []
    for token in [model.config.decoder_start_token_id, *target[:-1]]:
        given = torch.cat([embedding[token], vector]) if design.input_feeding else embedding[token]
        h, c = step(model, given, h, c, lam)
        weights = torch.softmax(memory @ (model.decoder.attention.general.weight @ h), 0)
        context = weights @ memory
        vector = model.decoder.attention.combine.weight @ torch.cat([h, context])
        generated = torch.softmax(affine(model.output, vector), 0)
        assert model.decoder.copy_gate is not None
        gate = model.decoder.copy_gate.gate
        if design.released:
            weights, features = torch.softmax(copy_memory @ vector, 0), vector
        else:
            features = torch.cat([context, h, embedding[token]])
        generates = torch.sigmoid(affine(gate, features))[0]
        copied = torch.zeros_like(generated).index_add(0, torch.tensor(tokens), weights)
        found.append((vector, torch.log(generates * generated + (1 - generates) * copied)))
    hidden, log_probs = zip(*found, strict=True)
    return torch.stack(hidden), torch.stack(log_probs)


def affine(layer: torch.nn.Linear, values: Tensor) -> Tensor:
    return layer.weight @ values + layer.bias


def scaled(values: Tensor, norm: float | None) -> Tensor:
    return values if norm is None else values / values.norm() * norm


def encode(stack: BiLSTMStack, values: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Top states [T, 2W], last state and cell [2W], from embeddings [T, I]."""
    ahead = back = values
    for number, (there, behind) in enumerate(zip(stack.ahead, stack.back, strict=True)):
        first, first_cell = read(there, ahead)
        second, second_cell = read(behind, back.flip(0))
        last = torch.cat([first[-1], second[-1]]), torch.cat([first_cell, second_cell])
        second = second.flip(0)
        if stack.apart:
            deep = len(stack.ahead) > 1
            ahead, back = (first + ahead, second + back) if deep else (first, second)
        else:
            both = torch.cat([first, second], 1)
            ahead = back = both + ahead if number else both
    return (torch.cat([ahead, back], 1) if stack.apart else ahead), *last


def read(layer: LSTM, values: Tensor) -> Pair:
    """States [T, W] and the last cell [W]; gates i, f, g, o."""
    h = c = torch.zeros_like(layer.weight_hidden[0])
    states = []
    for value in values:
        h, c = gated(layer.weight_input @ value + layer.weight_hidden @ h + layer.bias, c, "ifgo")
        states.append(h)
    return torch.stack(states), c


def step(model: BiLSTMModel, value: Tensor, h: Tensor, c: Tensor, lam: Tensor | None) -> Pair:
    """State and cell of the decoder after one more input."""
    cell = model.decoder.cell
    if isinstance(cell, LSTM):
        return gated(cell.weight_input @ value + cell.weight_hidden @ h + cell.bias, c, "ifgo")
    assert isinstance(cell, AdaptiveLSTM)
    assert lam is not None
    by_input, by_state = (
        [u @ torch.diag(lam) @ v for u, v in zip(us.chunk(4, 1), vs, strict=True)]
        for us, vs in ((cell.u_input, cell.v_input), (cell.u_hidden, cell.v_hidden))
    )
    gates = [value @ x + h @ y for x, y in zip(by_input, by_state, strict=True)]
    gates[2] = gates[2] + 1
    return gated(torch.cat(gates) + lam @ cell.bias, c, "igfo")


def gated(values: Tensor, c: Tensor, order: str) -> Pair:
    parts = dict(zip(order, values.chunk(4), strict=True))
    c = torch.sigmoid(parts["f"]) * c + torch.sigmoid(parts["i"]) * torch.tanh(parts["g"])
    return torch.sigmoid(parts["o"]) * torch.tanh(c), c


DESIGNS = [
    {"exemplar": exemplar, "input_feeding": feeding, "released": released}
    for exemplar, feeding, released in product(EXEMPLARS, (False, True), (False, True))
]
SOURCES, READ, TARGETS = texts(5), texts(5, 1, 6), texts(5, 2, 7)


def everything(model: BiLSTM, batch: Batch) -> tuple[States, Tensor]:
    """States, and log-probabilities at every target, [n, V]."""
    states = model.states(batch)
    return states, torch.cat([MLE(model).log_probs(rows) for rows in slices(states)])


class TestPlainLoop:
    """Equal to a loop over one row at a time, with matrices built for the row."""

    @pytest.mark.parametrize("options", DESIGNS)
    def test_equal(self, options: dict[str, Any]) -> None:
        model = tiny(**options)
        states, log_probs = everything(model, collate(SOURCES, READ, TARGETS))
        at = 0
        for row, texts_of_row in enumerate(zip(SOURCES, READ, TARGETS, strict=True)):
            hidden, expected = plain_states(model, *texts_of_row)
            torch.testing.assert_close(states.hidden[row, : len(hidden)], hidden, rtol=0, atol=1e-12)
            torch.testing.assert_close(log_probs[at : at + len(hidden)], expected, rtol=0, atol=1e-12)
            at += len(hidden)


class TestRows:
    """A row's numbers do not depend on its company."""

    @pytest.mark.parametrize("apart", [False, True])
    def test_padding_on_the_left(self, apart: bool) -> None:
        stack = BiLSTMStack(4, 4, 2, 0.0, apart).double()
        values = torch.randn(1, 3, 4, dtype=torch.float64)
        padded = torch.cat([torch.randn_like(values), values, torch.randn_like(values[:, :1])], dim=1)
        expected = stack(values, torch.ones(1, 3))
        found = stack(padded, torch.tensor([[0, 0, 0, 1, 1, 1, 0]]))
        close(found[0][:, 3:6], expected[0])
        close(torch.stack(found[1:]), torch.stack(expected[1:]))

    def test_an_empty_exemplar(self) -> None:
        for exemplar in ("adapt", "attend"):
            model = tiny(exemplar=exemplar)
            _, log_probs = everything(model, collate([[5, 6], [7]], [[], [8, 9]], [[7, 8], [9]]))
            log_probs.sum().backward()
            assert log_probs.isfinite().all()
            assert all(p.grad is None or p.grad.isfinite().all() for p in model.parameters())


def close(found: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-12)


class TestExemplars:
    @pytest.mark.parametrize("exemplar", ["attend", "adapt", "both"])
    def test_missing(self, exemplar: str) -> None:
        with pytest.raises(UsageError, match=f"exemplar={exemplar} reads an exemplar .* adadec"):
            tiny(exemplar=exemplar).states(collate(SOURCES, None, TARGETS))


class TestGradients:
    @pytest.mark.parametrize("options", [*DESIGNS, {"copy": False, "exemplar": "both"}, {"tied": False}])
    def test_reach_every_parameter(self, options: dict[str, Any]) -> None:
        model = tiny(**options)
        MLE(model).loss(model.states(collate(SOURCES, READ, TARGETS))).total.backward()
        for name, parameter in model.named_parameters():
            assert parameter.grad is not None, name
            assert parameter.grad.isfinite().all(), name
            assert parameter.grad.abs().max() > 0, name


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
        ],
    )
    def test_contradictions(self, options: dict[str, Any], message: str) -> None:
        with pytest.raises(UsageError, match=message) as caught:
            make(**options)
        assert "\n" not in str(caught.value)
