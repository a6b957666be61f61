"""Numbers that texts of claim files and of pages state are those of committed rows and of papers' tables."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from bench.leaderboards.claim.claim_files import read
from bench.leaderboards.leaderboards import with_statistics
from bench.leaderboards.published.papers import paper_table
from bench.leaderboards.statistics.constants import ALPHA
from bench.leaderboards.statistics.intervals import seed_mean
from bench.leaderboards.table import tables
from bench.store.store import Store
from tools.regenerate import ROOT, RUNS

LONG = {"steps": 1500, "metric": "rouge-1"}
TOPK = {"decoding": "topk=3+max_new_tokens=64"}
UNTIED = {"parameters": 1486336}
"""Models on the King James Bible whose output layer is their own; those of `TIED` have that of the input."""
TIED = {"parameters": 974336}
TEXTS = "fine_tuning_generation"
PAGES = ("findings", "fine_tuning", TEXTS, "../README")
FINE_TUNED = {"backbone": "smollm2-135m-instruct-q4", "metric": "rank/float32"}
BY_SIZE = [("histalign.mean", "mle", "kld"), ("trime", "mle", "kld"), ("tailr.power", "mle.continued", "kld"),
           ("f2softmax", "mle.decoupled", "ms-jaccard-1")]  # fmt: skip


@pytest.fixture(scope="module")
def scores() -> pd.DataFrame:
    """The committed scores, each with the steps, the learning rate and the parameters of its training."""
    return pd.concat([scores_of(RUNS / name) for name in ("grid", "mid")])


def scores_of(snapshot: Path) -> pd.DataFrame:
    """The scores of one snapshot."""
    runs = pd.read_parquet(snapshot / "runs.parquet", columns=["run", "record"])
    contents = [(content := json.loads(text)).get("content", content) for text in runs.record]
    trainers = [content["config"]["trainer"] for content in contents]
    about = {name: [trainer[name] for trainer in trainers] for name in ("steps", "lr")}
    about |= {"run": runs.run, "parameters": [content.get("model", {}).get("parameters") for content in contents]}
    return pd.read_parquet(snapshot / "scores.parquet").merge(pd.DataFrame(about), on="run")


def of(scores: pd.DataFrame, task: str, method: str, **where: Any) -> pd.DataFrame:
    rows = scores[(scores.task == task) & (scores.method == method) & (scores.split == "test")]
    for column, value in where.items():
        rows = rows[rows[column] == value]
    assert len(rows), f"{task}, {method}, {where}: no such row is committed"
    return rows


def text_of(name: str) -> str:
    """Every text of a claim file, or a page of docs/."""
    if name in PAGES:
        return " ".join((ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8").split())
    file = read(name)
    return " ".join([*file.notes, *(text for one in file.claims for text in (one.note, one.result, one.out_of_reach))])


GIGAWORD, BIBLE, TEMPLATE, LOGICNLG = "gigaword", "text", "ambiguous_template", "logicnlg"
STATED: list[tuple[str, str, list[tuple[str, str, dict[str, Any]]]]] = [
    ("adadec", "gives a ROUGE-1 of {:.1f}, and the first words of the source {:.1f}",
     [(GIGAWORD, "copy_exemplar", {"metric": "rouge-1"}), (GIGAWORD, "lead", {"metric": "rouge-1"})]),
    ("adadec", "({:.1f} against {:.1f} in ROUGE-1)", [(GIGAWORD, "adadec.swapped", LONG), (GIGAWORD, "adadec", LONG)]),
    ("adadec", "({:.1f} against {:.1f} in ROUGE-1); no test",
     [(GIGAWORD, "seq2seq", LONG), (GIGAWORD, "adadec", LONG)]),
    ("histalign", "{:.0f} for the original model, and {:.1f} for TRIME and {:.1f} for HistAlign",
     [(TEMPLATE, method, FINE_TUNED) for method in ("mle", "trime.released", "histalign.released")]),
    ("fine_tuning", "It has {:.0f} in `acc@2/cache`, where `histalign.released` has {:.0f} ±",
     [(TEMPLATE, method, {**FINE_TUNED, "metric": "acc@2/cache"}) for method in ("trime", "histalign.released")]),
    ("../README", "by TRIME's equation, does so for {:.0f} %.",
     [(TEMPLATE, "trime", {**FINE_TUNED, "metric": "acc@2/cache"})]),
    ("fine_tuning", "names both words in {:.0f} % of the prompts without a cache",
     [(TEMPLATE, "mle", {**FINE_TUNED, "metric": "acc@2/full"})]),
    ("fine_tuning", "the perplexity is {:.0f}, and with that of the released code {:.0f}. "
     "With `histalign.mean`, which divides the ranking term by the number of pairs, it is {:.0f}.",
     [(TEMPLATE, method, {**FINE_TUNED, "metric": "ppl/token"})
      for method in ("histalign", "histalign.released", "histalign.mean")]),
    (TEXTS, "ROUGE-1 is {:.1f} before it, {:.1f} for `lead`, and between {:.1f} and {:.1f} after it",
     [(GIGAWORD, method, {**FINE_TUNED, "metric": "rouge-1"})
      for method in ("mle.untrained", "lead", "gem", "simctg")]),
    (TEXTS, "significantly higher perplexities: {:.1f}, {:.1f}, {:.1f} and {:.1f} against {:.1f} per token",
     [(GIGAWORD, method, {**FINE_TUNED, "metric": "ppl/token"})
      for method in ("label_smoothing", "eaft", "simctg", "gem", "mle")]),
    (TEXTS, "stays nearest to it (`forgetting/kl`), and has a ROUGE-1 of {:.1f}",
     [(GIGAWORD, "asft", {**FINE_TUNED, "metric": "rouge-1"})]),
    (TEXTS, "After DFT ROUGE-1 is {:.1f}, as for `lead`",
     [(GIGAWORD, "tailr.dft", {**FINE_TUNED, "metric": "rouge-1", "lr": 1e-5})]),
    (TEXTS, "{:.0f} % of the 4-grams of its headlines are in the sentence, against {:.0f} % after `mle`",
     [(GIGAWORD, method, {**FINE_TUNED, "metric": "copy-4", "decoding": "greedy", "lr": rate})
      for method, rate in (("tailr.dft", 1e-5), ("mle", 5e-5))]),
    (TEXTS, "improbable before fine-tuning (perplexity {:.0f})",
     [(GIGAWORD, "mle.untrained", {**FINE_TUNED, "metric": "ppl/token"})]),
    (TEXTS, "with 2e-5 and 5e-5 has a ROUGE-1 of {:.1f} and {:.1f}, still below `mle`, and a perplexity of "
     "{:.0f} and {:,.0f} per token",
     [(GIGAWORD, "tailr.dft", {**FINE_TUNED, "metric": metric, "lr": rate})
      for metric in ("rouge-1", "ppl/token") for rate in (2e-5, 5e-5)]),
    (TEXTS, "After `mle` only {:.1f} % of the headlines end in a loop",
     [(GIGAWORD, "mle", {**FINE_TUNED, "metric": "rep", "decoding": "greedy"})]),
    (TEXTS, "BLEU-3 is {:.1f} before fine-tuning, {:.1f} for `lead`, which copies the beginning of the table, {:.1f} "
     "after `mle`, and {:.1f} after DFT",
     [(LOGICNLG, method, {**FINE_TUNED, "metric": "bleu-3"})
      for method in ("mle.untrained", "lead", "mle", "tailr.dft")]),
    (TEXTS, "differs significantly from `mle` in BLEU ({:.1f} and {:.1f} against {:.1f} in BLEU-3)",
     [(LOGICNLG, method, {**FINE_TUNED, "metric": "bleu-3"}) for method in ("label_smoothing", "gem", "mle")]),
    (TEXTS, "a significantly higher perplexity, {:.1f} and {:.1f} against {:.1f} per word",
     [(LOGICNLG, method, {**FINE_TUNED, "metric": "ppl/word"}) for method in ("label_smoothing", "gem", "mle")]),
    (TEXTS, "in BLEU either; their perplexities are significantly higher ({:.1f}, {:.1f}, {:.1f} and {:.1f}).",
     [(LOGICNLG, name, {**FINE_TUNED, "metric": "ppl/word"}) for name in ("ul_token", "scalegrad", "eaft", "simctg")]),
    (TEXTS, "significantly worse than `mle`, with {:.2f} against {:.2f} nats per token",
     [(LOGICNLG, method, {**FINE_TUNED, "metric": "forgetting/nll"}) for method in ("simctg", "mle")]),
    (TEXTS, "its BLEU-3 is {:.1f}, significantly below", [(LOGICNLG, "asft", {**FINE_TUNED, "metric": "bleu-3"})]),
    (TEXTS, "{:.0f} % of the 4-grams that it writes are in the table, against {:.0f} % after `mle` and {:.0f} % before",
     [(LOGICNLG, method, {**FINE_TUNED, "metric": "copy-4", "decoding": "greedy"})
      for method in ("tailr.dft", "mle", "mle.untrained")]),
    (TEXTS, "the model before fine-tuning ({:,.0f} against {:.0f} per word)",
     [(LOGICNLG, method, {**FINE_TUNED, "metric": "ppl/word"}) for method in ("tailr.dft", "mle.untrained")]),
    *(("f2softmax", text, [
        (BIBLE, "mle.matched", {"steps": 300, "decoding": "topk=100+max_new_tokens=64", "metric": metric}),
        (BIBLE, "f2softmax", {"steps": 300, **TOPK, "metric": metric}),
    ]) for metric, text in (
        ("self-bleu-2", "k = 3 ({:.1f} and {:.1f})"), ("kld", "KLD ({:.2f} and {:.2f})"),
        ("ms-jaccard-2/f2_code", "MS-Jaccard ({:.1f} and {:.1f})"), ("uniq", "different tokens ({:,.0f} and {:,.0f})"),
    )),
    ("f2softmax", "perplexity of {:.1f} and the untied one of {:.1f}, where F2-Softmax has {:.1f}", [
        (BIBLE, method, {"steps": 1000, "metric": "ppl/token", **where})
        for method, where in (("mle", TIED), ("mle", UNTIED), ("f2softmax", {}))
    ]),
    ("f2softmax", "is {:.1f} after 300 steps, where F²-Softmax has {:.1f} (five seeds), and {:.1f} after 1,000, where "
     "it has {:.1f}", [
        (BIBLE, method, {"steps": steps, "metric": "ppl/token", **where})
        for steps in (300, 1000) for method, where in (("mle", UNTIED), ("f2softmax", {}))
    ]),
    ("f2softmax", "their KLD is {:.2f}, {:.2f} and {:.2f}", [
        (BIBLE, method, {"steps": 1000, "metric": "kld", **TOPK, **where})
        for method, where in (("mle", TIED), ("mle", UNTIED), ("f2softmax", {}))
    ]),
    ("f2softmax", "F²-Softmax has {:,.0f}, people have {:,.0f} and MLE has {:.0f}", [
        (BIBLE, "f2softmax", {"steps": 1000, "metric": "uniq", **TOPK}), (BIBLE, "human", {"metric": "uniq"}),
        (BIBLE, "mle", {"steps": 1000, "metric": "uniq", **TOPK, **UNTIED}),
    ]),
    *(("f2softmax", text, [
        (BIBLE, method, {"steps": 300, "metric": metric, **where})
        for method in ("f2softmax.fixed_eq_token", "f2softmax")
    ]) for metric, text, where in (
        ("ppl/token", "perplexity ({:.1f} and {:.1f})", {}),
        ("ms-jaccard-2/f2_code", "MS-Jaccard ({:.1f} and {:.1f})", TOPK),
        ("self-bleu-2", "-2 ({:.1f} and {:.1f})", TOPK),
    )),
]  # fmt: skip
"""By file, a text with the means of rows that it states."""


@pytest.mark.parametrize(("name", "stated", "rows"), STATED, ids=[f"{name}: {text}" for name, text, _ in STATED])
def test_what_a_text_states_is_of_its_rows(
    scores: pd.DataFrame, name: str, stated: str, rows: list[tuple[str, str, dict[str, Any]]]
) -> None:
    means = []
    for task, method, where in rows:
        found = of(scores, task, method, **where)
        if "decoding" not in where and method != "human" and not where["metric"].startswith(("rouge", "bleu")):
            found = found[found.decoding.isna() | (found.decoding == "")]
        means.append(found.value.mean())
    assert stated.format(*means) in text_of(name)


def test_differences_are_those_that_the_pages_state(scores: pd.DataFrame) -> None:
    means = [of(scores, GIGAWORD, method, **{**FINE_TUNED, "metric": metric}).value.mean()
             for metric in ("rouge-1", "rouge-l") for method in ("label_smoothing", "mle")]  # fmt: skip
    assert f"ROUGE-1 and ROUGE-L, by {means[0] - means[1]:.1f} and {means[2] - means[3]:.1f}" in text_of(TEXTS)
    ladder = scores_of(RUNS / "ladder").set_index("seed")
    for *sides, metric in BY_SIZE:
        for steps in of(ladder, BIBLE, sides[0]).steps.unique():
            ours, theirs = (of(ladder, BIBLE, side, steps=steps, metric=metric).value for side in sides)
            found = seed_mean((ours - theirs).tolist())
            assert f"{abs(found.mean):.2f} ± {found.half:.2f}" in text_of("findings")


@pytest.mark.parametrize("name", ["histalign", "fine_tuning"])
def test_likelihoods_of_searches_are_those_of_their_records(name: str) -> None:
    runs = pd.read_parquet(RUNS / "mid" / "runs.parquet", filters=[("task", "=", TEMPLATE)]).explode("searches")
    for method, search in runs[["method", "searches"]].dropna().values:
        *_, second, third = (tried["nll"] for tried in json.loads(search["record"])["content"]["tried"])
        assert f"from {second:.2f} to {third:.2f} for `{method}`" in text_of(name)


def test_what_differs_significantly_on_gigaword_is_what_the_page_states() -> None:
    """Over seeds label smoothing in two kinds of ROUGE, over rows nothing; four objectives in perplexity."""
    (table,) = (table for table in tables(Store(RUNS / "mid"))[0] if table.task == GIGAWORD)
    (table,) = with_statistics([table], rounds=999).tables
    alike = ("mle", "ul_token", "scalegrad", "simctg", "eaft", "gem", "label_smoothing")
    rows = [row for row in table.rows if row.method in alike]
    assert [row.method for row in table.rows[: len(alike)]] == [row.method for row in rows]
    scored = [(row.method, name, row.values[name]) for row in rows for name in ("rouge-1", "rouge-2", "rouge-l", "rep")]
    found = {(method, name) for method, name, value in scored if value.differs}
    assert found == {("label_smoothing", "rouge-1"), ("label_smoothing", "rouge-l")}
    assert not [value for _, _, value in scored if value.p_items is not None and value.p_items <= ALPHA]
    higher = [row.method for row in rows if row.values["ppl/token"].differs]
    assert sorted(higher) == ["eaft", "gem", "label_smoothing", "simctg"]


def test_what_differs_significantly_on_logicnlg_is_what_the_page_states() -> None:
    """DFT is worse in BLEU, the others are not; all have a higher perplexity."""
    (table,) = (table for table in tables(Store(RUNS / "mid"))[0] if table.task == LOGICNLG)
    (table,) = with_statistics([table], rounds=999).tables
    values = {row.method: row.values for row in table.rows}
    names = ("bleu-1", "bleu-2", "bleu-3", "ppl/word", "forgetting/kl")
    expected = dict.fromkeys(("gem", "ul_token", "scalegrad", "eaft", "simctg"), [False, False, False, True, False])
    expected |= {"label_smoothing": [False] * 3 + [True] * 2, "asft": [True] * 5}
    expected["tailr.dft"] = [True, False, False, True, True]
    forgetting = {method: found["forgetting/nll"] for method, found in values.items() if "forgetting/nll" in found}
    assert {method for method, value in forgetting.items() if value.differs} == {"simctg", "tailr.dft"}
    assert {method: [values[method][name].differs for name in names] for method in expected} == expected
    assert all(values["tailr.dft"][name].difference < 0 for name in names[:3])
    assert all(values[method]["ppl/word"].difference > 0 for method in expected)
    assert all(values[method]["forgetting/kl"].difference > 0 for method in ("tailr.dft", "label_smoothing", "gem"))


def test_the_prompts_of_one_template_are_those_that_trime_misses(scores: pd.DataFrame) -> None:
    """Its share is what `acc@2/cache` lacks to 100 %, with every seed."""
    missing, prompts = 479, 1951
    assert f"with {missing} of the {prompts:,} different prompts" in text_of("fine_tuning")
    found = of(scores, TEMPLATE, "trime", **{**FINE_TUNED, "metric": "acc@2/cache"})
    assert found.value.tolist() == pytest.approx([100 * (prompts - missing) / prompts] * 3)


def test_parameters_of_adadecs_claims_are_those_of_its_rows(scores: pd.DataFrame) -> None:
    text, names = text_of("adadec"), ("adadec", "seq2seq", "attexp")
    ours, theirs, attexp = (of(scores, GIGAWORD, name, **LONG).parameters.iloc[0] for name in names)
    assert f"AdaDec has {ours:,.0f} parameters" in text
    assert f"{100 * ours / theirs - 100:.0f} % more than Seq2Seq ({theirs:,.0f})" in text
    assert f"{100 * ours / attexp - 100:.0f} % more than AttExp ({attexp:,.0f})" in text


@pytest.mark.parametrize(
    ("name", "stated", "cells"),
    [
        ("f2softmax", "({} and {})",
         [("f2softmax/table10", method, "MS-Jaccard n=2", "(a) Wikitext-103, top-k=20")
          for method in ("MLE", "F²-Softmax")]),
        ("findings", "TRIME has {} (small) and {} (large)",
         [("histalign/table1", "TRIME", "Cache-Only Acc@5", backbone) for backbone in ("gpt2", "gpt2-large")]),
    ],
)  # fmt: skip
def test_what_a_text_states_of_a_paper_is_printed(name: str, stated: str, cells: list[tuple[str, ...]]) -> None:
    printed = []
    for address, *heads, place in cells:
        found = [cell for cells in paper_table(address).rows for cell in cells if place in (cell.part, cell.backbone)]
        printed.append(next(cell.printed for cell in found if [cell.row, cell.column] == heads))
    beyond = " ".join(one.beyond for one in read(name).claims) if name not in PAGES else ""
    assert stated.format(*printed) in text_of(name) + beyond
