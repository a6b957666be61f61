"""Decoders of claims: a claim of less repetition or blandness says what a decoder gives of its gain."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from bench.leaderboards.claim.claim_files import read
from bench.leaderboards.claim.decoders import with_decoders
from bench.leaderboards.claim.judge import judge
from bench.leaderboards.claim.lines import evidence_lines
from bench.leaderboards.quality_diversity.decoders import FAMILIES
from bench.leaderboards.quality_diversity.section import Section, sections
from bench.leaderboards.table import tables
from bench.store.store import Store
from tests.leaderboards.claim.test_report import call
from tests.leaderboards.quality_diversity.records import store_models
from tests.leaderboards.quality_diversity.worlds import model

STORED = (*FAMILIES["topk"], *FAMILIES["min_p"])
SELF_BLEU = (
    "decoders, in self-bleu-2 at equal sample-ppl: training adds, 50% (50% to 50%) of the gain with nothing trained"
)


@pytest.fixture(scope="module")
def curves(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store in which F2-Softmax has half of its gain by training; face's baseline was not run."""
    root = tmp_path_factory.mktemp("curves") / "results"
    for method, freer, fewer in (("mle", 0.0, 0.0), ("f2softmax", 0.3, 12.0), ("face", 0.1, 0.0)):
        store_models(root, model(method, freer, fewer, STORED))
    return root


def of(root: Path) -> Sequence[Section]:
    return sections(tables(Store(root), None, "all")[0])


def test_claims_that_a_decoder_may_explain_say_so_and_no_others(curves: Path) -> None:
    paper = with_decoders(judge(read("f2softmax"), []), of(curves))
    said = {verdict.claim.column: verdict for verdict in paper.verdicts if verdict.decoders}
    assert {"self-bleu-3", "distinct-1", "rep"} == set(said)
    assert said["self-bleu-3"].decoders == said["distinct-1"].decoders == SELF_BLEU
    assert said["rep"].decoders.startswith("decoders, in seq-rep-4 at equal sample-ppl: ")
    assert SELF_BLEU in evidence_lines(said["self-bleu-3"])
    assert {verdict.claim.better.method for verdict in said.values()} == {"f2softmax"}


def test_another_task_and_no_curves_say_nothing(curves: Path) -> None:
    assert not any(verdict.decoders for verdict in with_decoders(judge(read("histalign"), []), of(curves)).verdicts)
    assert not any(verdict.decoders for verdict in with_decoders(judge(read("f2softmax"), []), []).verdicts)


def test_the_command_reads_curves_of_another_store(curves: Path, tmp_path: Path) -> None:
    words = ("claims", "f2softmax", "--results", str(tmp_path), "--json")
    with_curves = json.loads(call(*words, "--curves", str(curves)).out)
    assert SELF_BLEU in {claim["decoders"] for claim in with_curves[0]["claims"]}
    assert {claim["decoders"] for claim in json.loads(call(*words).out)[0]["claims"]} == {""}
