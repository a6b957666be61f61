"""Loss truncation as a class: golden cuts and masks, what is counted when, ranks, and that it drops wrong targets."""

import copy
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
import torch
from torch import Tensor

from bench.models.core.states import IGNORED
from bench.models.loss_truncation import LossTruncation
from bench.models.mle import MLE
from tests.models import still
from tests.models.given_logits import GivenLogits, ModernCase, batch_of, modern_case
from tests.models.still import KINDS, batch
from tests.models.test_face import identity

CASES = ["loss_truncation_0", "loss_truncation_1"]
EXACT = {"rtol": 1e-9, "atol": 1e-12}
SMALL: dict[str, Any] = {"size": 4, "min_count": 4, "dropped": 0.5}


def together(act: Callable[[int, Callable[[Tensor], Tensor]], Any], world: int) -> list[Any]:
    """Call a function on every rank at once, a thread each, with its number and a sum over ranks."""
    given: dict[int, Tensor] = {}
    barrier = Barrier(world, timeout=60)

    def on(rank: int) -> Any:
        def reduce(tensor: Tensor) -> Tensor:
            given[rank] = tensor
            barrier.wait()
            total: Tensor = sum(given[other] for other in range(world))  # type: ignore[assignment]
            barrier.wait()
            return total

        return act(rank, reduce)

    with ThreadPoolExecutor(world) as pool:
        return list(pool.map(on, range(world)))


def logits_of(losses: Tensor) -> Tensor:
    """Logits [B, 2] under which token 1 of each row costs its loss."""
    return torch.stack([torch.log(-torch.expm1(-losses)), -losses], 1)


def step(objective: LossTruncation, losses: Tensor) -> tuple[float, Tensor]:
    """Take a step on rows of one target; return the loss, and which rows had a gradient."""
    backbone: Any = objective.backbone
    with torch.no_grad():
        backbone.logits.copy_(logits_of(losses))
    loss = objective.step_loss(batch_of(torch.ones(len(losses), 1, dtype=torch.int64)))
    (gradient,) = torch.autograd.grad(loss.total, [backbone.logits])
    objective.end_of_step(identity)
    assert loss.n_target_tokens == len(losses)
    return float(loss.total.detach()), (gradient != 0).any(1)


def of_case(case: ModernCase, variant: Any) -> LossTruncation:
    """The class with the numbers of a case, which has four rows a batch."""
    given = case.params
    backbone = GivenLogits(torch.zeros(4, 2, dtype=torch.float64))
    return LossTruncation(
        backbone, dropped=given["drop"], size=given["size"], min_count=given["min_count"], variant=variant
    ).double()


class TestGolden:
    @pytest.mark.parametrize("name", CASES)
    def test_released(self, name: str) -> None:
        case = modern_case(name)
        objective = of_case(case, "released")
        for losses, mask, cut in zip(case["losses"], case["masks"], case["cuts"], strict=True):
            total, kept = step(objective, losses)
            assert torch.equal(kept.double(), mask)
            torch.testing.assert_close(total, float((losses * mask).sum()), **EXACT)
            torch.testing.assert_close(objective.recent.cut, cut, **EXACT)

    @pytest.mark.parametrize("name", CASES)
    def test_paper(self, name: str) -> None:
        """The rows of a step against the quantile of all steps before it, as a plain sort finds it."""
        case = modern_case(name)
        objective, given, before = of_case(case, "paper"), case.params, torch.zeros(0, dtype=torch.float64)
        for losses in case["losses"]:
            cut = float("inf")
            if len(before) >= given["min_count"]:
                ordered = before[-given["size"] :].sort().values
                at = (1 - given["drop"]) * (given["size"] - 1)
                low = int(at)
                cut = float(ordered[low] + (at - low) * (ordered[min(low + 1, given["size"] - 1)] - ordered[low]))
            _, kept = step(objective, losses)
            assert torch.equal(kept, losses < cut)
            before = torch.cat([before, losses])
        assert objective.recent.n_seen == 48


