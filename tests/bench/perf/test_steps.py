"""bench/perf/steps.py, samples.py: whole steps and many texts, and what they cost."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from bench.config.resolve import method_names
from bench.errors import UsageError
from bench.perf import samples, steps
from bench.perf.heads import Size, interleaved
from bench.perf.measure import device, has_head, measure_step
from bench.perf.operations import on_device
from bench.perf.samples import measure_samples
from bench.perf.steps import PEERS, Place, objective_over_body, peer_step, step_flops, step_of
from tests.conftest import Ended

SMALL = Size(batch=2, positions=40, width=16, vocabulary=200)
NAMES = [name for name in method_names(["all"], controls=False) if has_head(name)]
CPU = Place(torch.device("cpu"))
MIXED = Place(torch.device("cpu"), "bf16-mixed")


FEW = ("mle", "histalign", "ul_seq")  # plain, with a memory, with texts of its own


@pytest.mark.parametrize(
    "name", [name if name in FEW else pytest.param(name, marks=pytest.mark.slow) for name in NAMES]
)
def test_steps_learn(name: str) -> None:
    run = step_of(name, SMALL, 1, CPU)
    assert torch.isfinite(run()[0])
    assert interleaved({name: run}, 1)[name] > 0


def test_a_peer_takes_the_step_of_mle() -> None:
    """Plain torch's loss is MLE's over the same weights, and takes steps too."""
    ours, theirs = step_of("mle", SMALL, 2, CPU), peer_step("plain torch", SMALL, 2, CPU)
    first, second = [(float(ours()[0]), float(theirs()[0])) for _ in range(2)]
    assert first[0] == pytest.approx(first[1], rel=1e-6)
    assert second[1] < first[1]
    assert set(PEERS) >= {"plain torch", "torch.compile"}


def test_mixed_precision_is_another_sum() -> None:
    """A step in bf16 is near the one in fp32 and not the same."""
    exact, mixed = float(step_of("trime", SMALL, 2, CPU)()[0]), float(step_of("trime", SMALL, 2, MIXED)()[0])
    assert exact != mixed
    assert exact == pytest.approx(mixed, rel=1e-2)


def test_operations_are_those_that_torch_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its counter sees attention where it is written out; the body reads one position more than it predicts."""
    body = steps._body

    def written_out(*given, **named):
        backbone = body(*given, **named)
        backbone.model.set_attn_implementation("eager")
        return backbone

    monkeypatch.setattr(steps, "_body", written_out)
    step = step_of("mle", SMALL, 2, CPU)
    with FlopCounterMode(display=False) as counter:
        step()
    assert step_flops(SMALL, 2) == pytest.approx(counter.get_total_flops(), rel=0.04)
    assert step_flops(SMALL, 4) != pytest.approx(counter.get_total_flops(), rel=0.04)


def test_lines_of_steps() -> None:
    lines = measure_step(["trime", "mle"], SMALL, 1, 1, CPU)
    assert [line["what"] for line in lines] == ["mle", "trime"]
    assert lines[0]["of_mle"] == 1
    for line in lines:
        assert line["tokens_per_second"] == pytest.approx(80 / line["seconds"])
        assert line["flops_per_second"] == pytest.approx(step_flops(SMALL, 1) / line["seconds"])
    assert [line["what"] for line in measure_step(["mle"], SMALL, 1, 1, CPU)] == ["mle"]


def test_a_processor_has_no_kernels() -> None:
    assert on_device(lambda: None, torch.device("cpu")) == {"peak_mb": None, "kernels": None, "waits": None}


def test_texts_are_all_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every text has every token, the last batch is smaller, and seeds differ."""
    asked: list[tuple[int, int, tuple[int, ...]]] = []
    write = samples.generate

    def noted(objective, batch, decoding, new, seeds):
        asked.append((len(batch["input_ids"]), new, tuple(seeds)))
        return write(objective, batch, decoding, new, seeds)

    monkeypatch.setattr(samples, "generate", noted)
    lines = measure_samples(["histalign"], SMALL, 1, CPU, samples=5, tokens=6, decoding="nucleus=0.9")
    assert [line["what"] for line in lines] == ["mle", "histalign"]
    assert asked[1:4] == [(2, 6, (0, 1)), (2, 6, (2, 3)), (1, 6, (4,))]
    assert lines[1]["of_mle"] == pytest.approx(lines[1]["seconds"] / lines[0]["seconds"])


def test_a_text_that_ended_is_no_measurement(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(samples, "generate", lambda *given: [[1], [1]])
    with pytest.raises(AssertionError, match="expected texts of 2 tokens"):
        samples.time_of(objective_over_body("mle", SMALL, 1, CPU), SMALL, CPU, 2, 2, "greedy")


def test_no_gpu_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    assert (device(), device("cpu")) == (torch.device("cpu"),) * 2
    with pytest.raises(UsageError, match="torch sees no GPU here"):
        device("cuda")


def test_the_command(bench: Callable[..., Ended]) -> None:
    sizes = ("--batch", "1", "--positions", "8", "--width", "8", "--vocabulary", "50", "--repeats", "1")
    more = ("--layers", "1", "--samples", "2", "--tokens", "3", "--precision", "bf16-mixed")
    ended = bench("perf", "--method", "mle,trime", *sizes, *more)
    assert ended.code == 0, ended.err
    assert "texts: 2 of 3 tokens, nucleus=0.95, 1 at once, bf16-mixed" in ended.out
    content = json.loads(bench("perf", "--method", "mle", *sizes, "--layers", "1", "--json").out)
    assert [row["what"] for row in content["step"]] == ["mle"]
    assert bench("perf", *sizes, "--samples", "2").code == 2
