"""`bench run`: what it says at its end."""

from __future__ import annotations

import contextlib
import io
import json
from types import SimpleNamespace

import pytest

from bench.cells.run import Outcome
from bench.commands.run import ended

FAILED = "bench: failed: t · m: ValueError: no\n"


def said(outcome: Outcome, as_json: bool) -> str:
    """Return what a run says at its end, both streams in one."""
    both, none = io.StringIO(), SimpleNamespace(loggers=(), cells=(), results_folder="nowhere")
    with contextlib.redirect_stdout(both), contextlib.redirect_stderr(both):
        assert ended(none, outcome, none, as_json) == 1  # type: ignore[arg-type]
    return both.getvalue()


def test_failed_cells_are_named_last(monkeypatch: pytest.MonkeyPatch) -> None:
    def show(*_: object) -> int:
        print("the table")
        return 0

    monkeypatch.setattr("bench.commands.run.show", show)
    failed = {"t · m": "ValueError: no\nmore lines"}
    assert said(Outcome(ok=["t · mle"], failed=failed), as_json=False) == f"the table\n{FAILED}"
    assert said(Outcome(failed=failed), as_json=False) == FAILED
    text = said(Outcome(ok=["t · mle"], failed=failed), as_json=True)
    assert text.endswith(FAILED)
    assert json.loads(text.removesuffix(FAILED))["failed"] == failed
