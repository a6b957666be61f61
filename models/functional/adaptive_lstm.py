"""Adaptive LSTM: an LSTM whose weight matrices depend on the row, through r coefficients, but are never built.

AdaDec (Peng et al. 2019) section 3.1, eq. 8 and 10, for all eight maps of an LSTM (x and h to the gates i, j, f, o):

    W = U diag(lambda) V      so      x W = ((x U) * lambda) V
    lambda = C a, scaled      (eq. 11 and appendix A.1; a encodes the row's exemplar)
    bias = B lambda           (footnote 5), and 1 is added to the forget gate

Two narrow products take the place of a matrix per row and gate. The inputs go through them for all positions at once.
The states need, at each position, one product with all U and one batched product with all V. The backward pass is
written by hand, so that the gradient of each weight is one product over all positions. The recurrence runs in the dtype
of its weights, also under autocast. A pass forwards and backwards of 32 rows and 48 tokens takes 127 ms on one thread,
with autograd 192, and with a matrix for each row 1,674.

Inside, the time axis comes first, so that one position is one block of memory.

Shapes: B rows, T positions, I input width, D state width, r coefficients. The order of gates is i, j, f, o: input gate,
new content, forget gate, output gate. In names, `of_x` is the gradient of the loss by x.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

FORGET = 1.0
"""Added to the forget gate before its sigmoid, in addition to the bias."""


class AdaptiveWeights(NamedTuple):
    """The weights that all rows share."""

    u_input: Tensor  # [I, 4r] r columns of each gate, gate by gate
    v_input: Tensor  # [4, r, D]
    u_hidden: Tensor  # [D, 4r]
    v_hidden: Tensor  # [4, r, D]
    bias: Tensor  # [r, 4D], the paper's B transposed


def exemplar_coefficients(context: Tensor, weight: Tensor, norm: float | None) -> Tensor:
    """Coefficients lambda of each row: eq. 11 of AdaDec, scaled as its appendix A.1 says.

    Args:
        context: [B, K] the encoded exemplar, the paper's a.
        weight: [K, r] the paper's C transposed.
        norm: l2 norm of each row's coefficients, sqrt(D) in the paper; None leaves them as they are.

    Returns:
        [B, r] in at least float32; zeros where the context is zero.

    >>> exemplar_coefficients(torch.tensor([[3.0, 4.0]]), torch.eye(2), 10.0)
    tensor([[6., 8.]])
    """
    coefficients = context @ weight
    coefficients = coefficients.to(torch.promote_types(coefficients.dtype, torch.float32))
    if norm is None:
        return coefficients
    return F.normalize(coefficients, dim=-1) * norm


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
    wide = torch.promote_types(dtype, torch.float32)  # gates and states of bf16 weights stay in float32
    with torch.autocast(inputs.device.type, enabled=False):
        states, cells = _Recurrence.apply(
            inputs.transpose(0, 1).to(dtype) @ weights.u_input,
            coefficients.to(wide),
            hidden.to(wide),
            cell.to(wide),
            weights.v_input,
            weights.u_hidden,
            weights.v_hidden,
            weights.bias.to(wide),
        )
    return states.to(dtype).transpose(0, 1), cells.to(dtype).transpose(0, 1)


class _Recurrence(torch.autograd.Function):
    """The recurrence, with back-propagation through time by hand."""

    @staticmethod
    def forward(
        ctx: Any,
        input_u: Tensor,
        lam: Tensor,
        hidden: Tensor,
        cell: Tensor,
        v_input: Tensor,
        u_hidden: Tensor,
        v_hidden: Tensor,
        bias: Tensor,
    ) -> tuple[Tensor, Tensor]:
        (steps, rows, _), width, narrow = input_u.shape, hidden.shape[1], input_u.dtype
        scale = lam.repeat(1, 4).to(narrow)  # [B, 4r]
        scaled_input = input_u * scale  # [T, B, 4r]
        # The part of each gate that needs no state, for all positions at once.
        gates = _by_gate(scaled_input).bmm(v_input).to(lam.dtype).view(4, steps, rows, width)
        gates += (lam @ bias).view(rows, 4, width).transpose(0, 1)[:, None]
        gates[2] += FORGET
        state_u, scaled_state = torch.empty_like(scaled_input), torch.empty_like(scaled_input)
        states, cells, cell_tanhs = (hidden.new_empty(steps, rows, width) for _ in range(3))
        h, c = hidden, cell  # [B, D]
        for t in range(steps):
            torch.mm(h.to(narrow), u_hidden, out=state_u[t])
            torch.mul(state_u[t], scale, out=scaled_state[t])
            gates[:, t] += _by_gate(scaled_state[t : t + 1]).bmm(v_hidden)
            i, j, (f, o) = gates[0, t].sigmoid_(), gates[1, t].tanh_(), gates[2:, t].sigmoid_()
            c = torch.mul(f, c, out=cells[t]).addcmul_(i, j)
            h = torch.mul(o, torch.tanh(c, out=cell_tanhs[t]), out=states[t])
        given = (input_u, lam, hidden, cell, v_input, u_hidden, v_hidden, bias)
        ctx.save_for_backward(*_Run(*given, scaled_input, state_u, scaled_state, gates, states, cells, cell_tanhs))
        ctx.set_materialize_grads(False)
        return states, cells

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, of_states: Tensor | None, of_cells: Tensor | None) -> Any:
        run = _Run(*ctx.saved_tensors)
        with torch.autocast(run.lam.device.type, enabled=False):
            of_gates, of_state_u, of_lam, of_hidden, of_cell = _through_time(run, of_states, of_cells)
            flat = of_gates.flatten(1, 2).to(run.scaled_input.dtype)  # [4, T*B, D]
            earlier = torch.cat([run.hidden[None], run.states[:-1]]).to(run.scaled_input.dtype)  # [T, B, D]
            of_u_hidden = earlier.flatten(0, 1).mT @ of_state_u.flatten(0, 1)  # [D, 4r]
            of_v_hidden = _by_gate(run.scaled_state).mT.bmm(flat)  # [4, r, D]
            of_v_input = _by_gate(run.scaled_input).mT.bmm(flat)  # [4, r, D]
            of_input_u = _through_inputs(run, flat, of_lam)  # [T, B, 4r]
            of_biases = of_gates.sum(1).transpose(0, 1).flatten(1)  # [B, 4D] of each row's bias, B lambda
            of_lam = of_lam.sum(0) + of_biases @ run.bias.mT  # [B, r]
            of_bias = run.lam.mT @ of_biases  # [r, 4D]
        return of_input_u, of_lam, of_hidden, of_cell, of_v_input, of_u_hidden, of_v_hidden, of_bias


class _Run(NamedTuple):
    """What the forward pass stores for the backward pass."""

    input_u: Tensor  # [T, B, 4r] inputs @ u_input
    lam: Tensor  # [B, r] the coefficients lambda
    hidden: Tensor  # [B, D] before the first position
    cell: Tensor  # [B, D] before the first position
    v_input: Tensor  # [4, r, D]
    u_hidden: Tensor  # [D, 4r]
    v_hidden: Tensor  # [4, r, D]
    bias: Tensor  # [r, 4D]
    scaled_input: Tensor  # [T, B, 4r] input_u * lambda
    state_u: Tensor  # [T, B, 4r] state of the position before @ u_hidden
    scaled_state: Tensor  # [T, B, 4r] state_u * lambda
    gates: Tensor  # [4, T, B, D] after their sigmoid or tanh
    states: Tensor  # [T, B, D]
    cells: Tensor  # [T, B, D]
    cell_tanhs: Tensor  # [T, B, D] tanh of the cells

    @property
    def scale(self) -> Tensor:
        """The coefficients, once for each gate, [B, 4, r]."""
        return self.lam[:, None].expand(-1, 4, -1).to(self.scaled_input.dtype)


def _through_time(
    run: _Run, of_states: Tensor | None, of_cells: Tensor | None
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Go back through the recurrence, from the last position to the first.

    Args:
        run: the forward pass.
        of_states: [T, B, D], None where the loss does not depend on the states.
        of_cells: [T, B, D] likewise.

    Returns:
        Gradients of the gates before their sigmoid or tanh [4, T, B, D], of `state_u` [T, B, 4r], of lambda through
        the states, gate by gate [4, B, r], and of the first state and cell [B, D].
    """
    (_, steps, rows, _), rank = run.gates.shape, run.lam.shape[1]
    of_gates, of_state_u = torch.empty_like(run.gates), torch.empty_like(run.state_u)
    of_lam = run.lam.new_zeros(4, rows, rank)
    dh, dc = torch.zeros_like(run.hidden), torch.zeros_like(run.cell)  # [B, D] of the position's state and cell
    scale, to_rank, to_width = run.scale, run.v_hidden.mT, run.u_hidden.mT
    for t in reversed(range(steps)):
        if of_states is not None:
            dh = dh + of_states[t]
        if of_cells is not None:
            dc = dc + of_cells[t]
        (i, j, f, o), cell_tanh = run.gates[:, t], run.cell_tanhs[t]
        earlier = run.cells[t - 1] if t else run.cell
        dc = dc + _tanh_backward(dh * o, cell_tanh)
        of_step = of_gates[:, t]  # [4, B, D], a view
        of_step[0], of_step[1] = _sigmoid_backward(dc * j, i), _tanh_backward(dc * i, j)
        of_step[2], of_step[3] = _sigmoid_backward(dc * earlier, f), _sigmoid_backward(dh * cell_tanh, o)
        dc = dc * f
        of_scaled = of_step.to(scale.dtype).bmm(to_rank)  # [4, B, r]
        of_lam.addcmul_(of_scaled, run.state_u[t].view(rows, 4, rank).transpose(0, 1))
        torch.mul(of_scaled.transpose(0, 1), scale, out=of_state_u[t].view(rows, 4, rank))
        dh = (of_state_u[t] @ to_width).to(dh.dtype)
    return of_gates, of_state_u, of_lam, dh, dc


