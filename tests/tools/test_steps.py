"""tools/steps.py: steps train, peers take the step of maximum likelihood, and all texts are written."""

from __future__ import annotations

import json

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from bench.config.resolve import method_names
from tools import steps
from tools.heads import Size, has_head
from tools.steps import Setting, measure_step, measure_texts, step_flops, step_of

SMALL = Size(batch=2, positions=40, width=16, vocabulary=200)
CPU = Setting(1, torch.device("cpu"))
NAMES = [name for name in method_names(["all"], controls=False) if has_head(name)]
FEW = ("mle", "histalign", "ul_seq", "tests.bench.contrast:Contrast")  # a memory, texts of its own, a reference model


@pytest.mark.parametrize("name", [*FEW, *(pytest.param(name, marks=pytest.mark.slow) for name in NAMES)])
def test_a_step_of_every_method(name: str) -> None:
    run = step_of(name, SMALL, CPU)
    first, second = float(run()[0]), float(run()[0])
    assert first != second, "the weights have moved"


def test_plain_torch_takes_the_step_of_maximum_likelihood() -> None:
    ours, theirs = step_of("mle", SMALL, CPU), step_of("plain torch", SMALL, CPU)
    first, second = [(float(ours()[0]), float(theirs()[0])) for _ in range(2)]
    assert first[0] == pytest.approx(first[1], rel=1e-6)
    assert second[1] < first[1]


def test_mixed_precision_is_near_and_not_the_same() -> None:
    exact, mixed = (float(step_of("trime", SMALL, Setting(1, CPU.device, name))()[0]) for name in
                    ("32-true", "bf16-mixed"))  # fmt: skip
    assert exact != mixed
    assert exact == pytest.approx(mixed, rel=1e-2)


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


def test_steps_are_measured_against_maximum_likelihood() -> None:
    lines = measure_step(["mle", "trime"], SMALL, CPU, 1)
    assert [line["what"] for line in lines] == ["mle", "trime"]
    assert lines[0]["of_mle"] == 1
    for line in lines:
        assert line["tokens_per_second"] == pytest.approx(80 / line["seconds"])
        assert line["flops_per_second"] == pytest.approx(step_flops(SMALL, 1) / line["seconds"])
        assert line["waits"] is None


def test_texts_are_all_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every text has every token, the last batch is smaller, and seeds differ."""
    asked: list[tuple[int, int, tuple[int, ...]]] = []
    write = steps.generate

    def noted(objective, batch, decoding, new, seeds):
        asked.append((len(batch["input_ids"]), new, tuple(seeds)))
        return write(objective, batch, decoding, new, seeds)

    monkeypatch.setattr(steps, "generate", noted)
    lines = measure_texts(["mle", "histalign"], SMALL, CPU, samples=5, tokens=6, decoding="nucleus=0.9")
    assert asked[1:4] == [(2, 6, (0, 1)), (2, 6, (2, 3)), (1, 6, (4,))]
    assert lines[1]["of_mle"] == pytest.approx(lines[1]["seconds"] / lines[0]["seconds"])
    monkeypatch.setattr(steps, "generate", lambda *given: [[1], [1]])
    with pytest.raises(AssertionError, match="expected texts of 2 tokens"):
        measure_texts(["mle"], SMALL, CPU, 2, 2, "greedy")


def test_the_program(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = "--batch 1 --positions 8 --width 8 --vocabulary 50 --repeats 1 --layers 1 --device cpu"
    monkeypatch.setattr("sys.argv", ["steps", "--method", "trime", *sizes.split(), "--samples", "2", "--tokens", "3",
                                     "--json"])  # fmt: skip
    steps.main()
    content = json.loads(capsys.readouterr().out)
    assert [[row["what"] for row in content[part]] for part in ("step", "samples")] == [["mle", "trime"]] * 2
