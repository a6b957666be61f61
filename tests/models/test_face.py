"""FACE as a class: golden steps of all four forms, what is counted when, ranks, micro-batches.

The vectors come from the released code in float64 (`orig`) and from F2-Softmax's version of it (`f2code`), whose loss
is divided by all positions, padding included.
"""

import copy
import json
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from bench.models.core.states import IGNORED
from bench.models.face import FACE
from bench.models.functional.frequency_weights import counted, frequency_weights, overuse_weights, until_end
from tests.models import still
from tests.models.given_logits import GivenLogits, batch_of
from tests.models.still import KINDS, batch

FOLDER = Path(__file__).parents[1] / "golden" / "face"
CASES = sorted(path.stem for path in FOLDER.glob("*.json"))
EXACT = {"rtol": 1e-9, "atol": 1e-12}


def load(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text())
    return found


def steps(name: str) -> list[tuple[Tensor, Tensor, dict[str, Any]]]:
    """Logits [B, T, V], targets [B, T] and what is expected of each step."""
    case = load(name)
    found = []
    for given, expected in zip(case["inputs"]["steps"], case["outputs"]["steps"], strict=True):
        logits, targets = torch.tensor(given["logits"], dtype=torch.float64), torch.tensor(given["targets"])
        if targets.ndim == 1:
            logits, targets = logits[None], targets[None]
        found.append((logits, targets, expected))
    return found


def released_counts(name: str, logits: Tensor, targets: Tensor) -> Tensor:
    """What the released code counts of one batch."""
    given = load(name)["inputs"]
    if "f2code" in name:
        return counted(logits.argmax(-1), given["vocab"], [given["pad"]])
    tokens = targets if name.startswith("face_g") else logits.argmax(-1)
    return counted(until_end(tokens, [given["end"]], [given["start"]]), given["vocab"])


@pytest.mark.parametrize("frequency", [[0, 0, 0], [5, 5, 5], [1]])
def test_nothing_to_compare(frequency: list[int]) -> None:
    """Where the rule is 0/0, a step is a step of maximum likelihood."""
    assert frequency_weights(torch.tensor(frequency)).tolist() == [1.0] * len(frequency)


FORMS = ["opr", "opo", "gpr", "gpo"]
VARIANTS = ["paper", "released", "f2_code"]


def identity(tensor: Tensor) -> Tensor:
    """What reduces over one rank."""
    return tensor


def golden(name: str, variant: str, form: str = "", *, unseen: bool = False) -> list[tuple[Tensor, Tensor]]:
    """Loss and counts of the class after each golden step.

    Args:
        unseen: add by hand what the released codes count at padding, which the class never sees.
    """
    given, form = load(name)["inputs"], form or name.split("_")[1]
    special = {
        {"start": "bos", "end": "eos", "pad": "pad"}[key]: given[key] for key in ("start", "end", "pad") if key in given
    }
    frequency, found = torch.zeros(given["vocab"], dtype=torch.int64), []
    for logits, ids, _ in steps(name):
        real = ids != given["pad"]
        objective = FACE(GivenLogits(logits[real], **special), form=form, variant=variant)  # type: ignore[arg-type]
        objective.frequency += frequency
        if unseen and form[0] == "o":
            seen = logits.clone()
            seen[~real] = torch.eye(given["vocab"], dtype=logits.dtype)[given.get("end", given["pad"])]
            objective.pending = released_counts(name, logits, ids) - released_counts(name, seen, ids)
        total = objective.step_loss(batch_of(ids.masked_fill(~real, IGNORED))).total
        objective.end_of_step(identity)
        frequency = objective.frequency.clone()
        found.append((total.detach(), frequency))
    return found


