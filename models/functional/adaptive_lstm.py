"""Adaptive LSTM: an LSTM whose weight matrices depend on the row, through r coefficients, and are never built.

AdaDec (Peng et al. 2019) section 3.1, eq. 8 and 10, for all eight maps of an LSTM (x and h to the gates i, j, f, o):

    W = U diag(lambda) V      so      x W = ((x U) * lambda) V
    lambda = C a, scaled      (eq. 11 and appendix A.1; a encodes the row's exemplar)
    bias = B lambda           (footnote 5), and 1 is added to the forget gate

Two narrow products take the place of a matrix per row and gate. The input's side is done for all positions at once; the
recurrence has one product with all U and one batched product with all V per position, and its backward pass is written
by hand, so that the gradient of each weight is one product over all positions. The recurrence runs in the dtype of its
weights, also under autocast.

Inside, time comes first, so that one position is one block of memory.

Letters: B rows, T positions, I input width, D state width, r coefficients; the gates stand in the order i, j, f, o.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

__all__ = ["AdaptiveWeights", "adaptive_lstm", "exemplar_coefficients", "orthogonal_columns"]

FORGET = 1.0
"""What is added to the forget gate before its sigmoid, beside the bias."""


class AdaptiveWeights(NamedTuple):
    """What all rows share."""

    u_input: Tensor  # [I, 4r] gate by gate
    v_input: Tensor  # [4, r, D]
    u_hidden: Tensor  # [D, 4r]
    v_hidden: Tensor  # [4, r, D]
    bias: Tensor  # [r, 4D], the paper's B transposed


def exemplar_coefficients(context: Tensor, weight: Tensor, norm: float | None) -> Tensor:
    """Coefficients lambda of each row: eq. 11 of AdaDec, scaled as its appendix A.1 says.

    Args:
        context: [B, K] what stands for the exemplar, a.
        weight: [K, r] the paper's C transposed.
        norm: their l2 norm, sqrt(D) in the paper; None leaves them as they are.

    Returns:
        [B, r] in at least float32; zeros where the context is zero.

    >>> exemplar_coefficients(torch.tensor([[3.0, 4.0]]), torch.eye(2), 10.0)
    tensor([[6., 8.]])
    """
    found = context @ weight
    found = found.to(torch.promote_types(found.dtype, torch.float32))
    return found if norm is None else F.normalize(found, dim=-1) * norm


def adaptive_lstm(
    inputs: Tensor, coefficients: Tensor, hidden: Tensor, cell: Tensor, weights: AdaptiveWeights
) -> tuple[Tensor, Tensor]:
    """Run the LSTM over whole sequences.

    Args:
        inputs: [B, T, I].
        coefficients: [B, r] of each row.
        hidden: [B, D] state before the first position.
        cell: [B, D] cell before the first position.
        weights: shared by all rows.

    Returns:
        States and cells after each position, [B, T, D] each, in the dtype of the weights. Their last column is what a
        further call continues from: position by position gives the same as all at once.

    >>> zeros = AdaptiveWeights(*(torch.zeros(s) for s in [(3, 8), (4, 2, 5), (5, 8), (4, 2, 5), (2, 20)]))
    >>> _, cells = adaptive_lstm(torch.ones(1, 2, 3), torch.ones(1, 2), torch.ones(1, 5), torch.ones(1, 5), zeros)
    >>> cells[0, :, 0]  # nothing but the forget gate at work: sigmoid(1), then its square
    tensor([0.7311, 0.5344])
    """
    dtype = weights.bias.dtype
    kept = torch.promote_types(dtype, torch.float32)  # gates and states of bf16 weights stay in float32
    with torch.autocast(inputs.device.type, enabled=False):
        states, cells = _Recurrence.apply(
            inputs.transpose(0, 1).to(dtype) @ weights.u_input, coefficients.to(kept), hidden.to(kept), cell.to(kept),
            weights.v_input, weights.u_hidden, weights.v_hidden, weights.bias.to(kept),
        )  # fmt: skip
    return states.to(dtype).transpose(0, 1), cells.to(dtype).transpose(0, 1)


class _Recurrence(torch.autograd.Function):
    """The recurrence, with back-propagation through time by hand."""

    @staticmethod
    def forward(
        ctx: Any, projected: Tensor, lam: Tensor, hidden: Tensor, cell: Tensor,
        v_input: Tensor, u_hidden: Tensor, v_hidden: Tensor, bias: Tensor,
    ) -> tuple[Tensor, Tensor]:  # fmt: skip
        (steps, rows, _), width, narrow = projected.shape, hidden.shape[1], projected.dtype
        scale = lam.repeat(1, 4).to(narrow)  # [B, 4r]
        seen = projected * scale
        gates = _by_gate(seen).bmm(v_input).to(lam.dtype).view(4, steps, rows, width)
        gates += (lam @ bias).view(rows, 4, width).transpose(0, 1)[:, None]
        gates[2] += FORGET
        recalled, scaled = torch.empty_like(seen), torch.empty_like(seen)
        states, cells, peaks = (hidden.new_empty(steps, rows, width) for _ in range(3))
        h, c = hidden, cell
        for t in range(steps):
            torch.mm(h.to(narrow), u_hidden, out=recalled[t])
            torch.mul(recalled[t], scale, out=scaled[t])
            gates[:, t] += _by_gate(scaled[t : t + 1]).bmm(v_hidden)
            i, j, (f, o) = gates[0, t].sigmoid_(), gates[1, t].tanh_(), gates[2:, t].sigmoid_()
            c = torch.mul(f, c, out=cells[t]).addcmul_(i, j)
            h = torch.mul(o, torch.tanh(c, out=peaks[t]), out=states[t])
        ctx.save_for_backward(
            projected, lam, hidden, cell, v_input, u_hidden, v_hidden, bias,
            seen, recalled, scaled, gates, states, cells, peaks,
        )  # fmt: skip
        ctx.set_materialize_grads(False)
        return states, cells

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, of_states: Tensor | None, of_cells: Tensor | None) -> Any:
        run = _Run(*ctx.saved_tensors)
        with torch.autocast(run.lam.device.type, enabled=False):
            of_gates, of_recalled, of_lam, of_hidden, of_cell = _through_time(run, of_states, of_cells)
            flat = of_gates.flatten(1, 2).to(run.seen.dtype)  # [4, T*B, D]
            earlier = torch.cat([run.hidden[None], run.states[:-1]]).to(run.seen.dtype)
            of_u_hidden = earlier.flatten(0, 1).mT @ of_recalled.flatten(0, 1)
            of_v_hidden = _by_gate(run.scaled).mT.bmm(flat)
            of_v_input = _by_gate(run.seen).mT.bmm(flat)
            of_projected = _through_inputs(run, flat, of_lam)
            biases = of_gates.sum(1).transpose(0, 1).flatten(1)  # [B, 4D]
            of_lam = of_lam.sum(0) + biases @ run.bias.mT
            of_bias = run.lam.mT @ biases
        return of_projected, of_lam, of_hidden, of_cell, of_v_input, of_u_hidden, of_v_hidden, of_bias


class _Run(NamedTuple):
    """What the forward pass leaves for the backward pass."""

    projected: Tensor  # [T, B, 4r]
    lam: Tensor  # [B, r]
    hidden: Tensor  # [B, D] before the first position
    cell: Tensor  # [B, D]
    v_input: Tensor
    u_hidden: Tensor
    v_hidden: Tensor
    bias: Tensor
    seen: Tensor  # [T, B, 4r] projected times the coefficients
    recalled: Tensor  # [T, B, 4r] earlier state @ u_hidden
    scaled: Tensor  # [T, B, 4r] the same times the coefficients
    gates: Tensor  # [4, T, B, D] behind their sigmoid or tanh
    states: Tensor  # [T, B, D]
    cells: Tensor  # [T, B, D]
    peaks: Tensor  # [T, B, D] tanh of the cells

    @property
    def scale(self) -> Tensor:
        """The coefficients, once for each gate, [B, 4, r]."""
        return self.lam[:, None].expand(-1, 4, -1).to(self.seen.dtype)


def _through_time(
    run: _Run, of_states: Tensor | None, of_cells: Tensor | None
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Gradients of the gates before their sigmoid or tanh [4, T, B, D], of what was recalled [T, B, 4r], of the
    coefficients by it [4, B, r], and of the first state and cell [B, D]."""
    (_, steps, rows, _), rank = run.gates.shape, run.lam.shape[1]
    of_gates, of_recalled = torch.empty_like(run.gates), torch.empty_like(run.recalled)
    of_lam = run.lam.new_zeros(4, rows, rank)
    dh, dc = torch.zeros_like(run.hidden), torch.zeros_like(run.cell)
    scale, to_rank, to_width = run.scale, run.v_hidden.mT, run.u_hidden.mT
    for t in reversed(range(steps)):
        dh = dh if of_states is None else dh + of_states[t]
        dc = dc if of_cells is None else dc + of_cells[t]
        (i, j, f, o), peak, earlier = run.gates[:, t], run.peaks[t], run.cells[t - 1] if t else run.cell
        dc = dc + _tanh_backward(dh * o, peak)
        step = of_gates[:, t]
        step[0], step[1] = _sigmoid_backward(dc * j, i), _tanh_backward(dc * i, j)
        step[2], step[3] = _sigmoid_backward(dc * earlier, f), _sigmoid_backward(dh * peak, o)
        dc = dc * f
        of_scaled = step.to(scale.dtype).bmm(to_rank)  # [4, B, r]
        of_lam.addcmul_(of_scaled, run.recalled[t].view(rows, 4, rank).transpose(0, 1))
        torch.mul(of_scaled.transpose(0, 1), scale, out=of_recalled[t].view(rows, 4, rank))
        dh = (of_recalled[t] @ to_width).to(dh.dtype)
    return of_gates, of_recalled, of_lam, dh, dc


