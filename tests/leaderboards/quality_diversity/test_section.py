"""Section: from stored records to what is said of every objective, and to the article."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from bench.board.front_drawing import draw_fronts
from bench.errors import MissingError
from bench.leaderboards.controls import rivals_of_decoders, trained_as_long
from bench.leaderboards.quality_diversity.comparison import Gains
from bench.leaderboards.quality_diversity.content import content
from bench.leaderboards.quality_diversity.decoders import FAMILIES, SETTINGS
from bench.leaderboards.quality_diversity.page_content import page_content
from bench.leaderboards.quality_diversity.report import report
from bench.leaderboards.quality_diversity.section import Section, cells_of, sections
from bench.leaderboards.row import TableRow, Value
from bench.leaderboards.sections.decoding import decoding_section
from bench.leaderboards.table import tables
from bench.models import METHODS
from bench.store.store import Store
from tests.leaderboards.quality_diversity.records import store_models
from tests.leaderboards.quality_diversity.worlds import model
from tests.leaderboards.sections.lines import lines_of
from tools import regenerate

STORED = (*FAMILIES["topk"], *FAMILIES["min_p"])
"""Two families are enough to be shown."""


MODELS = (("mle", 0.0, 0.0), ("ul_token", 0.3, 0.0), ("f2softmax", 0.3, 12.0), ("face", 0.0, 0.0), ("trime", 0.0, 0.0))
"""Method, how much freer it writes, and what it repeats less."""


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of two objectives with their baseline, one whose baseline was not run, and one that is no rival."""
    root = tmp_path_factory.mktemp("curves") / "results"
    for method, freer, fewer in MODELS:
        store_models(root, model(method, freer, fewer, STORED))
    return root


def places(markup: str) -> list[int]:
    """Where the points of all lines are, from left to right."""
    return [x for _, line in lines_of(markup) for x, _ in line]


def of(results: Path) -> Sequence[Section]:
    return sections(tables(Store(results), None, "all")[0])


@pytest.fixture(scope="module")
def found(results: Path) -> Sequence[Section]:
    """The sections of that store."""
    return of(results)


def test_objectives_that_a_decoder_might_replace_are_those_that_declare_it() -> None:
    found = rivals_of_decoders()
    papers, modern = found[:5], found[5:]
    assert papers == ["face", "ul_token", "ul_seq", "ul_token_seq", "f2softmax"]
    assert modern == ["simctg", "ct", "gem", "entmax", "ditto", "scalegrad", "tailr"]
    assert {trained_as_long(name) for name in found} <= {"mle", "mle.continued"}
    assert all(trained_as_long(name) == "mle" for name in found if "mle.continued" not in METHODS[name].controls)


def test_every_objective_has_its_words_or_the_reason_that_there_are_none(found: Sequence[Section]) -> None:
    (section,) = found
    words = {one.method: [share.verdict for share in one.shares] for one in section.objectives}
    assert words["ul_token"] == ["explained", "explained"]
    assert words["f2softmax"] == ["training adds", "training adds"]
    reasons = {one.method: one.why for one in section.objectives if one.why}
    assert reasons["face"] == "not run: mle.continued"
    assert reasons["ul_seq"] == "not run: ul_seq, mle.continued"
    assert set(section.missing) == set(SETTINGS) - set(STORED)


def test_cells_are_those_of_objectives_and_baselines(results: Path, found: Sequence[Section]) -> None:
    keys = cells_of(found)
    spoken_of = {cell.path.parts[-2] for cell in Store(results).cells() if cell.path.name in keys}
    assert spoken_of == {"mle", "ul_token", "f2softmax", "face"}


def test_a_leaderboard_without_families_of_decoders_is_not_shown(tmp_path: Path) -> None:
    store_models(tmp_path, model("mle", settings=FAMILIES["topk"]), model("ul_token", settings=FAMILIES["topk"]))
    assert list(of(tmp_path)) == []
    assert "two families of decoders" in report([])


def test_the_article_says_it_in_words_and_numbers(found: Sequence[Section]) -> None:
    text = report(found)
    said = "- Gain in self-bleu-2, what decoders have of it at equal sample-ppl: "
    assert f"{said}**explained** ul_token; **training adds** f2softmax.\n" in text
    assert "- Fronts, self-bleu-2 at equal sample-ppl: " in text
    assert text.count("| mle | topk=3, ") == 1
    assert "| ul_token | mle | sample-ppl | self-bleu-2 | +12.000 (n=3) | 100% (100% to 100%) | **explained** |" in text
    assert "- ul_seq: not run: ul_seq, mle.continued" in text
    assert all(f"`{setting}`" in text for setting in SETTINGS)


def test_the_picture_has_a_panel_for_each_pair_and_a_title_for_each_point_of_a_front(found: Sequence[Section]) -> None:
    drawn = draw_fronts(found).svg
    assert "ul_token beside mle" in drawn
    assert "f2softmax beside mle" in drawn
    assert drawn.count("<circle") == 2 * 2 * len(STORED)
    assert "stroke-linecap" not in drawn  # every setting is on its front
    with pytest.raises(MissingError, match="tradeoff --run"):
        draw_fronts([])