class TestGolden:
    @pytest.mark.parametrize("name", CASES)
    def test_released(self, name: str) -> None:
        """Both released codes to the letter, once padding is counted for them."""
        variant, size = "f2_code" if "f2code" in name else "released", steps(name)[0][1].numel()
        for (total, frequency), (_, _, expected) in zip(golden(name, variant, unseen=True), steps(name), strict=True):
            assert frequency.tolist() == expected["word_freq"]
            wanted = expected["loss_sum"] if variant == "released" else expected["loss"] * size
            torch.testing.assert_close(float(total), wanted, **EXACT)

    @pytest.mark.parametrize("form", FORMS)
    @pytest.mark.parametrize("variant", VARIANTS)
    @pytest.mark.parametrize("name", CASES)
    def test_every_variant(self, name: str, variant: str, form: str) -> None:
        """Three golden steps against the functions, with nothing counted where there is no target."""
        given, frequency = load(name)["inputs"], torch.zeros(load(name)["inputs"]["vocab"], dtype=torch.int64)
        ends = [given["end"]] if "end" in given else []
        starts = [given["start"]] if "start" in given else []
        for (logits, ids, _), (total, counts) in zip(steps(name), golden(name, variant, form), strict=True):
            real = ids != given["pad"]
            said = (logits.argmax(-1) if form[0] == "o" else ids).masked_fill(~real, IGNORED)
            if variant == "released":
                new = counted(until_end(said, ends, starts), given["vocab"])
            else:
                new = counted(said, given["vocab"], [given["pad"]] if variant == "f2_code" else ends)
            known = frequency if variant == "paper" else frequency + new
            predicted, targets = logits.argmax(-1)[real], ids[real]
            weights = (
                overuse_weights(known, predicted, targets) if form[1:] == "po" else frequency_weights(known)[targets]
            )
            nll = -logits[real].log_softmax(-1).gather(1, targets[:, None]).squeeze(1)
            torch.testing.assert_close(float(total), float((weights * nll).sum()), **EXACT)
            frequency = frequency + new
            assert torch.equal(counts, frequency)


def made(kind: str, seed: int = 0, **options: Any) -> FACE:
    """In training mode, where it counts, without dropout."""
    return FACE(still.backbone(kind, seed), **options)


def warmed(objective: FACE) -> FACE:
    """The same with a frequency table, so that weights are not all 1."""
    size = len(objective.frequency)
    objective.frequency.copy_(torch.randint(0, 9, (size,), generator=torch.Generator().manual_seed(3)))
    return objective


class TestCounting:
    @pytest.mark.parametrize("variant", VARIANTS)
    def test_evaluation_does_not_count(self, variant: str) -> None:
        objective = warmed(made("gpt2", variant=variant)).eval()
        before = objective.frequency.clone()
        with torch.no_grad():
            first = objective.step_loss(batch("gpt2")).total
            second = objective.step_loss(batch("gpt2")).total
        objective.end_of_step(identity)
        assert first == second
        assert torch.equal(objective.frequency, before)

    @pytest.mark.parametrize("variant", VARIANTS)
    def test_evaluation_takes_one_pass_over_the_head(self, variant: str, monkeypatch: pytest.MonkeyPatch) -> None:
        objective = warmed(made("gpt2", variant=variant)).eval()
        monkeypatch.setattr(objective, "logits", lambda tokens: pytest.fail("a second pass"))
        objective.loss(objective.states(batch("gpt2")))


class TestSteps:
    @pytest.mark.parametrize("form", FORMS)
    @pytest.mark.parametrize("kind", KINDS)
    def test_micro_batches_and_ranks(self, kind: str, form: str) -> None:
        """One batch, two micro-batches and two ranks: the same loss, and the same counts afterwards."""
        objective = warmed(made(kind, form=form))
        whole = objective.step_loss(batch(kind)).total
        micro, ranks = copy.deepcopy(objective), [copy.deepcopy(objective) for _ in range(2)]
        for one in (micro, *ranks):
            one.pending = None
        shares = [slice(0, 2), slice(2, 5)]
        in_micro = sum(micro.step_loss(batch(kind, share)).total for share in shares)
        torch.testing.assert_close(in_micro, whole, **EXACT)
        in_ranks = [one.step_loss(batch(kind, share)).total for one, share in zip(ranks, shares, strict=True)]
        torch.testing.assert_close(sum(in_ranks), whole, **EXACT)
        parts = [one.pending for one in ranks]
        for one in ranks:
            one.end_of_step(lambda tensor: parts[0] + parts[1])  # type: ignore[operator]
        objective.end_of_step(identity)
        micro.end_of_step(identity)
        for one in (micro, *ranks):
            assert torch.equal(one.frequency, objective.frequency)
