"""Losses on plain tensors: an objective as a function of states, the weight of a head and tokens.

    from bench import losses
    loss = losses.histalign(hidden, weight, input_ids, labels, alpha=0.5)

A function has the name of its method in `bench list methods`, and its options are those of the method. A variant is
set by its options, or named: `losses.loss_of("tailr.dft", hidden, weight, input_ids)`. The loss is that of `bench run`,
slice by slice, without a tensor of [B, T, V]. Equations are in the docstring of each function, and the terms that they
are made of in `bench.models.functional`. Parameters and counts of a method's own are arguments, too. Losses over texts
that the model writes need a model (`bench.attach`), and AdaDec and its baselines are models themselves (`bench run`).
"""

import inspect
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor

from bench.config.resolve import find_method
from bench.errors import UsageError
from bench.models import METHODS
from bench.models.backbones.backbone import Batch, LinearHead
from bench.models.backbones.causal import Causal
from bench.models.core.objective import Objective
from bench.models.core.run_context import RunContext
from bench.models.core.sliced_loss import LossSum
from bench.models.core.states import IGNORED
from bench.models.mle import MLE

SHAPES = """Mean loss of the target tokens, in nats, with its gradients.

Shapes: B rows, T tokens of a row, D width of a state, V vocabulary.

Args:
    hidden: `[B, T, D]` the state behind every token, which the head turns into logits of the next token.
    weight: `[V, D]` of the head.
    input_ids: `[B, T]` int64.
    labels: `[B, T]` int64, the tokens that carry a loss, else -100; not shifted. By default all real tokens.
    attention_mask: `[B, T]`, 1 for a real token; all by default.
    bias: `[V]` of the head, or None.
    embedding: `[V, D]` of the input, where it is not the weight of the head.
    reference: `hidden` and `weight` of the frozen model that `gold` and `asft` read.
    token_counts: `[V]` how often each token is a target of the training data, for `f2softmax` and the like.
    state: tensors by name, for methods with parameters or running values of their own; without it, the error names
        them with their shapes. Parameters get gradients; running values, such as `frequency` of `face`, are only
        read: the caller changes them after a step.
    options: of the method, below.

Raises:
    UsageError: the method or an option is unknown, or shapes do not fit.

The objective, of the next token at each position; a memory, where there is one, has the states of earlier positions,
each with the token that follows it, and sim(a, b) = a . b / sqrt(D):

{equations}

{doc}"""


class TensorModel(Causal):
    """States that were computed before, as a backbone."""

    def __init__(self, hidden: Tensor, weight: Tensor, bias: Tensor | None, embedding: Tensor | None) -> None:
        head, table = LinearHead(weight, bias), SimpleNamespace(weight=weight if embedding is None else embedding)
        super().__init__(SimpleNamespace(get_output_embeddings=lambda: head, get_input_embeddings=lambda: table), None)
        self.states_behind, self.parts = hidden, head

    def hidden(self, batch: Batch) -> Tensor:
        return self.states_behind

    def head(self, hidden: Tensor) -> Tensor:
        return torch.nn.functional.linear(hidden, self.parts.weight, self.parts.bias)

    def linear_head(self) -> LinearHead:
        return self.parts

    def head_parameters(self) -> list[Any]:
        return [part for part in (self.parts.weight, self.parts.bias) if part is not None]


def loss_of(
    method: str,
    hidden: Tensor,
    weight: Tensor,
    input_ids: Tensor,
    labels: Tensor | None = None,
    attention_mask: Tensor | None = None,
    *,
    bias: Tensor | None = None,
    embedding: Tensor | None = None,
    reference: tuple[Tensor, Tensor] | None = None,
    token_counts: Tensor | None = None,
    state: Mapping[str, Tensor] | None = None,
    **options: Any,
) -> Tensor:
    """The loss of a method by its name; `losses.mle` and the like are this function."""
    if weight.dim() != 2 or input_ids.dim() != 2:
        raise UsageError(
            f"expected weight [V, D] and input_ids [B, T], got {list(weight.shape)} and {list(input_ids.shape)}"
        )
    if isinstance(reference, Tensor):
        raise UsageError("expected reference=(hidden, weight) of the frozen model, got one tensor")
    tokens, (size, width) = tuple(input_ids.shape), weight.shape
    check_shape("hidden", hidden, (*tokens, width))
    check_shape("embedding", embedding, (size, width))
    for name, tensor in (("labels", labels), ("attention_mask", attention_mask)):
        check_shape(name, tensor, tokens)
    check_shape("bias", bias, (size,))
    if attention_mask is None:
        attention_mask = torch.ones_like(input_ids)
    if labels is None:
        labels = input_ids.masked_fill(attention_mask == 0, IGNORED)
    with torch.random.fork_rng(devices=[]):  # parameters are drawn and then replaced by those of `state`
        objective = over_tensors(method, TensorModel(hidden, weight, bias, embedding), options)
        if objective.uses_token_counts and token_counts is not None:
            check_shape("token_counts", token_counts, (size,))
            objective.prepare(token_counts.cpu())
    objective.to(hidden.device)
    for needed, given, what in (
        (objective.reference, reference, "frozen model: reference=(hidden, weight)"),
        (objective.uses_token_counts, token_counts, "counts: token_counts=[V]"),
    ):
        if bool(needed) != (given is not None):
            raise UsageError(f"'{method}' {'needs' if needed else 'reads no'} {what}")
    objective.setup_run(RunContext(reference=frozen_model(reference, tokens, size)))
    batch: Batch = {"input_ids": input_ids, "labels": labels, "attention_mask": attention_mask}
    values = checked_state(method, objective, state or {})
    summed = torch.func.functional_call(Step(objective.train()), values, (batch,))
    return summed.total / summed.n_target_tokens.clamp(min=1)