def test_settings_off_the_front_are_specks_and_panels_stand_in_two_columns(tmp_path: Path) -> None:
    store_models(tmp_path, *(model(name, settings=STORED) for name in ("mle", "ul_token", "simctg", "ct")))
    worse = model("f2softmax", settings=STORED)
    beaten = worse.rows["topk=3"].values
    for name, value in beaten.items():
        if name.startswith(("sample-ppl", "self-bleu")):
            value.by_seed = {seed: number * 2 for seed, number in value.by_seed.items()}
    store_models(tmp_path, worse)
    drawn = draw_fronts(of(tmp_path)).svg
    assert drawn.count("h0") == 1
    assert drawn.count("<circle") == 4 * 2 * len(STORED) - 1
    assert "viewBox='0 0 800 562'" in drawn


@pytest.mark.parametrize("shared", ["settings", "seeds"])
def test_an_objective_that_shares_no_point_with_its_baseline_has_no_panel(tmp_path: Path, shared: str) -> None:
    apart = model("ul_token", settings=FAMILIES["eta"])
    if shared == "settings":
        apart = model("ul_token", settings=STORED)
        for row in apart.rows.values():
            row.seeds = {7}
            for value in row.values.values():
                value.by_seed = {7: value.by_seed[0]}
    store_models(tmp_path, model("mle", settings=STORED), apart)
    with pytest.raises(MissingError, match="says what is missing"):
        draw_fronts(of(tmp_path))
    store_models(tmp_path, model("f2softmax", settings=STORED))
    drawn = draw_fronts(of(tmp_path)).svg
    assert "f2softmax beside mle" in drawn
    assert "ul_token" not in drawn


def test_the_content_has_the_numbers_of_every_seed(found: Sequence[Section]) -> None:
    (section,) = content(found)
    by_method = {one["method"]: one for one in section["objectives"]}
    share = by_method["f2softmax"]["shares"][0]
    assert list(share["gain"]) == list(share["gain_of_decoders"]) == ["0", "1", "2"]
    assert share["share"]["value"] == pytest.approx(0.5)
    low, high = (f"{share['share'][end]:.0%}" for end in ("low", "high"))
    assert share["said"] == f"50% ({low} to {high})"
    assert list(share["families"]) == ["topk", "min_p"]


def test_a_share_is_said_in_one_way(found: Sequence[Section]) -> None:
    (share, *_) = next(one for one in found[0].objectives if one.method == "f2softmax").shares
    assert share.said.startswith("50% (")
    assert replace(share, gains=replace(share.gains, at_least=True)).said == f"at least {share.said}"
    assert replace(share, share=replace(share.share, low=None)).said == "no interval"
    assert replace(share, share=None, gains=Gains(why="no gain")).said == "no gain"


def test_the_page_draws_the_front_of_every_objective_and_of_its_baseline_once(found: Sequence[Section]) -> None:
    (made,) = page_content(found)
    assert list(made["drawn"]) == ["mle", "ul_token", "f2softmax"]
    assert {point["setting"] for point in made["drawn"]["mle"]} == set(STORED)
    made["drawn"]["f2softmax"][0]["x"] = 9.0  # beyond all marks
    markup = decoding_section([made])
    assert markup.count("<g class='shape") == len(STORED)
    assert len(lines_of(markup)) == 3
    assert "<title>ul_token</title>" in markup
    assert (made["human"], ">human</text>" in markup) == (None, False)
    assert decoding_section([{**made, "human": 31.0}]).count(">human</text>") == 1
    assert all(0 <= x <= 640 for x in places(markup))
    assert "<th scope=row rowspan=2>f2softmax<span class=sub>beside mle</span>" in markup
    assert "<b>training adds</b>" in markup


def test_people_have_a_level_where_texts_of_one_length_are_stored(found: Sequence[Section]) -> None:
    (section,) = found
    said = TableRow(
        "human", "", "", {}, values={"self-bleu-2": Value({0: 31.5}, False, ""), "kld": Value({0: 0.0}, False, "")}
    )
    for rows, expected in (([said], 31.5), ([said, said], None), ([], None)):
        (made,) = page_content([replace(section, table=replace(section.table, human=rows))])
        assert made["human"] == expected


def test_the_article_of_kept_curves_is_that_of_the_store(
    results: Path, found: Sequence[Section], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("diversity", "sample_perplexity"):
        assert name in regenerate.CURVE_METRICS
    monkeypatch.setattr(regenerate, "CURVE_METRICS", ("x",))  # the family of records made by hand
    kept = tmp_path / "kept.jsonl"
    regenerate.keep_curves(results, kept)
    assert report(of(kept)) == report(found)
    assert b'"trime"' not in kept.read_bytes()


def test_the_picture_of_the_article_is_of_the_task_that_its_command_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for task in ("text", "wikitext103"):
        store_models(tmp_path, model("mle", settings=STORED), model("ul_token", settings=STORED), task=task)
    monkeypatch.setattr(regenerate, "CURVES", tmp_path)
    assert regenerate.fronts().count(">ul_token beside mle<") == 1
    assert "wikitext103" not in regenerate.fronts()
    assert "--task text " in regenerate.DECODING
