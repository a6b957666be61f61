"""models/functional/class_head.py: golden vectors, and the fast loss against autograd through the whole posterior."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from bench.models.functional import class_head as module
from bench.models.functional.class_head import (
    ClassHead,
    class_head_loss,
    class_log_probs,
    posterior_log_probs,
)

FOLDER = Path(__file__).parents[2] / "golden" / "f2"
CASES = sorted(path.stem for path in FOLDER.glob("f2_*.json"))
SIZES = (1, 3, 2, 14)
EXACT = {"rtol": 1e-10, "atol": 1e-10}
GOLDEN = {"rtol": 0, "atol": 1e-9}


def golden(name: str) -> tuple[Tensor, Tensor, ClassHead, dict[str, Any]]:
    """States, targets, head and outputs of a case; its ids are ranks."""
    case = json.loads((FOLDER / f"{name}.json").read_text())
    given = case["inputs"]
    ends = torch.tensor([0, *given["cutoffs"], given["vocab"]])
    weights = numbers(given["out_embed_T"]).T, numbers(given["class_weight"])
    head = ClassHead(*weights, sizes=tuple(ends.diff().tolist()))
    return numbers(given["x"]), torch.tensor(given["y"]), head, {**case["outputs"], "pad": given["pad"]}


def numbers(values: Any) -> Tensor:
    return torch.tensor([[float(v) for v in row] for row in values], dtype=torch.float64)


def random_case(
    biases: bool = True, n: int = 40, width: int = 5, dtype: torch.dtype = torch.float64
) -> tuple[Tensor, Tensor, ClassHead]:
    """States, targets by rank and a head whose parameters want gradients; class 2 is never a target."""
    generator = torch.Generator().manual_seed(0)

    def draw(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, dtype=dtype).requires_grad_()

    tokens, classes = sum(SIZES), len(SIZES)
    bias = (draw(tokens), draw(classes)) if biases else (None, None)
    head = ClassHead(draw(tokens, width), draw(classes, width), SIZES, *bias)
    ranks = torch.tensor([0, 1, 2, 3, *range(6, tokens)])
    return draw(n, width), ranks[torch.randint(len(ranks), (n,), generator=generator)], head


def leaves(hidden: Tensor, head: ClassHead) -> list[Tensor]:
    found = (hidden, head.token_weight, head.class_weight, head.token_bias, head.class_bias)
    return [tensor for tensor in found if tensor is not None]


def plain(hidden: Tensor, ranks: Tensor, head: ClassHead) -> Tensor:
    return -posterior_log_probs(hidden, head).gather(1, ranks[:, None]).sum()


class TestGolden:
    @pytest.mark.parametrize("name", CASES)
    def test_distributions(self, name: str) -> None:
        hidden, _, head, expected = golden(name)
        posterior, first = posterior_log_probs(hidden, head), class_log_probs(hidden, head)
        torch.testing.assert_close(posterior, numbers(expected["log_posterior"]), **GOLDEN)
        torch.testing.assert_close(first, numbers(expected["class_log_prob"]), **GOLDEN)
        for c, (start, stop) in enumerate(head.spans):
            second = numbers([row[c] for row in expected["log_p2_by_class"]])
            torch.testing.assert_close(posterior[:, start:stop] - first[:, c : c + 1], second, **GOLDEN)

    @pytest.mark.parametrize("name", CASES)
    def test_loss(self, name: str) -> None:
        hidden, ranks, head, expected = golden(name)
        for at, nll in enumerate(expected["nll_per_token_incl_pad"]):
            total, terms = class_head_loss(hidden[at : at + 1], ranks[at : at + 1], head)
            assert total.item() == pytest.approx(nll, abs=1e-9)
            assert float(terms["class"] + terms["token"]) == pytest.approx(nll, abs=1e-9)
        real = ranks != expected["pad"]
        total, _ = class_head_loss(hidden[real], ranks[real], head)
        assert total.item() / int(real.sum()) == pytest.approx(expected["loss"], abs=1e-9)


class TestLoss:
    @pytest.mark.parametrize("rows", [1, 3, 256])
    @pytest.mark.parametrize("biases", [False, True])
    def test_value_and_every_gradient(self, biases: bool, rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
        """The last class is also cut into slices, and one class has no target; a NaN left in a buffer would be seen."""
        monkeypatch.setattr(module, "SLICE", rows)
        hidden, ranks, head = random_case(biases)
        expected = plain(hidden, ranks, head)
        wanted = torch.autograd.grad(expected, leaves(hidden, head))
        with filled_with_nan():
            total, terms = class_head_loss(hidden, ranks, head)
            found = torch.autograd.grad(total, leaves(hidden, head))
        torch.testing.assert_close(total, expected, **EXACT)
        of_class = -class_log_probs(hidden, head).gather(1, head.classes(ranks)[:, None]).sum()
        torch.testing.assert_close(terms["class"], of_class.detach(), **EXACT)
        torch.testing.assert_close(terms["class"] + terms["token"], total.detach(), **EXACT)
        assert not terms["class"].requires_grad
        for gradient, right in zip(found, wanted, strict=True):
            torch.testing.assert_close(gradient, right, **EXACT)

    def test_float64_is_not_lowered_by_autocast(self) -> None:
        hidden, ranks, head = random_case()
        expected, _ = class_head_loss(hidden, ranks, head)
        with torch.autocast("cpu", torch.bfloat16):
            found, _ = class_head_loss(hidden, ranks, head)
        torch.testing.assert_close(found, expected, **EXACT)


class Made(TorchDispatchMode):
    """Notes the elements of every tensor that is made, and may fill memory that is not written with NaN."""

    def __init__(self, fill: bool = False) -> None:
        super().__init__()
        self.fill, self.elements = fill, list[int]()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = {a.untyped_storage().data_ptr() for a in args if isinstance(a, Tensor)}
        out = func(*args, **(kwargs or {}))
        if isinstance(out, Tensor) and ("empty" in str(func) or out.untyped_storage().data_ptr() not in given):
            self.elements.append(out.numel())
            if self.fill and "empty" in str(func) and out.is_floating_point():
                out.fill_(torch.nan)
        return out


@contextmanager
def filled_with_nan() -> Iterator[Made]:
    with Made(fill=True) as made:
        yield made


class TestMemory:
    def test_one_gradient_and_one_buffer(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """500 positions over 2,000 tokens in 4 classes: no table of scores, and the weight's gradient is made once."""
        monkeypatch.setattr(module, "SLICE", 16)
        generator = torch.Generator().manual_seed(0)
        token_weight = torch.randn(2000, 8, generator=generator).requires_grad_()
        class_weight = torch.randn(4, 8, generator=generator).requires_grad_()
        hidden = torch.randn(500, 8, generator=generator).requires_grad_()
        head = ClassHead(token_weight, class_weight, (100, 300, 600, 1000))
        ranks = torch.randint(2000, (500,), generator=generator)
        with Made() as made:
            class_head_loss(hidden, ranks, head)[0].backward()
        assert max(made.elements) == 16 * 2000
        assert sum(size == 2000 * 8 for size in made.elements) == 1
        assert sum(size > 1000 * 8 for size in made.elements) == 2
