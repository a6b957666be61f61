"""tools/heads.py: every form that is timed computes the same loss and the same gradients."""

import pytest
import torch

from bench.config.resolve import method_names
from tools.heads import Size, differences, forms, has_head, main, objective_of, peak_above_gradients, peers

SMALL = Size(batch=2, positions=40, width=16, vocabulary=200)
NAMES = [name for name in method_names(["all"], controls=False) if has_head(name)]
CPU = torch.device("cpu")


@pytest.mark.parametrize("name", [*NAMES, "tests.bench.contrast:Contrast"])
def test_forms_agree(name: str) -> None:
    runs = forms(objective_of(name, SMALL, CPU))
    assert list(runs) == ["fused", "generic", "plain"]
    expected = runs["plain"]()
    for run in runs.values():
        assert max(differences(run(), expected)) < 1e-4


def test_peers_compute_maximum_likelihood() -> None:
    objective = objective_of("mle", SMALL, CPU)
    expected = forms(objective)["plain"]()
    found = peers(objective)
    assert "linear + cross_entropy" in found
    for run in found.values():
        assert max(differences(run(), expected)) < 1e-4


def test_the_fused_form_takes_less_memory() -> None:
    """20,000 x 600 logits are 46 MB; the fused form holds slices of them only."""
    runs = forms(objective_of("mle", Size(batch=2, positions=300, width=8, vocabulary=20000), CPU))
    runs["fused"]()  # warm
    fused, plain = peak_above_gradients(runs["fused"]), peak_above_gradients(runs["plain"])
    assert fused < plain / 1.5


def test_the_program(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = "--batch 1 --positions 8 --width 8 --vocabulary 50 --repeats 1 --device cpu"
    monkeypatch.setattr("sys.argv", ["heads", "--method", "mle,trime", *sizes.split()])
    main()
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("  ")[0] for line in lines if line.startswith("trime")] == [
        "trime fused",
        "trime generic",
        "trime plain",
    ]