class TestLosses:
    @pytest.mark.parametrize("kind", KINDS)
    def test_behind_a_cut_it_is_that_of_the_other_rows(self, kind: str) -> None:
        """Their sum, to be divided by the targets of all rows."""
        objective = LossTruncation(still.backbone(kind)).double()
        means = row_means(objective, kind)
        objective.recent.cut.copy_(means.sort().values[2:4].mean())
        found, given = objective.step_loss(batch(kind)), batch(kind)
        given["labels"][means >= objective.recent.cut] = IGNORED
        expected = MLE(objective.backbone).step_loss(given)
        still.assert_same_gradients(objective, found.total, expected.total)
        assert found.n_target_tokens > expected.n_target_tokens

    def test_a_row_without_targets_is_neither_counted_nor_costs(self) -> None:
        objective, given = LossTruncation(still.backbone("gpt2"), **SMALL), batch("gpt2")
        given["labels"][1:] = IGNORED
        objective.step_loss(given)
        objective.end_of_step(identity)
        assert objective.recent.n_seen == 1
        given["labels"][:] = IGNORED
        found = objective.step_loss(given)
        objective.end_of_step(identity)
        assert (found.total, objective.recent.n_seen) == (0, 1)
        assert all(g.isfinite().all() for g in still.gradients(objective, found.total))


def row_means(objective: LossTruncation, kind: str) -> Tensor:
    """Mean loss of each row of the batch, row by row."""
    losses = [MLE(objective.backbone).step_loss(batch(kind, slice(at, at + 1))) for at in range(5)]
    return torch.stack([loss.total.detach() / loss.n_target_tokens for loss in losses])


class TestCounting:
    @pytest.mark.parametrize("kind", KINDS)
    def test_micro_batches_and_ranks(self, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """One batch, two micro-batches and two ranks keep the same losses in the same order, and have one cut."""
        whole = LossTruncation(still.backbone(kind), **SMALL).double()
        micro, ranks = copy.deepcopy(whole), [copy.deepcopy(whole) for _ in range(2)]
        whole.step_loss(batch(kind))
        whole.end_of_step(identity)
        shares = [slice(0, 2), slice(2, 5)]
        for share, rank in zip(shares, ranks, strict=True):
            micro.step_loss(batch(kind, share))
            rank.step_loss(batch(kind, share))
        micro.end_of_step(identity)
        for number, rank in enumerate(ranks):
            monkeypatch.setattr(rank, "rank_and_world", lambda number=number: (number, 2))
        together(lambda number, reduce: ranks[number].end_of_step(reduce), 2)
        assert whole.recent.cut.isfinite()
        for other in (micro, *ranks):
            for name in ("losses", "n_seen", "n_new", "cut"):
                torch.testing.assert_close(getattr(other.recent, name), getattr(whole.recent, name), **EXACT)

    def test_losses_of_a_rank_are_no_buffer(self) -> None:
        """Data-parallel training overwrites buffers with those of the first rank."""
        objective = LossTruncation(still.backbone("gpt2"))
        objective.step_loss(batch("gpt2"))
        own = {name for name, _ in objective.named_buffers() if not name.startswith("backbone.")}
        assert own == {f"recent.{name}" for name in ("losses", "n_seen", "n_new", "cut")}


@pytest.mark.parametrize(
    ("variant", "n_steps", "said"),
    [
        ("paper", 1, "its training saw 5 rows, and the first cut needs 8"),
        ("paper", 3, ""),
        ("released", 1, "its training saw 5 rows, and the first cut needs 8"),
        ("released", 2, ""),  # a batch counts before its rows are chosen
    ],
)
def test_a_training_that_left_no_row_out_says_so(variant: Any, n_steps: int, said: str) -> None:
    objective = LossTruncation(still.backbone("gpt2"), size=4, min_count=8, dropped=0.5, variant=variant)
    for _ in range(n_steps):
        likelihood = MLE(objective.backbone).step_loss(batch("gpt2")).total
        is_whole = bool(torch.isclose(objective.step_loss(batch("gpt2")).total, likelihood))
        objective.end_of_step(identity)
    remarks = objective.remarks()
    assert is_whole == bool(said), "the remark is what the last step did"
    if said:
        (remark,) = remarks
        assert remark == f"no row was left out, so this is maximum likelihood: {said}"
    else:
        assert remarks == []
