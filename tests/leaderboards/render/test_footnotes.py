"""Footnotes: what a reader must know of the numbers of a table stands under it."""

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from bench.leaderboards.render.footnotes import footnotes, legend, tuning
from bench.leaderboards.render.formats import render
from bench.leaderboards.table import Table, tables
from bench.store.store import CellFolder, Store
from tests.leaderboards.handmade import PROVENANCE, leaderboards_of, manifest, scored, trained

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
    (note,) = [line for line in render(boards, "markdown").splitlines() if line.startswith("*loss\\_truncation: ")]
    assert set(note.strip("*").partition(": ")[2].split("; ")) == {"saw 0 rows", "saw 1 rows"}
    rows = json.loads(render(boards, "json"))["tables"][0]["methods"]
    assert {row["method"]: row["remark"] for row in rows}["entmax"] == SMOOTHED
    lines = csv.DictReader(io.StringIO(render(boards, "csv")))
    assert {line["method"]: line["remark"] for line in lines}["entmax"] == SMOOTHED


# Tuning --------------------------------------------------------------------------------------------------------------

VALID = {name: manifest(name, "official") for name in ("train", "test", "valid")}


def searched(cell: CellFolder, losses: Sequence[float | None]) -> CellFolder:
    """Store the search that a cell was picked from."""
    tried = [
        {"sets": [f"optim.lr={number}"], "keys": {"0": f"trial{number}"}, "nll": loss}
        for number, loss in enumerate(losses)
    ]
    cell.write_record("grid-aa.json", {"trials": len(losses), "tried": tried}, PROVENANCE)
    return cell


def one(root: Path) -> Table:
    """The only table of a store."""
    (table,), _ = tables(Store(root))
    return table


@pytest.mark.parametrize(("backbone", "noted"), [("gpt2", True), ("small-causal", False), ("of_a_plug_in", False)])
def test_a_pretrained_model_before_fine_tuning_is_named(tmp_path: Path, backbone: str, noted: bool) -> None:
    scored(trained(tmp_path, "mle.untrained", backbone=backbone), {"bleu-3": 20.0})
    found = "mle.untrained: the pretrained model before fine-tuning" in footnotes(one(tmp_path))
    assert found is noted


def test_the_number_of_examples_that_were_cut_stands_under_the_table(tmp_path: Path) -> None:
    scored(trained(tmp_path, "mle"), {"bleu-3": 20.0})
    assert not any("were cut" in line for line in footnotes(one(tmp_path)))
    for method, counts in (("trime", (1, 2)), ("histalign", (3, 0))):
        cell = scored(trained(tmp_path, method), {"bleu-3": 20.0}, truncated=counts[0])
        scored(cell, {"ppl/word": 30.0}, kind="likelihood", decoding=None, truncated=counts[1])
        (note,) = [line for line in footnotes(one(tmp_path)) if "were cut" in line]
        assert note.startswith(f"up to {max(counts)} of 3 examples were cut: ")
    assert note in oneline(render(leaderboards_of(Store(tmp_path)), "markdown"))
    assert note in oneline(render(leaderboards_of(Store(tmp_path)), "terminal"))


def test_what_was_picked_stands_under_the_table(tmp_path: Path) -> None:
    for method in ("mle", "trime"):
        scored(searched(trained(tmp_path, method), [2.0, 2.1]), {"bleu-3": 20.0})
    lines = tuning(one(tmp_path))
    assert lines[0] == "trainer.lr picked from 2 combinations by validation NLL: mle, trime"
    assert lines[0] in render(leaderboards_of(Store(tmp_path)), "markdown")


def test_a_tie_break_is_stated_and_its_runs_are_no_table(tmp_path: Path) -> None:
    """The repeated trial that lost has nothing but its validation rows, which would be read as results."""
    likelihood: dict[str, Any] = {"kind": "likelihood", "decoding": None, "split": "valid"}
    picked = scored(trained(tmp_path, "mle", data=VALID), {"bleu-3": 20.0})
    lost = trained(tmp_path, "mle", data=VALID, trainer__lr=0.5)
    for cell in (picked, lost):
        scored(cell, {"ppl/word": 9.0}, **likelihood)
    repeated = [{"sets": [], "keys": {"0": cell.path.name}, "nll": 2.0} for cell in (picked, lost)]
    tried = [{"sets": [], "keys": {"0": f"trial{number}"}, "nll": 2.0 + number / 1000} for number in range(2)]
    picked.write_record("grid-aa.json", {"trials": 2, "tried": tried, "play_off": repeated}, PROVENANCE)
    table = one(tmp_path)
    assert table.rows[0].tied == 2
    note = "picked among 2 of these at full length, since they were within 0.01 nats of the best: mle"
    assert note in tuning(table)


