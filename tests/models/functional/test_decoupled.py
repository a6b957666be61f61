"""Decoupled decoding: golden posteriors, eq. 7 spelled out, and what the base objective does with it."""

import itertools
import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from bench.models.functional.decoupled import decoupled_log_probs

FOLDER = Path(__file__).parents[2] / "golden" / "f2"
CASES = sorted(path.stem for path in FOLDER.glob("f2_*.json"))


def load(name: str) -> tuple[Tensor, Tensor, dict[str, Any]]:
    """Log posterior [n, V], class of each token [V] and the rest of a golden case."""
    case = json.loads((FOLDER / f"{name}.json").read_text())
    boundaries = torch.tensor(case["inputs"]["cutoffs"])
    classes = torch.bucketize(torch.arange(case["inputs"]["vocab"]), boundaries, right=True)
    return tensor(case["outputs"]["log_posterior"]), classes, case["outputs"]


def tensor(values: Any) -> Tensor:
    """Numbers of a golden file, in which infinities are texts."""
    return torch.tensor([[float(value) for value in row] for row in values], dtype=torch.float64)


def by_hand(log_probs: Tensor, classes: Tensor, k: int = 0, p: float = 1.0) -> Tensor:
    """Eq. 7 with the class drawn from p1: token by token, in probabilities."""
    result = torch.zeros_like(log_probs)
    for row, probs in enumerate(log_probs.exp()):
        for c in classes.unique():
            tokens = (classes == c).nonzero().squeeze(1)
            mass = float(probs[tokens].sum())
            ranked = sorted(tokens.tolist(), key=lambda token: -float(probs[token]))
            before = [0.0, *itertools.accumulate(float(probs[token]) / mass for token in ranked)]
            inside = [t for i, t in enumerate(ranked) if (not k or i < k) and before[i] < p]
            share = sum(float(probs[t]) for t in inside)
            for token in inside:
                result[row, token] = mass * float(probs[token]) / share
    return result.log()


def random_case(rows: int = 5, vocabulary: int = 60, seed: int = 0) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    log_probs = (3 * torch.randn(rows, vocabulary, generator=generator, dtype=torch.float64)).log_softmax(1)
    return log_probs, torch.randint(0, 6, (vocabulary,), generator=generator)


class TestGolden:
    @pytest.mark.parametrize("name", CASES)
    def test_nothing_cut(self, name: str) -> None:
        """The mixture over all classes is the posterior."""
        log_probs, classes, _ = load(name)
        torch.testing.assert_close(decoupled_log_probs(log_probs, classes), log_probs, rtol=0, atol=1e-12)

    @pytest.mark.parametrize("name", CASES)
    def test_greedy(self, name: str) -> None:
        """The authors' deterministic mode with k = 1: the most probable class, then its best token."""
        log_probs, classes, expected = load(name)
        found = decoupled_log_probs(log_probs, classes, greedy=True)
        assert found.argmax(1).tolist() == expected["greedy_decoupled_token"]
        assert log_probs.argmax(1).tolist() == expected["greedy_posterior_token"]
        within = tensor(expected["hard_argmaxclass_logits_k1"]).log_softmax(1)
        torch.testing.assert_close(found, within, rtol=0, atol=1e-12)

    @pytest.mark.parametrize("name", CASES)
    @pytest.mark.parametrize("cut", [{"k": 1}, {"k": 3}, {"p": 0.5}, {"p": 0.9}])
    def test_cut_within_classes(self, name: str, cut: dict[str, Any]) -> None:
        """From the authors' class probabilities and within-class probabilities."""
        log_probs, classes, expected = load(name)
        found = decoupled_log_probs(log_probs, classes, **cut)
        first = tensor(expected["class_log_prob"])
        for c in range(first.shape[1]):
            second = tensor([row[c] for row in expected["log_p2_by_class"]])
            within = by_hand(second, torch.zeros(second.shape[1], dtype=torch.int64), **cut)
            torch.testing.assert_close(found[:, classes == c], first[:, c : c + 1] + within, rtol=0, atol=1e-12)


class TestCut:
    @pytest.mark.parametrize("cut", [{"k": 1}, {"k": 4}, {"k": 99}, {"p": 0.3}, {"p": 0.9}, {"p": 0.999999}])
    def test_by_hand(self, cut: dict[str, Any]) -> None:
        log_probs, classes = random_case()
        found = decoupled_log_probs(log_probs, classes, **cut)
        torch.testing.assert_close(found, by_hand(log_probs, classes, **cut), rtol=0, atol=1e-12)

    @pytest.mark.parametrize("p", [0.5, 0.9])
    def test_wide_flat_classes(self, p: float) -> None:
        """A class whose nucleus does not fit into the prefilter."""
        generator = torch.Generator().manual_seed(0)
        log_probs = (0.3 * torch.randn(3, 5000, generator=generator, dtype=torch.float64)).log_softmax(1)
        log_probs[2] = (20 * log_probs[2]).log_softmax(0)
        classes = (torch.arange(5000) > 300).long()
        found = decoupled_log_probs(log_probs, classes, p=p)
        torch.testing.assert_close(found, by_hand(log_probs, classes, p=p), rtol=0, atol=1e-10)

    @pytest.mark.parametrize("cut", [{"k": 2}, {"p": 0.5}])
    def test_ties_are_kept_whatever_their_order(self, cut: dict[str, Any]) -> None:
        log_probs = torch.tensor([[4.0, 2.0, 2.0, 2.0, 1.0, 1.0]]).div(12).log()
        classes = torch.tensor([0, 0, 0, 0, 1, 1])
        found = decoupled_log_probs(log_probs, classes, **cut)
        assert (found > -math.inf).all()
        order = torch.tensor([5, 2, 0, 3, 1, 4])
        torch.testing.assert_close(decoupled_log_probs(log_probs[:, order], classes[order], **cut), found[:, order])

    @pytest.mark.parametrize("cut", [{}, {"k": 2}, {"p": 0.5}, {"greedy": True}])
    def test_ruled_out_tokens(self, cut: dict[str, Any]) -> None:
        log_probs, classes = random_case()
        log_probs[:, classes == 2] = -math.inf
        log_probs[:, 0] = -math.inf
        found = decoupled_log_probs(log_probs.log_softmax(1), classes, **cut)
        assert not found.isnan().any()
        assert (found[:, (classes == 2) | (torch.arange(60) == 0)] == -math.inf).all()
        torch.testing.assert_close(found.exp().sum(1), torch.ones(5, dtype=torch.float64))