def _through_inputs(run: _Run, of_gates: Tensor, of_lam: Tensor) -> Tensor:
    """Gradient of the projected inputs, [T, B, 4r]; adds that of the coefficients by them to `of_lam`, [4, B, r]."""
    steps, rows, _ = run.projected.shape
    of_seen = of_gates.bmm(run.v_input.mT).view(4, steps, rows, -1)
    found = torch.empty_like(run.projected)
    split, by_gate = found.view(steps, rows, 4, -1), run.projected.view(steps, rows, 4, -1)
    for t in range(steps):
        of_lam.addcmul_(of_seen[:, t], by_gate[t].transpose(0, 1))
        torch.mul(of_seen[:, t].transpose(0, 1), run.scale, out=split[t])
    return found


_sigmoid_backward = torch.ops.aten.sigmoid_backward.default
_tanh_backward = torch.ops.aten.tanh_backward.default


def _by_gate(values: Tensor) -> Tensor:
    """[T, B, 4r] -> [4, T*B, r], without a copy."""
    steps, rows, wide = values.shape
    return values.view(steps * rows, 4, wide // 4).transpose(0, 1)


def orthogonal_columns(rows: int, columns: int) -> Tensor:
    """Draw a random matrix of unit columns, orthogonal within each block of at most `rows` columns.

    Up to `rows` columns it has orthonormal columns. Beyond, as in the released code for r = 2D, several such matrices
    stand side by side, so that no rank-1 part starts smaller than the others.
    """
    blocks = [torch.empty(rows, min(rows, columns - at)) for at in range(0, columns, rows)]
    return torch.cat([torch.nn.init.orthogonal_(block) for block in blocks], dim=1)