def test_settings_say_by_what_they_were_picked(tmp_path: Path) -> None:
    """A search of a former version may have picked options of a method by another column than the learning rate."""
    ways = {"histalign": {}, "label_smoothing": {"method_options_by": "rouge-l"}, "gem": {"column": "rouge-l"}}
    for method, content in ways.items():
        cell = scored(trained(tmp_path, method), {"bleu-3": 20.0})
        tried = [{"sets": [f"{method}:optim.lr={rate}", f"{method}:method.alpha=1"], "nll": 2.0} for rate in (1, 2)]
        cell.write_record("grid-aa.json", {"tried": tried, **content}, PROVENANCE)
    lines = tuning(one(tmp_path))
    text = "trainer.lr, method.alpha picked from 2 combinations by validation NLL"
    assert f"{text}: histalign" in lines
    assert f"{text}, options of the method (method.*) by validation rouge-l: label_smoothing" in lines
    assert "trainer.lr, method.alpha picked from 2 combinations by validation rouge-l: gem" in lines


def test_a_method_that_was_tuned_more_than_its_baseline_is_named(tmp_path: Path) -> None:
    scored(trained(tmp_path, "mle"), {"bleu-3": 20.0})
    scored(searched(trained(tmp_path, "trime"), [1.0, 2.0, 3.0]), {"bleu-3": 25.0})
    (table,) = leaderboards_of(Store(tmp_path)).filtered(methods=["trime"]).tables
    (line,) = [line for line in tuning(table) if "by chance alone" in line]
    assert line.startswith("trime was picked from 3 combinations and its baseline from 1:")


def test_a_valid_split_of_trials_alone_is_no_table(tmp_path: Path) -> None:
    likelihood: dict[str, Any] = {"kind": "likelihood", "decoding": None, "split": "valid"}
    trial = scored(trained(tmp_path, "mle", data=VALID), {"ppl/word": 9.0}, **likelihood)
    scored(trial, {"ppl/word": 9.5}, ids=["a"], whole=False, **likelihood)  # on some rows too: it is one cell still
    picked = trained(tmp_path, "mle", data=VALID, trainer__lr=0.1)
    scored(picked, {"bleu-3": 20.0})
    picked.write_record(
        "grid-aa.json", {"tried": [{"sets": [], "keys": {"0": trial.path.name}, "nll": 2.2}]}, PROVENANCE
    )
    found, left_out = tables(Store(tmp_path))
    assert [table.split for table in found] == ["test"]
    assert left_out["logicnlg"] == {"trial runs of a search of settings are left out": 1}
    scored(trained(tmp_path, "trime", data=VALID), {"ppl/word": 8.0}, **likelihood)
    found, _ = tables(Store(tmp_path))
    assert sorted(table.split for table in found) == ["test", "valid"], "other cells are on it too"


def test_a_note_of_a_paper_is_shown_where_a_row_of_its_table_is(tmp_path: Path) -> None:
    note = "AdaDec Table 2: Scored by ROUGE 1.5.5"
    for method, is_shown in (("mle", False), ("adadec", True)):
        scored(trained(tmp_path / method, method, task="gigaword"), {"rouge-1": 20.0})
        table = one(tmp_path / method)
        assert any(paper.method == "adadec" for paper in table.published)
        assert any(line.startswith(note) for line in footnotes(table)) == is_shown


def test_bold_is_explained_where_a_value_is_bold(tmp_path: Path) -> None:
    for method, number in (("mle", 20.0), ("trime", 30.0)):
        for seed in (0, 1, 2):
            scored(trained(tmp_path, method, seed), {"bleu-3": number})
    assert any("bold: best mean of 3 seeds or more" in line for line in legend(one(tmp_path)))
    scored(trained(tmp_path / "few", "mle"), {"bleu-3": 20.0})
    assert not any("bold" in line for line in legend(one(tmp_path / "few")))
