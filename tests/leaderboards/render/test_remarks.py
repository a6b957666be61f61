"""leaderboards/render/remarks.py: what a method says of its own numbers stands at its row and under its table."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from bench.leaderboards.render.formats import render
from bench.store.store import Store
from tests.leaderboards.handmade import leaderboards_of, scored, trained

SMOOTHED = "likelihoods are of (p + 1e-06) / (1 + 1e-06 V)"


def oneline(text: str) -> str:
    """Return a text without line breaks, which a terminal puts where its width ends, and without backslashes."""
    return " ".join(text.replace("\\", "").split())


def test_a_published_row_shows_its_decoding_and_a_remark_shows_ours(tmp_path: Path) -> None:
    scored(trained(tmp_path, "mle", task="wikitext103"), {"kld": 2.0}, decoding="topk=3+max_new_tokens=64")
    boards = leaderboards_of(Store(tmp_path))
    for form in ("markdown", "terminal", "latex"):
        shown = oneline(render(boards, form))
        assert "F2{-}Softmax Table 2, greedy" in shown or "F2-Softmax Table 2, greedy" in shown, form
        assert "F2-Softmax Table 1, topk=3".replace("-", "{-}" if form == "latex" else "-") in shown
        assert "decoding of our rows: topk=3" in shown
    scored(trained(tmp_path, "mle", task="wikitext103"), {"kld": 2.5}, decoding="greedy")
    assert "decoding of our rows" not in render(leaderboards_of(Store(tmp_path)), "markdown"), "each row says its own"


@pytest.mark.parametrize(("rep", "alike"), [(5.0, True), (5.000001, False)])
def test_methods_with_the_same_numbers_are_named(tmp_path: Path, rep: float, alike: bool) -> None:
    """Such as a method that needs dropout where nothing is dropped."""
    others = {"mle": {"rep": 5.0}, "histalign": {"rep": rep}, "trime": {"rep": 5.0, "bleu-1": 1.0}}
    for method, own in others.items():
        for seed in (0, 1):
            scored(trained(tmp_path, method, seed), {"bleu-1": 30.0 + seed, "bleu-2": 25.0, "bleu-3": 20.0} | own)
    shown = oneline(render(leaderboards_of(Store(tmp_path)), "markdown"))
    assert ("the same number in every column: histalign, mle;" in shown) == alike


def test_what_a_method_says_of_its_numbers_is_said_once(tmp_path: Path) -> None:
    """Two seeds and two decodings of one method are one line; seeds that say something else say both."""
    for seed in (0, 1):
        cell = trained(tmp_path, "entmax", seed, remarks=[SMOOTHED])
        for decoding in ("greedy", "sample"):
            scored(cell, {"bleu-3": 20.0}, decoding=decoding)
        scored(cell, {"ppl/word": 30.0}, kind="likelihood", decoding=None)
        scored(trained(tmp_path, "loss_truncation", seed, remarks=[f"saw {seed} rows"]), {"bleu-3": 20.0})
    scored(trained(tmp_path, "mle"), {"bleu-3": 21.0})
    boards = leaderboards_of(Store(tmp_path))
    for form in ("markdown", "terminal", "latex"):
        text = render(boards, form)
        assert text.count("entmax: likelihoods are of") == 1, form
        assert "mle: " not in text
    (said,) = [line for line in render(boards, "markdown").splitlines() if line.startswith("*loss\\_truncation: ")]
    assert set(said.strip("*").partition(": ")[2].split("; ")) == {"saw 0 rows", "saw 1 rows"}
    rows = json.loads(render(boards, "json"))["tables"][0]["methods"]
    assert {row["method"]: row["remark"] for row in rows}["entmax"] == SMOOTHED
    lines = csv.DictReader(io.StringIO(render(boards, "csv")))
    assert {line["method"]: line["remark"] for line in lines}["entmax"] == SMOOTHED
