"""Numbers that texts of claim files and docs/findings.md state are those of the kept rows and of the papers' tables."""

from __future__ import annotations

import json
from typing import Any

import pandas as pd
import pytest

from bench.leaderboards.claim.claim_files import read
from bench.leaderboards.published.papers import paper_table
from tools.regenerate import ROOT, RUNS


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


def rates_tried(task: str, method: str) -> set[float]:
    """The learning rates that the search of a method has tried."""
    runs = pd.read_parquet(RUNS / "grid" / "runs.parquet", columns=["task", "method", "searches"])
    searches = runs[(runs.task == task) & (runs.method == method)].searches
    contents = [json.loads(kept["record"])["content"]["tried"] for of_run in searches for kept in of_run]
    settings = {setting for tried in contents for trial in tried for setting in trial["sets"]}
    assert len(settings) == 3
    return {float(setting.rpartition("=")[2]) for setting in settings}


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
    assert f"gives a ROUGE-1 of {exemplar:.1f}, and the first words of the source {lead:.1f}" in notes
    swapped, own = (of(scores, "gigaword", m, **long).value.mean() for m in ("adadec.swapped", "adadec"))
    assert f"({swapped:.1f} against {own:.1f} in ROUGE-1)" in notes
    (ours,), (theirs,) = (of(scores, "gigaword", m, **long).parameters.unique() for m in ("adadec", "seq2seq"))
    assert f"{100 * ours / theirs - 100:.0f} % more parameters" in notes
    for name in ("Seq2Seq", "AttExp", "AdaDec", "AdaDec+AttExp"):
        method = name.lower().replace("+", "_")
        (rate,) = of(scores, "gigaword", method, **long).lr.unique()
        assert f"{rate:g} for {name}" in notes
        assert rate == max(rates_tried("gigaword", method)), "the largest won"


def test_parameters_of_adadecs_claims_are_those_of_its_rows(scores: pd.DataFrame) -> None:
    (text,) = [claim.out_of_reach for claim in read("adadec").claims if "excessive" in claim.quote]
    ours, theirs, attexp = (
        of(scores, "gigaword", method, steps=1500).parameters.iloc[0] for method in ("adadec", "seq2seq", "attexp")
    )
    assert f"AdaDec has {ours:,.0f} parameters" in text
    assert f"{100 * ours / theirs - 100:.0f} % more than Seq2Seq ({theirs:,.0f})" in text
    assert f"{100 * ours / attexp - 100:.0f} % more than AttExp ({attexp:,.0f})" in text


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


def mean_of_text(scores: pd.DataFrame, method: str, steps: int, metric: str, **where: Any) -> float:
    """The mean over seeds on the King James Bible by top-k sampling, k = 3, or without texts."""
    decoding = where.pop("decoding", None if metric.startswith("ppl/") else "topk=3+max_new_tokens=64")
    rows = of(scores, "text", method, steps=steps, metric=metric, **where)
    rows = rows[rows.decoding.isna() | (rows.decoding == "")] if decoding is None else rows[rows.decoding == decoding]
    return float(rows.value.mean())


UNTIED = 1486336
"""The parameters of the models on the King James Bible whose output layer is their own."""


def test_numbers_of_both_output_layers_are_those_of_the_rows(scores: pd.DataFrame) -> None:
    file = read("f2softmax")
    notes = " ".join(file.notes)

    def three(metric: str) -> list[float]:
        of_mle = [mean_of_text(scores, "mle", 1000, metric, parameters=size) for size in (974336, UNTIED)]
        return [*of_mle, mean_of_text(scores, "f2softmax", 1000, metric)]

    tied, untied, ours = three("ppl/token")
    assert f"perplexity from {tied:.1f} to {untied:.1f}, where F2-Softmax has {ours:.1f}" in notes
    (text,) = [claim.result for claim in file.claims if "performance drop on PPL" in claim.quote]
    mle, short = (
        mean_of_text(scores, "mle", 300, "ppl/token", parameters=UNTIED),
        mean_of_text(scores, "f2softmax", 300, "ppl/token"),
    )
    assert (
        f"is {mle:.1f} where F²-Softmax has {short:.1f} after 300 steps, and {untied:.1f} where it has {ours:.1f} after"
        in text
    )
    assert "KLD from {:.2f} to {:.2f}, where F2-Softmax has {:.2f}".format(*three("kld")) in notes
    (result,) = [claim.result for claim in file.claims if "human use of 15.2k" in claim.quote]
    people = scores[(scores.task == "text") & (scores.method == "human") & (scores.metric == "uniq")].value.unique()
    _, untied, ours = three("uniq")
    assert result == f"F²-Softmax has {ours:,.0f}, people have {people.item():,.0f} and MLE has {untied:.0f}"


