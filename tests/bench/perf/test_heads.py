"""bench/perf/heads.py: every form that is timed computes the same loss and gradients."""

from __future__ import annotations

import gc
import json
from collections.abc import Callable

import pytest
import torch

from bench.config.resolve import method_names
from bench.perf.heads import Size, differences, forms, interleaved, objective_of, peak_above_gradients, peers
from bench.perf.measure import has_head
from bench.perf.steps import Place, step_of
from tests.conftest import Ended

SMALL = Size(batch=2, positions=40, width=16, vocabulary=200)
NAMES = [name for name in method_names(["all"], controls=False) if has_head(name)]
CPU = torch.device("cpu")


@pytest.mark.parametrize("name", NAMES)
def test_forms_agree(name: str) -> None:
    runs = forms(objective_of(name, SMALL, CPU))
    assert list(runs) == ["fused", "generic", "plain"]
    expected = runs["plain"]()
    for run in runs.values():
        assert max(differences(run(), expected)) < 1e-4


def test_peers_compute_mle() -> None:
    objective = objective_of("mle", SMALL, CPU)
    expected = forms(objective)["plain"]()
    found = peers(objective)
    assert "linear + cross_entropy" in found
    for run in found.values():
        assert max(differences(run(), expected)) < 1e-4


def test_methods_on_another_backbone_have_no_head_to_measure() -> None:
    assert not has_head("adadec")
    assert not has_head("lead")
    assert has_head("trime")


def test_a_difference_is_seen() -> None:
    one = (torch.tensor(2.0), [torch.ones(3)])
    other = (torch.tensor(2.0), [torch.tensor([1.0, 1.0, 1.5])])
    assert differences(other, one) == (0.0, 0.5)


def test_what_a_caller_keeps_from_the_search_for_garbage_stays_so() -> None:
    """The tests themselves do so: each search would otherwise walk all that they are made of."""
    objective = objective_of("mle", SMALL, CPU)
    kept = gc.get_freeze_count()
    assert kept > 0
    assert interleaved(forms(objective), 1)["plain"] > 0
    assert gc.get_freeze_count() >= kept


def test_memory_of_the_fused_form_is_less(tmp_path: object) -> None:
    """20,000 x 600 logits are 46 MB; the fused form holds slices of them only."""
    size = Size(batch=2, positions=300, width=8, vocabulary=20000)
    runs = forms(objective_of("mle", size, CPU))
    runs["fused"]()  # warm
    fused, plain = peak_above_gradients(runs["fused"]), peak_above_gradients(runs["plain"])
    assert fused < plain / 1.5


def test_a_method_with_a_second_model() -> None:
    """The second model is there in heads and steps, and is not trained."""
    name = "tests.bench.contrast:Contrast"
    objective = objective_of(name, SMALL, CPU)
    expected = forms(objective)["plain"]()
    assert float(expected[0]) != float(forms(objective_of("mle", SMALL, CPU))["plain"]()[0])
    for run in forms(objective).values():
        assert max(differences(run(), expected)) < 1e-4
    assert all(parameter.grad is None for parameter in objective.second_model.parameters())
    assert torch.isfinite(step_of(name, SMALL, 1, Place(CPU))()[0])


def test_the_command(bench: Callable[..., Ended]) -> None:
    sizes = ("--batch", "1", "--positions", "8", "--width", "8", "--vocabulary", "50", "--repeats", "1")
    ended = bench("perf", "--method", "mle,trime", *sizes, "--layers", "1", "--json")
    assert ended.code == 0, ended.err
    content = json.loads(ended.out)
    assert {row["what"] for row in content["head"]} >= {"mle fused", "trime generic", "mle linear + cross_entropy"}
    assert [row["what"] for row in content["step"]] == ["mle", "trime"]
    assert "x mle" in bench("perf", "--method", "mle", *sizes).out
