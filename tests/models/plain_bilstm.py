"""The recurrent model again, slow and obvious: one row, one position at a time, no mask, every matrix built."""

from __future__ import annotations

import torch
from torch import Tensor

from bench.models.backbones.recurrent.bilstm import BiLSTM, BiLSTMModel
from bench.models.backbones.recurrent.lstm import LSTM, AdaptiveLSTM, BiLSTMStack

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