def _through_inputs(run: _Run, of_gates: Tensor, of_lam: Tensor) -> Tensor:
    """Return the gradient of `input_u`, [T, B, 4r]; add that of lambda through the inputs to `of_lam`, [4, B, r].

    Args:
        run: the forward pass.
        of_gates: [4, T*B, D] before their sigmoid or tanh.
        of_lam: [4, B, r], changed in place.
    """
    steps, rows, _ = run.input_u.shape
    of_scaled = of_gates.bmm(run.v_input.mT).view(4, steps, rows, -1)  # [4, T, B, r]
    of_input_u = torch.empty_like(run.input_u)
    of_input_u_by_gate = of_input_u.view(steps, rows, 4, -1)
    input_u_by_gate = run.input_u.view(steps, rows, 4, -1)
    for t in range(steps):
        of_lam.addcmul_(of_scaled[:, t], input_u_by_gate[t].transpose(0, 1))
        torch.mul(of_scaled[:, t].transpose(0, 1), run.scale, out=of_input_u_by_gate[t])
    return of_input_u


_sigmoid_backward = torch.ops.aten.sigmoid_backward.default
_tanh_backward = torch.ops.aten.tanh_backward.default


def _by_gate(values: Tensor) -> Tensor:
    """[T, B, 4r] -> [4, T*B, r], without a copy."""
    steps, rows, wide = values.shape
    return values.view(steps * rows, 4, wide // 4).transpose(0, 1)


def orthogonal_columns(rows: int, columns: int) -> Tensor:
    """Draw a random matrix of unit columns, [rows, columns].

    Up to `rows` columns it has orthonormal columns. For more columns, as in the released code for r = 2D, several such
    matrices stand side by side, so that no rank-1 part starts smaller than the others.
    """
    blocks = [torch.empty(rows, min(rows, columns - at)) for at in range(0, columns, rows)]
    return torch.cat([torch.nn.init.orthogonal_(block) for block in blocks], dim=1)
