"""tools/gpu/goals.py and the record: what is met, missed, and not measured."""

from typing import Any

import pytest

from tools.gpu import __main__ as program
from tools.gpu import seen
from tools.gpu.goals import lines_of


def record(of_mle: float = 1.0, waits: int = 0, seconds: float = 30.0, peak: float | None = 1e15) -> dict[str, Any]:
    """A record in which everything but what is given is well."""
    row = {"flops_per_second": 5e14, "waits": waits}
    step = [{**row, "what": "mle", "of_mle": 1.0}, {**row, "what": "trime", "of_mle": of_mle}]
    step.append({**row, "what": "plain torch", "of_mle": 9.0})
    texts = [{"what": name, "samples": 5000, "tokens": 256, "seconds": seconds} for name in ("mle", "trime")]
    parts = {
        "steps": {"ended": "well", "content": {"step": step}},
        "texts": {"ended": "well", "content": {"samples": texts}},
        "tests": {"ended": "well", "content": None},
        "precision": {"ended": "well", "content": None},
    }
    return {"machine": {"peak_flops": peak}, "parts": parts}


def missed(of: dict[str, Any]) -> list[str]:
    """The goals that are not met."""
    return [line.what for line in lines_of(of) if not line.met]


def test_all_is_well() -> None:
    assert missed(record()) == []


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"of_mle": 1.11}, "step of trime"),
        ({"waits": 1}, "waits in a step of trime"),
        ({"seconds": 61.0}, "5,000 x 256 of trime"),
        ({"peak": None}, "MFU of mle"),
        ({"peak": 2e15}, "MFU of mle"),
    ],
)
def test_what_is_missed_is_named(change: dict[str, Any], what: str) -> None:
    assert missed(record(**change)) == [what]


def test_a_part_without_numbers_is_missed() -> None:
    given = record()
    given["parts"]["steps"] = {"ended": "not within 150 s", "content": None}
    assert missed(given) == ["part steps", "steps of methods"]
    del given["parts"]["precision"]
    assert "part precision" in missed(given)


def test_tests_of_which_none_passed_have_not_ended_well() -> None:
    """All may have been skipped, with the code 0."""
    assert program.run("tests", ["json.tool", "--help"], 20.0, False)["ended"] == "without a test that passed"


def test_what_was_seen_is_said_and_nothing_else() -> None:
    """No record, a rehearsal, and a machine without a GPU have seen none."""
    whole = record(of_mle=2.0)
    whole["rehearsal"] = False
    whole["machine"] |= {"gpu": "NVIDIA H200", "torch": "2.13.0", "date": "2026-11-22"}
    assert seen.line(whole) == (
        "GPU and bf16: tested on NVIDIA H200 (torch 2.13.0, 2026-11-22); 7 of 8 goals met; several GPUs: not tested. "
        "Missed: step of trime."
    )
    assert "| step of trime | <= 1.10 x mle | 2.000 x |" in seen.table(whole)
    assert seen.line(None) == seen.line({**whole, "rehearsal": True}) == seen.NONE
    assert seen.line({**whole, "machine": {**whole["machine"], "gpu": None}}) == seen.NONE
    assert seen.table(None) == ""
