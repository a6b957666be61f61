"""UL-token: golden vectors, gradients, repeats, options; test_ul_seq.py has the golden sequences."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch

from bench.errors import UsageError
from bench.models.core.states import IGNORED
from bench.models.functional.unlikelihood import repeated, unlikelihood
from bench.models.ul_token import ULToken
from tests.bench.generation.tiny_decoders import END
from tests.models import still
from tests.models.given_logits import GivenLogits, batch_of
from tests.models.still import batch

FOLDER = Path(__file__).parents[1] / "golden" / "unlikelihood"
TOKEN_FLOOR, SEQUENCE_FLOOR = 1e-5, 1e-20
EXACT = {"rtol": 1e-9, "atol": 1e-12}


def cases(prefix: str) -> list[str]:
    return sorted(path.stem for path in FOLDER.glob(f"{prefix}*.json"))


def load(name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    case = json.loads((FOLDER / f"{name}.json").read_text())
    return case["inputs"], case["outputs"]


class TestGradient:
    @pytest.mark.parametrize("clamped", [False, True])
    def test_a_token_that_is_ruled_out(self, clamped: bool) -> None:
        """A head may give a token -inf: it costs nothing, and no gradient is nan."""
        logits = torch.tensor([[0.5, -math.inf, 0.2]], requires_grad=True)
        loss = unlikelihood(logits[:, :2], logits.logsumexp(1), TOKEN_FLOOR, clamped=clamped)
        (found,) = torch.autograd.grad(loss.sum(), logits)
        assert loss[0, 1] == 0
        assert found.isfinite().all()


class TestRepeated:
    @pytest.mark.parametrize("seed", range(20))
    def test_plain_loop(self, seed: int) -> None:
        generator = torch.Generator().manual_seed(seed)
        n = 1 + seed % 4
        tokens = torch.randint(0, 3, (12,), generator=generator).tolist()
        expected = [False] * len(tokens)
        for start in range(len(tokens) - n + 1):
            if any(tokens[before : before + n] == tokens[start : start + n] for before in range(start)):
                for place in range(start, start + n):
                    expected[place] = True
        assert repeated(tokens, n) == expected
        assert repeated(tokens, n, last=False) == [*repeated(tokens[:-1], n), False]


class TestGolden:
    @pytest.mark.parametrize(
        ("variant", "key"), [("paper", "paper"), ("released", "per_row_with_pad"), ("f2_code", "loss")]
    )
    @pytest.mark.parametrize("name", cases("ul_token_f2"))
    def test_f2(self, name: str, variant: Any, key: str) -> None:
        """Rows apart; rows apart with padding as a candidate; the flattened batch with padding."""
        given, expected = load(name)
        ids, logits = torch.tensor(given["targets"]), torch.tensor(given["logits"], dtype=torch.float64)
        targets = ids.masked_fill(ids == given["pad"], IGNORED)
        objective = ULToken(GivenLogits(logits[(targets != IGNORED).flatten()], pad=given["pad"]), variant=variant)
        found = objective.step_loss(batch_of(targets))
        torch.testing.assert_close(float(found.total.detach() / found.n_target_tokens), expected[key], **EXACT)

    @pytest.mark.parametrize("name", ["ul_token_orig_allsame", "ul_token_orig_repeat"])
    def test_orig(self, name: str) -> None:
        """One row, without padding, which a class never sees."""
        given, expected = load(name)
        wanted = {"paper": expected["paper_mle_sum"] + expected["paper_ul_sum"], "released": expected["loss_sum"]}
        for variant, total in wanted.items():
            backbone = GivenLogits(torch.tensor(given["logits"], dtype=torch.float64), pad=given["pad"])
            found = ULToken(backbone, alpha=given["alpha"], variant=variant)  # type: ignore[arg-type]
            loss = found.step_loss(batch_of(torch.tensor([given["targets"]])))
            torch.testing.assert_close(float(loss.total.detach()), float(total), **EXACT)
            torch.testing.assert_close(float(loss.terms["mle"]), expected["mle_loss"], **EXACT)

    def test_padded_positions_of_orig(self) -> None:
        """Where padding is a target like any other, as in one flat row of the released code."""
        given, expected = load("ul_token_orig_pad")
        logits = torch.tensor(given["logits"], dtype=torch.float64)
        loss = ULToken(GivenLogits(logits), variant="paper").step_loss(batch_of(torch.tensor([given["targets"]])))
        torch.testing.assert_close(float(loss.terms["unlikelihood"]), expected["paper_ul_sum"], **EXACT)


class TestCertainty:
    def test_gradient_lives(self) -> None:
        """A repetition the model is certain of is pushed down; the released clamp leaves it alone."""
        logits = torch.zeros(3, 4, dtype=torch.float64)
        logits[2, 1] = 40.0
        for variant, wanted in (("paper", 2.0), ("released", 1.0)):  # one of these is maximum likelihood's own
            backbone = GivenLogits(logits)
            objective = ULToken(backbone, variant=variant)  # type: ignore[arg-type]
            objective.step_loss(batch_of(torch.tensor([[1, 2, 3]]))).total.backward()
            assert float(backbone.logits.grad[2, 1]) == pytest.approx(wanted, rel=1e-3)  # type: ignore[index]

    def test_value_is_bounded(self) -> None:
        logits = torch.zeros(2, 4)
        logits[1, 1] = 90.0
        found = ULToken(GivenLogits(logits)).step_loss(batch_of(torch.tensor([[1, 2]])))
        assert float(found.terms["unlikelihood"]) == pytest.approx(-math.log(1e-5), rel=1e-6)


class TestOptions:
    def test_joined_rows_cannot_copy(self) -> None:
        backbone = still.backbone("gpt2")
        backbone.copies = True  # type: ignore[misc]
        with pytest.raises(UsageError, match="f2_code joins the rows"):
            ULToken(backbone, variant="f2_code")

    @pytest.mark.parametrize("pad", [None, END])
    def test_no_padding_token(self, pad: int | None) -> None:
        """Then there is no padding to penalise; a model that pads with its end token has none either."""
        backbone = still.backbone("gpt2")
        backbone.model.config.pad_token_id = pad
        objective = ULToken(backbone, variant="released")
        expected = ULToken(backbone).step_loss(batch("gpt2")).total
        torch.testing.assert_close(objective.step_loss(batch("gpt2")).total, expected, **EXACT)
