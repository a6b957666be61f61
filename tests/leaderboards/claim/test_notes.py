"""Numbers that notes of claim files state are those of the kept rows."""

from __future__ import annotations

import json
from typing import Any

import pandas as pd
import pytest

from bench.leaderboards.claim.claim_files import read
from tools.regenerate import RUNS


@pytest.fixture(scope="module")
def scores() -> pd.DataFrame:
    """The kept scores, each with the steps, the learning rate and the parameters of its training."""
    runs = pd.read_parquet(RUNS / "grid" / "runs.parquet", columns=["run", "record"])
    contents = [json.loads(text) for text in runs.record]
    contents = [content.get("content", content) for content in contents]
    trainers = [content["config"]["trainer"] for content in contents]
    about = pd.DataFrame(
        {
            "run": runs.run,
            "steps": [trainer["steps"] for trainer in trainers],
            "lr": [trainer["lr"] for trainer in trainers],
            "parameters": [content.get("model", {}).get("parameters") for content in contents],
        }
    )
    return pd.read_parquet(RUNS / "grid" / "scores.parquet").merge(about, on="run")


def of(scores: pd.DataFrame, task: str, method: str, **where: Any) -> pd.DataFrame:
    rows = scores[(scores.task == task) & (scores.method == method) & (scores.split == "test")]
    for column, value in where.items():
        rows = rows[rows[column] == value]
    assert len(rows), f"{task}, {method}, {where}: the kept board has no such row"
    return rows


def test_notes_on_adadec_are_of_its_rows(scores: pd.DataFrame) -> None:
    notes = " ".join(read("adadec").notes)
    long = {"steps": 1500, "metric": "rouge-1"}
    exemplar, lead = (of(scores, "gigaword", m, metric="rouge-1").value.mean() for m in ("copy_exemplar", "lead"))
    assert f"has a ROUGE-1 of {exemplar:.1f}, the first words of the source {lead:.1f}" in notes
    swapped, own = (of(scores, "gigaword", m, **long).value.mean() for m in ("adadec.swapped", "adadec"))
    assert f"({swapped:.1f} against {own:.1f} in ROUGE-1)" in notes
    (ours,), (theirs,) = (of(scores, "gigaword", m, **long).parameters.unique() for m in ("adadec", "seq2seq"))
    assert f"{100 * ours / theirs - 100:.0f} % more weights" in notes
    (rate,), (other,) = (of(scores, "gigaword", m, **long).lr.unique() for m in ("adadec", "seq2seq"))
    assert f"AdaDec's largest ({rate:.5f}) is about half of Seq2Seq's ({other:.5f})" in notes


def test_the_note_on_ranks_is_of_its_rows(scores: pd.DataFrame) -> None:
    (note,) = [claim.note for claim in read("histalign").claims if "In float64" in claim.note]
    head, cache, trime, released = (
        of(scores, "ambiguous_template", method, metric="rank/float32").value.mean()
        for method in ("mle", "mle.cache", "trime.released", "histalign.released")
    )
    assert f"{head:.1f} for the head, {cache:.1f} with the untrained cache" in note
    assert f"{trime:.1f} for TRIME and {released:.1f} for HistAlign as released" in note


def test_the_note_on_a_larger_k_is_of_its_rows(scores: pd.DataFrame) -> None:
    notes = " ".join(read("f2softmax").notes)

    def mean(method: str, decoding: str, metric: str) -> float:
        return float(of(scores, "text", method, steps=300, decoding=decoding, metric=metric).value.mean())

    sides = ("mle.matched", "topk=100+max_new_tokens=64"), ("f2softmax", "topk=3+max_new_tokens=64")
    for metric, form, before in (
        ("self-bleu-2", ".1f", "k = 3 ("),
        ("kld", ".2f", "KLD ("),
        ("ms-jaccard-2/f2_code", ".1f", "MS-Jaccard ("),
        ("uniq", ",.0f", "different tokens ("),
    ):
        ours, theirs = (mean(*side, metric) for side in sides)
        assert f"{before}{ours:{form}} and {theirs:{form}})" in notes, metric
