"""The exemplar probe: its measures by hand, on the printed texts, and at their ends: copying, and not reading."""

from __future__ import annotations

import pytest

from bench.errors import DataError
from bench.leaderboards.figures.exemplar_probe import (
    MEASURES,
    ProbeSource,
    content_of,
    following,
    form_of,
    measures,
    nearness,
    origins,
    probes,
    read_probe,
)
from bench.leaderboards.render.exemplar_probe import probe_content, probe_markdown, probe_text

FIGURE3 = probes()["adadec/figure3"]
TRAIN, HOMES = FIGURE3.sources
SMALL = """
address = "a/b"
title = ""
about = ""
note = ""
level = "toy"
level_why = "small"
task = "gigaword"
methods = ["adadec"]
backbone = "bilstm"
decoding = "greedy"
[[source]]
text = "s"
exemplars = ["a", "b"]
printed = ["c", "d"]
"""


def test_the_figure_has_two_sources_under_three_exemplars() -> None:
    assert [len(source.exemplars) for source in FIGURE3.sources] == [3, 3]
    assert TRAIN.printed[2] == "Portuguese train derails in northern Mexico killing three."
    assert HOMES.exemplars[0] == "U.S. sales of new homes up strongly in March."


def test_forms_and_nearness_by_hand() -> None:
    assert form_of("Three people killed in Portuguese train derailment.") == ["-", "-", "-ed", "in", "-", "-", "-"]
    assert form_of("A train collision in Canada killed two people.") == ["a", "-", "-", "in", "-", "-ed", "-", "-"]
    # the longest common subsequence is "- - in - - -": 6 of 7 and of 8
    assert nearness("Three people killed in Portuguese train derailment.", TRAIN.exemplars[2]) == 2 * 6 / 15
    assert nearness("", TRAIN.exemplars[2]) == 0.0
    text = TRAIN.printed[1]
    near = [nearness(text, exemplar) for exemplar in TRAIN.exemplars]
    assert following(text, TRAIN.exemplars, 1) == pytest.approx(100 * (near[1] - (near[0] + near[2]) / 2))


def test_origins_of_the_printed_distractions() -> None:
    # mexico is in neither; portuguese, train, derail, northern, kill and three are in the source
    assert origins(TRAIN.printed[2], TRAIN.text, TRAIN.exemplars[2]) == (0.0, pytest.approx(100 / 7))
    # grow is of the exemplar; us, new, home, sale, ## and percent are of the source
    assert origins(HOMES.printed[2], HOMES.text, HOMES.exemplars[2]) == (pytest.approx(100 / 7), 0.0)
    assert content_of("killing") == content_of("killed") == content_of("kill")
    assert origins("of the", "x", "y") == (0.0, 0.0)


def test_the_ends_of_the_measures() -> None:
    copied = measures(FIGURE3.sources, [source.exemplars for source in FIGURE3.sources])
    same = measures(FIGURE3.sources, [[source.printed[0]] * 3 for source in FIGURE3.sources])
    printed = measures(FIGURE3.sources, FIGURE3.printed)
    assert same["style following"] == pytest.approx(0.0, abs=1e-9)
    assert same["differing texts"] == pytest.approx(100 / 3)
    assert 0 < printed["style following"] < copied["style following"]
    assert 0 < printed["content leak"] < copied["content leak"]
    assert copied["from neither"] == 0.0
    assert tuple(printed) == MEASURES
    with pytest.raises(ValueError, match="expected a text for each exemplar of 2 sources"):
        measures(FIGURE3.sources, [["one"], ["two"]])


def test_a_source_with_a_text_too_few_is_refused() -> None:
    assert read_probe(SMALL, "x").sources == (ProbeSource("s", ("a", "b"), ("c", "d")),)
    with pytest.raises(DataError, match="x, source 1: expected two exemplars or more, and a text for each"):
        read_probe(SMALL.replace('["c", "d"]', '["c"]'), "x")
    with pytest.raises(DataError, match="x: missing 'level'"):
        read_probe(SMALL.replace('level = "toy"', ""), "x")
    with pytest.raises(DataError, match="unknown level 'toys'"):
        read_probe(SMALL.replace('"toy"', '"toys"'), "x")


def test_it_is_shown_beside_the_paper() -> None:
    ours = {"adadec, seed 0": FIGURE3.printed}
    content = probe_content(FIGURE3, ours, {"adadec, seed 1": "not run"})
    assert content["measures"]["adadec, seed 0"] == content["measures"]["printed"]
    assert content["sources"][1]["exemplars"][2]["ours"] == {"adadec, seed 0": HOMES.printed[2]}
    assert "adadec, seed 1: not run" in probe_text(FIGURE3, ours, {"adadec, seed 1": "not run"})
    assert "| printed | 7.1 |" in probe_markdown(FIGURE3, ours, {})