def frozen_model(reference: tuple[Tensor, Tensor] | None, tokens: tuple[int, ...], size: int) -> MLE | None:
    """Return the frozen model of `reference`, whose states and weight have shapes that fit, or None for none."""
    if reference is None:
        return None
    states, head = (tensor.detach() for tensor in reference)
    check_shape("the states of reference", states, (*tokens, head.shape[-1]))
    check_shape("the weight of reference", head, (size, head.shape[-1]))
    return MLE(TensorModel(states, head, None, None))


class Step(torch.nn.Module):
    """The loss of a step as a call, which `functional_call` makes with other parameters and buffers."""

    def __init__(self, objective: Objective) -> None:
        super().__init__()
        self.objective = objective

    def forward(self, batch: Batch) -> LossSum:
        return self.objective.step_loss(batch)


def over_tensors(method: str, model: TensorModel, options: Mapping[str, Any]) -> Objective:
    """Return the objective of a method, or raise a UsageError where its loss needs a model."""
    found = find_method(method)
    if not issubclass(found.kind, Objective) or found.own_backbone or found.untrained:
        raise UsageError(f"'{method}' has no loss over the states of another model: use bench run")
    objective = found.objective(model, **options)
    if objective.writes_texts:
        raise UsageError(
            f"the loss of '{method}' needs a model that reads or writes texts: use bench.attach or bench run"
        )
    return objective


def checked_state(method: str, objective: Objective, state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return tensors for the parameters and buffers of a method; refuse other names and shapes by a UsageError."""
    own = {name: tuple(tensor.shape) for name, tensor in objective.state_dict().items() if name != "counts"}
    if own != {name: tuple(tensor.shape) for name, tensor in state.items()}:
        names = ", ".join(f"'{name}' {list(shape)}" for name, shape in own.items()) or "no tensors"
        given = ", ".join(f"'{name}' {list(tensor.shape)}" for name, tensor in state.items()) or "no tensors"
        raise UsageError(f"'{method}' expects in state: {names}; got {given}")
    return {f"objective.{name}": tensor for name, tensor in state.items()}


def check_shape(name: str, tensor: Tensor | None, shape: tuple[int, ...]) -> None:
    """Refuse a tensor of another shape by a UsageError that names both."""
    if tensor is not None and (not isinstance(tensor, Tensor) or tuple(tensor.shape) != shape):
        got = list(tensor.shape) if isinstance(tensor, Tensor) else type(tensor).__name__
        raise UsageError(f"expected {name} of the shape {list(shape)}, got {got}")


def __getattr__(name: str) -> Callable[..., Tensor]:
    """Return the loss of a method."""
    if name not in METHODS or METHODS[name].baseline:
        raise AttributeError(f"no loss '{name}'; expected one of dir(bench.losses), or loss_of(a variant, ...)")

    def loss(*tensors: Tensor, **options: Any) -> Tensor:
        return loss_of(name, *tensors, **options)

    loss.__name__ = loss.__qualname__ = name
    kind = find_method(name).kind
    equations = "\n".join(f"    {line}" for line in kind.equations)
    loss.__doc__ = SHAPES.format(equations=equations, doc=inspect.getdoc(kind))
    loss.__signature__ = inspect.signature(partial(loss_of, name))  # type: ignore[attr-defined]
    return loss


def __dir__() -> list[str]:
    model, names = TensorModel(torch.zeros(1, 1, 1), torch.zeros(2, 1), None, None), []
    with torch.random.fork_rng(devices=[]):  # some objectives draw weights
        for name in METHODS:
            with suppress(UsageError):
                over_tensors(name, model, {})
                names.append(name)
    return names