def test_shares_of_tokens_of_f2softmax_are_those_of_its_rows(scores: pd.DataFrame) -> None:
    (text,) = [claim.result for claim in read("f2softmax").claims if "*frequent* and *rare* tokens" in claim.quote]
    gaps = []
    for name in ("frequent", "rare"):
        (human,) = scores[(scores.task == "text") & (scores.method == "human")
                          & (scores.metric == f"frequency/{name}")].value.unique()  # fmt: skip
        gaps.append(100 * abs(mean_of_text(scores, "f2softmax", 1000, f"frequency/{name}") / human - 1))
    assert f"for frequent tokens ({gaps[0]:.1f} %) and not for rare ones ({gaps[1]:.1f} %)" in text
    assert gaps[0] < 6 < gaps[1]


def test_the_note_on_mefmax_is_of_its_rows(scores: pd.DataFrame) -> None:
    (note,) = [claim.note for claim in read("f2softmax").claims if claim.note.startswith("Against MefMax's")]
    for metric, before in (("ppl/token", "perplexity"), ("ms-jaccard-2/f2_code", "MS-Jaccard"), ("self-bleu-2", "-2")):
        equal_sizes, mefmax = (
            mean_of_text(scores, method, 300, metric) for method in ("f2softmax.fixed_eq_token", "f2softmax")
        )
        assert f"{before} ({equal_sizes:.1f} and {mefmax:.1f})" in note, metric


def printed(address: str, row: str, column: str, backbone: str = "", part: str = "") -> str:
    """One printed cell of a paper's table."""
    cells = [cell for cells in paper_table(address).rows for cell in cells]
    cells = [cell for cell in cells if (cell.row, cell.column) == (row, column) and part in ("", cell.part)]
    (found,) = [cell for cell in cells if backbone in ("", cell.backbone)]
    return found.printed


def test_the_cells_beyond_the_claim_on_k_are_printed() -> None:
    (text,) = [claim.beyond for claim in read("f2softmax").claims if "various k sizes" in claim.quote]
    cells = [
        printed("f2softmax/table10", row, "MS-Jaccard n=2", part="(a) Wikitext-103, top-k=20")
        for row in ("MLE", "UL-token", "F²-Softmax")
    ]
    assert cells[0] == cells[1]
    assert f"({cells[0]} and {cells[2]})" in text


def test_sentences_on_the_cache_are_of_its_rows(scores: pd.DataFrame) -> None:
    text = " ".join((ROOT / "docs" / "findings.md").read_text(encoding="utf-8").split())

    def mean(method: str, metric: str, seeds: int = 8) -> str:
        rows = of(scores, "ambiguous_template", method, metric=metric, steps=300)
        by_run = rows.groupby("lr").value
        (found,) = [values.mean() for _, values in by_run if len(values) == seeds]
        return f"{found:.2f}"

    small, large = (
        printed("histalign/table1", "TRIME", "Cache-Only Acc@5", backbone) for backbone in ("gpt2", "gpt2-large")
    )
    ours = mean("trime.released", "acc@5/cache")
    assert f"at k = 5 the paper's TRIME has {small} (small) and {large} (large), and ours {ours}." in text
    cache, full = (mean("histalign", f"acc@2/{column}") for column in ("cache", "full"))
    trime = {mean("trime", f"acc@2/{column}") for column in ("cache", "full")}
    assert f"has an Acc@2 of {cache} with the cache alone and of {full} with head and cache" in text
    assert trime == {"100.00"}
    assert "where TRIME by equation 3 has 100 in both" in text
