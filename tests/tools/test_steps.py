"""tools/steps.py: steps train, peers take the step of maximum likelihood, and all texts are written."""

import json

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from bench.config.resolve import method_names
from tools import steps
from tools.heads import Size, has_head
from tools.steps import Setting, step_flops, step_of

SMALL = Size(batch=2, positions=40, width=16, vocabulary=200)
CPU = Setting(1, torch.device("cpu"))
NAMES = [name for name in method_names(["all"], controls=False) if has_head(name)]
FEW = ("mle", "histalign", "ul_seq", "tests.bench.contrast:Contrast")  # a memory, texts of its own, a reference model


@pytest.mark.parametrize("name", [*FEW, *(pytest.param(name, marks=pytest.mark.slow) for name in NAMES)])
def test_a_step_of_every_method(name: str) -> None:
    run = step_of(name, SMALL, CPU)
    first, second = float(run()[0]), float(run()[0])
    assert first != second, "the weights have moved"
    if name in ("mle", "histalign"):
        assert float(steps.attached_step(name, SMALL, CPU)()[0]) == pytest.approx(first, rel=1e-6)


def test_plain_torch_takes_the_step_of_maximum_likelihood() -> None:
    ours, theirs = step_of("mle", SMALL, CPU), step_of("plain torch", SMALL, CPU)
    first, second = [(float(ours()[0]), float(theirs()[0])) for _ in range(2)]
    assert first[0] == pytest.approx(first[1], rel=1e-6)
    assert second[1] < first[1]


def test_operations_are_those_that_torch_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its counter sees attention where it is written out; the body reads one position more than it predicts."""
    body = steps.body

    def written_out(*given, **named):
        backbone = body(*given, **named)
        backbone.model.set_attn_implementation("eager")
        return backbone

    monkeypatch.setattr(steps, "body", written_out)
    step = step_of("mle", SMALL, Setting(2, CPU.device))
    with FlopCounterMode(display=False) as counter:
        step()
    assert step_flops(SMALL, 2) == pytest.approx(counter.get_total_flops(), rel=0.04)
    assert step_flops(SMALL, 4) != pytest.approx(counter.get_total_flops(), rel=0.04)


def test_the_program(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = "--batch 1 --positions 8 --width 8 --vocabulary 50 --repeats 1 --layers 1 --device cpu"
    monkeypatch.setattr("sys.argv", ["steps", "--method", "trime", *sizes.split(), "--samples", "2", "--tokens", "3",
                                     "--attached", "--json"])  # fmt: skip
    steps.main()
    content = json.loads(capsys.readouterr().out)
    assert [[row["what"] for row in content[part]] for part in ("step", "samples")] == [["mle", "trime"]] * 2
    assert all(row["attached"] > 0 for row in content["step"])
